// The single rule of majorities: commit index, votes, read rounds, check-quorum and both halves of
// a joint configuration use this function.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/majority.h"
#include "proto/raft_types.h"

namespace kvorum::raft {

// The largest v such that more than half of the members have value_of(member) >= v. value_of is
// called once for each member; no member may be listed twice. Without members it is the largest
// number.
template <class ValueOf>
std::uint64_t MajorityValue(std::span<const MemberId> members, ValueOf&& value_of) {
  if (members.empty()) return std::numeric_limits<std::uint64_t>::max();
  if (members.size() == 1) return value_of(members.front());
  std::vector<std::uint64_t> values;
  values.reserve(members.size());
  for (const MemberId member : members) values.push_back(value_of(member));
  const auto lowest = values.end() - static_cast<std::ptrdiff_t>(Majority(values.size()));
  std::ranges::nth_element(values, lowest);
  return *lowest;
}

// The same for a configuration: in a joint one both halves must agree.
// Raft: thesis 4.3
template <class ValueOf>
std::uint64_t QuorumValue(const ConfState& conf, ValueOf&& value_of) {
  return std::min(MajorityValue(conf.voters, value_of),
                  MajorityValue(conf.voters_outgoing, value_of));
}

}  // namespace kvorum::raft
