// Raises the NOSPACE alarm in this member's own name while its disks run low, whether it leads or
// follows and whether clients write through it or not: only the whole cluster's refusal of writes
// keeps a follower's disk from filling up with writes that others accept. If the alarm is disarmed
// while the disks are low, it is raised again.
//
// Disarms it again once disks and quota have had room, with some to spare, for kCalm: for any
// cause, a full disk's alarm does not end before the disk has room, and an operator who compacts,
// defragments and disarms by hand finds it as he left it. Only the member itself knows its disk and
// the size of its database, so it disarms no other's; but the leader disarms those of members that
// are removed, since no other member would. A put that finds no room after all raises the alarm
// once more.
//
// Runs on one executor, checks once a second. The owner stops the executor before it destroys the
// watch.
#pragma once

#include <functional>
#include <optional>

#include "api/alarm.h"
#include "base/task.h"

namespace kvorum::server {

class SpaceWatch {
 public:
  static constexpr Duration kCalm = std::chrono::seconds(5);

  struct Hooks {
    // Checks the disks: true if they have room for accepted writes and some more.
    std::function<bool()> has_space;
    // True if disks and quota have so much room that the alarm may end.
    std::function<bool()> has_room_to_spare;
    // True if this member's alarm is raised already.
    std::function<bool()> alarm_stands;
    // The alarm of a removed member, if this one leads and there is any.
    std::function<std::optional<Alarm>()> orphan;
    // Proposes an alarm, or its end; `answered` runs on any thread when it was applied, or failed.
    std::function<void(AlarmAction action, const Alarm& alarm, Task answered)> propose;
  };

  // `own` is the alarm in this member's name.
  SpaceWatch(Executor& executor, const Alarm& own, Hooks hooks)
      : executor_(executor), own_(own), hooks_(std::move(hooks)) {}

  void Start();
  // Nothing is proposed from now on. Any thread.
  void Stop();

 private:
  void Look();
  void LookLater();
  void LookAtOwn();
  void Propose(AlarmAction action, const Alarm& alarm);

  Executor& executor_;
  const Alarm own_;
  const Hooks hooks_;
  std::optional<TimePoint> calm_since_;  // the alarm stands, and there is room to spare
  bool is_proposing_ = false;
  bool stopped_ = false;
};

}  // namespace kvorum::server
