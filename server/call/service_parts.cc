#include "server/call/service_parts.h"

#include "server/replica/member/local_member.h"

namespace kvorum::server {

ServiceParts::ServiceParts(const From& from)
    : cluster{.cluster_id = from.member.cluster_id(),
              .member_id = from.member.member_id(),
              .replica = from.member.replica(),
              .membership = from.member.membership(),
              .alarms = from.member.alarms(),
              .transport = from.transport,
              .patches = from.patches},
      proposer({.cluster = cluster,
                .limits = from.limits,
                .member = from.member,
                .batcher = from.batcher,
                .access = from.access,
                .executors = from.executors}),
      reads{.cluster = cluster,
            .limits = from.limits,
            .store = from.member.store(),
            .batcher = from.batcher,
            .access = from.access,
            .executors = from.executors,
            .answers = from.answers} {}

}  // namespace kvorum::server
