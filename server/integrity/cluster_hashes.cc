#include "server/integrity/cluster_hashes.h"

#include <future>
#include <memory>

#include "api/alarm.h"
#include "api/member_id.h"
#include "base/api_errors.h"
#include "base/log/logging.h"
#include "server/call/proposer.h"
#include "server/call/reads.h"
#include "server/replica/drive/replica.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

// An alarm that fails is raised again by the next check.
class AlarmWaiter final : public Waiter {
 public:
  void Applied(ApplyResult) override {}
  void Failed(const Error& error) override {
    KV_WARN("failed to raise the CORRUPT alarm", {"error", error.message});
  }
};

}  // namespace

Result<PeerHash> ClusterHashes::OwnHash(std::int64_t revision) {
  KV_TRY(const mvcc::KvHash hash, reads_.store.HashKv(revision));
  return PeerHash{.hash = hash, .current_revision = reads_.store.revision()};
}

std::vector<mvcc::KvHash> ClusterHashes::CompactionHashes() {
  return reads_.store.compaction_hashes();
}

std::vector<PeerHashAnswer> ClusterHashes::PeerHashes(std::int64_t revision) {
  return AskPeerHashes(peers_, *reads_.cluster.membership.View(),
                       {.cluster_id = reads_.cluster.cluster_id,
                        .self = reads_.cluster.member_id,
                        .timeout = timeout()},
                       revision);
}

Result<void> ClusterHashes::CatchUp() {
  // Shared with the task, which may come after we gave up.
  const auto outcome = std::make_shared<std::promise<Result<void>>>();
  auto confirmed = outcome->get_future();
  reads_.cluster.replica.ReadIndex(
      [outcome](const Result<void>& result) { outcome->set_value(result); });
  if (confirmed.wait_for(timeout()) != std::future_status::ready) return kErrTimeout.Fail();
  return confirmed.get();
}

void ClusterHashes::RaiseAlarm(raft::MemberId member) {
  const AlarmRequest raise{.action = AlarmAction::kActivate,
                           .alarm = {.member = member, .type = AlarmType::kCorrupt}};
  proposer_.Propose(nullptr, RequestKind::kAlarm, EncodeAlarmRequest(raise),
                    std::make_unique<AlarmWaiter>(), timeout());
}

}  // namespace kvorum::server
