// An agent's lease, session and entries, with which it goes on after a restart as if nothing had
// been. A JSON object whose "format" is 1, with entries and checks as entry.h has them; durations
// are in nanoseconds ("interval_ns"), and also read without the suffix, as texts ("interval":"5s")
// or as nanoseconds, which is what the member means in Consul's definitions; details are objects;
// an entry for a check of the node has "kind":"node". Deregistered entries are left out: a full
// sync removes keys that are not in the list. Tokens are in it as they are: keep it as secret as
// they are. A ttl check has the time of day of its last report, by which its deadline counts on
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
// has its default. A member that is not known is an error, so that no definition is read by half;
// of a state it is ignored, since a later version may have written it.
std::string EncodeEntry(const Entry& entry);
Result<Entry> DecodeEntry(std::string_view text);

}  // namespace kvorum::sync
