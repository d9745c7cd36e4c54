// What no correct member sends, whatever happened: the first look at a peer's message, before
// anything of it counts. Pure.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::raft {

// Terms and indexes past this are nonsense: no cluster gets there, and arithmetic on them wraps.
inline constexpr std::uint64_t kMaxNumber = UINT64_MAX / 2;

// The member that a message comes to.
struct Receiver {
  MemberId id = kNone;
  Term term = 0;
  bool knows_nothing = false;  // of any term or entry
  bool takes_conf_change_v2 = false;
};

// An Error says why the message is refused.
Result<void> CheckMessage(const Message& message, const Receiver& receiver);

// Members forward these to whoever leads: they may carry no term.
bool IsRequestToLeader(MessageType type);

// Whether one of them changes the configuration in a way that not every driver can apply.
bool HasConfChangeV2(std::span<const Entry> entries);

// Whether entries follow (index, term) and each other.
bool AreConsecutive(std::span<const Entry> entries, Index index, Term term);

std::unexpected<Error> BadMessage(const Message& message, std::string_view why);

}  // namespace kvorum::raft
