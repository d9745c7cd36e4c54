// This member and its cluster as the services see them.
//
// Thread-safe, like the parts that it refers to, which outlive it.
#pragma once

#include <cstdint>

#include "api/kv_encode.h"
#include "base/clock.h"
#include "proto/raft_types.h"

namespace kvorum::server {

class Alarms;
class Membership;
class Replica;
class Transport;
struct MemberPatches;

struct ClusterFacts {
  const std::uint64_t cluster_id;
  const raft::MemberId member_id;
  Replica& replica;
  const Membership& membership;
  const Alarms& alarms;
  const Transport& transport;    // to the other members
  const MemberPatches& patches;  // what their versions forbid

  TimePoint Now() const;
  ResponseHeader Header(std::int64_t revision, raft::Term term) const {
    return {
        .cluster_id = cluster_id, .member_id = member_id, .revision = revision, .raft_term = term};
  }
  ResponseHeader Header(std::int64_t revision) const;
};

}  // namespace kvorum::server
