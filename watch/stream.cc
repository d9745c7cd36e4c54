#include "watch/stream.h"

#include "base/api_errors.h"
#include "watch/hub.h"
#include "watch/shard.h"

namespace kvorum::watch {
namespace {

constexpr std::string_view kSmallestKey("\0", 1);
// Without a stated size the first of them makes a table of 13.
constexpr std::size_t kUsualWatchers = 1;

}  // namespace

Stream::Stream(Shard& shard, StreamSink& sink)
    : shard_(shard),
      sink_(sink),
      watchers_(kUsualWatchers),
      place_(static_cast<std::uint32_t>(shard.streams_.size())) {
  shard.streams_.push_back(this);
  shard_.hub_.counters_.Add(WatchCounters::kStreams);
}

Stream::~Stream() {
  if (account_ != nullptr) account_->closed.store(true, std::memory_order_relaxed);
  for (auto& [id, watcher] : watchers_) shard_.Remove(watcher);
  shard_.UnscheduleProgress(*this);
  shard_.HasRoomAgain(*this);
  shard_.lag_.Publish();
  if (flush_queued_) std::erase(shard_.flushes_, this);
  shard_.streams_.back()->place_ = place_;
  shard_.streams_[place_] = shard_.streams_.back();
  shard_.streams_.pop_back();
  shard_.hub_.counters_.Subtract(WatchCounters::kStreams);
}

std::int64_t Stream::ChooseId() {
  while (IsTaken(next_id_)) ++next_id_;
  return next_id_++;
}

void Stream::Create(const CreateRequest& request) {
  if (request.start_revision < 0) return Refuse(kErrCompacted.message);
  const KeyRange range(request.key.empty() ? kSmallestKey : request.key, request.range_end);
  if (!range.single() && !range.open() && range.begin() >= range.end())
    return Refuse(kWatchRangeIsEmpty);
  if (request.watch_id != 0 && IsTaken(request.watch_id)) return Refuse(kWatchIdIsTaken);
  const std::int64_t id = request.watch_id != 0 ? request.watch_id : ChooseId();
  const std::int64_t present = shard_.ReachPresent();
  sink_.Send({.watch_id = id, .revision = present, .created = true}, nullptr);
  shard_.AddWatcher(*this, request, range, id, present);
  shard_.QueueFlush(*this);
  shard_.FlushAll();
}

void Stream::Refuse(std::string_view reason) {
  sink_.Send({.watch_id = kNoWatchId,
              .revision = shard_.ReachPresent(),
              .created = true,
              .canceled = true,
              .cancel_reason = reason},
             nullptr);
  shard_.QueueFlush(*this);
  shard_.FlushAll();
}

void Stream::Cancel(std::int64_t watch_id) {
  const std::int64_t present = shard_.ReachPresent();
  if (const auto found = watchers_.find(watch_id); found != watchers_.end()) {
    shard_.Remove(found->second);
    watchers_.erase(found);
  } else if (compacted_ == nullptr || !compacted_->Remove(watch_id)) {
    return;
  }
  sink_.Send({.watch_id = watch_id, .revision = present, .canceled = true}, nullptr);
  shard_.QueueFlush(*this);
  shard_.FlushAll();
}

bool Stream::IsAt(Watcher& watcher) const {
  if (watcher.state != Watcher::State::kSynced) return false;
  if (watcher.starts_later && watcher.next <= shard_.revision()) watcher.starts_later = false;
  return !watcher.starts_later && watcher.next <= shard_.revision() + 1;
}

void Stream::RequestProgress() {
  shard_.ReachPresent();
  if (watchers_.empty() || unsynced_ != 0) return;
  if (some_start_later_) {
    for (auto& [id, watcher] : watchers_) {
      if (!IsAt(watcher)) return;
    }
    some_start_later_ = false;
  }
  sink_.Send({.watch_id = kNoWatchId, .revision = shard_.revision()}, nullptr);
  shard_.QueueFlush(*this);
  shard_.FlushAll();
}

void Stream::NotifyProgress() {
  for (auto& [id, watcher] : watchers_) {
    if (!watcher.progress_notify) continue;
    if (watcher.quiet && IsAt(watcher)) {
      sink_.Send({.watch_id = id, .revision = shard_.revision()}, nullptr);
      shard_.QueueFlush(*this);
    }
    watcher.quiet = true;
  }
}

void Stream::OnRoom() {
  shard_.HasRoomAgain(*this);
  while (!lagging_.empty()) shard_.ReadFor(*lagging_.back());
  shard_.FlushAll();
}

}  // namespace kvorum::watch
