// An agent's lease, session and entries, with which it goes on after a restart as if nothing had
// been. A JSON object whose "format" is 1, with entries and checks as entry.h has them; durations
// are in nanoseconds ("interval_ns"), and also read as texts ("interval":"5s"); details are
// objects; an entry for a check of the node has "kind":"node". Deregistered entries are left out: a
// full sync removes keys that are not in the list. Tokens are in it as they are: keep it as secret
// as they are. A ttl check has the time of day of its last report, by which its deadline counts on
// while no agent runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sync/agent/entry.h"

namespace kvorum::sync {

struct AgentState {
  std::string node;                   // empty: there was no state
  std::int64_t lease = 0;             // 0: none
  std::int64_t session_revision = 0;  // the create revision that the node's key had last; 0: none
  std::vector<Entry> entries = {};

  friend bool operator==(const AgentState&, const AgentState&) = default;
};

std::string EncodeState(const AgentState& state);
// kInvalidArgument if the text is not such a state, kFailedPrecondition if its format is another.
Result<AgentState> DecodeState(std::string_view text);

// An entry alone, as the state has it: what a file in a folder of services holds. What is left out
// has its default.
std::string EncodeEntry(const Entry& entry);
Result<Entry> DecodeEntry(std::string_view text);

}  // namespace kvorum::sync
