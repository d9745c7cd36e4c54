// Refuses messages that no correct member ever sends: the first check of a peer's message, before
// it has any effect. Pure.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::raft {

// Terms and indexes past this are nonsense: no cluster gets there, and arithmetic on them wraps.
inline constexpr std::uint64_t kMaxNumber = UINT64_MAX / 2;

// The state of the member that receives the message.
struct Receiver {
  MemberId id = kNone;
  Term term = 0;
  bool knows_nothing = false;  // no term and no entry
  bool takes_conf_change_v2 = false;
};

// An Error gives the reason for refusing the message.
Result<void> CheckMessage(const Message& message, const Receiver& receiver);

// Requests that members forward to the current leader: they may carry no term.
bool IsRequestToLeader(MessageType type);

// True if one of the entries changes the configuration in a way that not every driver can apply.
bool HasConfChangeV2(std::span<const Entry> entries);

// True if the entries come directly after (index, term) and each other.
bool AreConsecutive(std::span<const Entry> entries, Index index, Term term);

std::unexpected<Error> BadMessage(const Message& message, std::string_view why);

}  // namespace kvorum::raft
