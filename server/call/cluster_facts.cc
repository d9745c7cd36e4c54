#include "server/call/cluster_facts.h"

#include "server/replica/drive/replica.h"

namespace kvorum::server {

TimePoint ClusterFacts::Now() const { return replica.clock().Now(); }

ResponseHeader ClusterFacts::Header(std::int64_t revision) const {
  return Header(revision, replica.term());
}

}  // namespace kvorum::server
