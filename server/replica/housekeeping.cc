#include "server/replica/housekeeping.h"

#include <utility>

#include "mvcc/store.h"
#include "server/messages/kv_decode.h"
#include "server/messages/kv_request_encode.h"
#include "server/replica/auto_compaction.h"
#include "server/replica/space_watch.h"
#include "server/state/alarms.h"
#include "server/state/raft_status.h"

namespace kvorum::server {

Housekeeping::Housekeeping(const Parts& parts, const Options& options,
                           std::function<bool()> disks_have_room)
    : requests_(parts.replica, parts.ids),
      no_space_{.member = parts.self, .type = AlarmType::kNoSpace},
      request_timeout_(options.request_timeout) {
  space_watch_ = std::make_unique<SpaceWatch>(
      parts.executor,
      SpaceWatch::Hooks{
          .has_space = std::move(disks_have_room),
          .alarm_stands = [this, &alarms = parts.alarms] { return alarms.Stands(no_space_); },
          .raise = [this](Task answered) { RaiseNoSpace(std::move(answered)); }});
  auto_compaction_ = std::make_unique<AutoCompaction>(
      parts.executor, options.compaction,
      AutoCompaction::Hooks{
          .revision = [&store = parts.store] { return store.revision(); },
          .leading_term = [&status = parts.status] { return status.leading_term(); },
          .compact =
              [this](std::int64_t revision, raft::Term term, AutoCompaction::Done done) {
                requests_.Propose(RequestKind::kCompaction,
                                  EncodeCompaction({.revision = revision}).view(), request_timeout_,
                                  std::move(done), term);
              }});
}

Housekeeping::~Housekeeping() = default;

void Housekeeping::Start() {
  space_watch_->Start();
  auto_compaction_->Start();
}

void Housekeeping::Stop() {
  space_watch_->Stop();
  auto_compaction_->Stop();
}

void Housekeeping::RaiseNoSpace(Task answered) {
  const AlarmRequest raise{.action = AlarmAction::kActivate, .alarm = no_space_};
  requests_.Propose(RequestKind::kAlarm, EncodeAlarmRequest(raise), request_timeout_,
                    [answered = std::move(answered)](const Result<void>&) mutable { answered(); });
}

}  // namespace kvorum::server
