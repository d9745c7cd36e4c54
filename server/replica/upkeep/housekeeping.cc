#include "server/replica/upkeep/housekeeping.h"

#include <optional>
#include <utility>

#include "api/kv_decode.h"
#include "api/kv_request_encode.h"
#include "mvcc/store/store.h"
#include "server/replica/upkeep/auto_compaction.h"
#include "server/replica/upkeep/space_watch.h"
#include "server/state/alarms.h"
#include "server/state/membership.h"
#include "server/state/quota.h"
#include "server/state/raft_status.h"

namespace kvorum::server {

namespace {

// The removed member cannot disarm it itself.
std::optional<Alarm> AlarmOfRemoved(const Alarms& alarms, const Membership& membership) {
  if (!alarms.Stands(AlarmType::kNoSpace)) return std::nullopt;
  const auto view = membership.View();
  for (const Alarm& alarm : alarms.List(AlarmType::kNoSpace)) {
    if (view->removed.contains(alarm.member)) return alarm;
  }
  return std::nullopt;
}

}  // namespace

Housekeeping::Housekeeping(const Parts& parts, const Options& options, Disks disks)
    : requests_(parts.replica, parts.ids),
      no_space_{.member = parts.self, .type = AlarmType::kNoSpace},
      request_timeout_(options.request_timeout) {
  space_watch_ = std::make_unique<SpaceWatch>(
      parts.executor, no_space_,
      SpaceWatch::Hooks{
          .has_space = std::move(disks.have_space),
          .has_room_to_spare = [has_room = std::move(disks.have_room_to_spare),
                                &quota =
                                    parts.quota] { return has_room() && quota.HasRoomToSpare(); },
          .alarm_stands = [this, &alarms = parts.alarms] { return alarms.Stands(no_space_); },
          .orphan = [&status = parts.status, &alarms = parts.alarms,
                     &membership = parts.membership]() -> std::optional<Alarm> {
            if (status.leading_term() == 0) return std::nullopt;
            return AlarmOfRemoved(alarms, membership);
          },
          .propose = [this](AlarmAction action, const Alarm& alarm,
                            Task answered) { Propose(action, alarm, std::move(answered)); }});
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
  Propose(AlarmAction::kActivate, no_space_, std::move(answered));
}

void Housekeeping::Propose(AlarmAction action, const Alarm& alarm, Task answered) {
  requests_.Propose(RequestKind::kAlarm, EncodeAlarmRequest({.action = action, .alarm = alarm}),
                    request_timeout_,
                    [answered = std::move(answered)](const Result<void>&) mutable { answered(); });
}

}  // namespace kvorum::server
