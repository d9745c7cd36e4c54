#include "watch/shard.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log/logging.h"
#include "watch/hub.h"

namespace kvorum::watch {

std::string_view StorePreviousValues::Find(std::string_view key, std::int64_t revision) {
  if (!view_) {
    auto view = store_.Read();
    if (!view.has_value()) {
      KV_ERROR("no previous value for a watcher", {"error", view.error().message});
      return {};
    }
    view_.emplace(*std::move(view));
  }
  const auto value = view_->Get(key, revision);
  if (value.has_value()) return *value;
  KV_ERROR("no previous value for a watcher", {"error", value.error().message});
  return {};
}

Shard::Shard(Hub& hub, Executor& executor, std::uint64_t seed)
    : hub_(hub),
      executor_(executor),
      rng_(seed),
      groups_(rng_()),
      previous_(hub.store_),
      recent_(hub.options_.recent_bytes),
      inbox_(hub.options_.inbox_batches, hub.options_.inbox_bytes) {}

Shard::~Shard() = default;

std::unique_ptr<Stream> Shard::Open(StreamSink& sink) {
  return std::unique_ptr<Stream>(new Stream(*this, sink));
}

// ---- Published batches ----

void Shard::Drain() {
  TakeFeeds();
  if (active_ && watchers_ == 0) {
    std::lock_guard lock(hub_.mutex_);
    std::erase(hub_.active_shards_, this);
    hub_.active_.fetch_sub(1, std::memory_order_relaxed);
    inbox_.Clear();
    active_ = false;
  }
  FlushAll();
}

void Shard::TakeFeeds() {
  std::vector<Feed> feeds;
  {
    std::lock_guard lock(hub_.mutex_);
    feeds = inbox_.Take();
  }
  for (const Feed& feed : feeds) {
    if (feed.is_other_history) {
      OnOtherHistory(feed.revision);
    } else if (feed.batch != nullptr) {
      OnBatch(feed.batch);
    } else {
      OnJump(feed.revision);
    }
  }
}

std::int64_t Shard::ReachPresent() {
  if (!active_) {
    std::lock_guard lock(hub_.mutex_);
    hub_.active_shards_.push_back(this);
    hub_.active_.fetch_add(1, std::memory_order_relaxed);
    revision_ = hub_.last_revision_;
    lag_.Reached(revision_);
    lag_.Publish();
    active_ = true;
  }
  TakeFeeds();
  FlushAll();
  return std::max(revision_, hub_.store_.readable_revision());
}

void Shard::OnBatch(const std::shared_ptr<const EventBatch>& batch) {
  KV_CHECK(batch->first_revision() == revision_ + 1, "revisions for watchers have a gap");
  revision_ = batch->last_revision();
  lag_.Reached(revision_);
  matches_.Find(groups_, *batch);
  matches_.TakeEach([&](WatchGroup& group, std::span<const std::uint32_t> places) {
    Deliver(group, *batch, places);
  });
  if (!catching_up_.empty()) recent_.Add(batch);
  lag_.Publish();
}

void Shard::OnJump(std::int64_t revision) {
  if (revision <= revision_) return;
  const std::int64_t first_missed = revision_ + 1;
  revision_ = revision;
  lag_.Reached(revision_);
  recent_.Clear();
  for (Stream* stream : streams_) {
    for (auto& [id, watcher] : stream->watchers_) {
      if (watcher.state != Watcher::State::kSynced || watcher.next > revision) continue;
      watcher.next = std::max(watcher.next, first_missed);
      ReadFor(watcher);
    }
  }
}

// The revisions that watchers have seen are not those that follow. To their clients it is as if all
// of them were compacted: they read the keys anew.
void Shard::OnOtherHistory(std::int64_t revision) {
  revision_ = revision;
  lag_.Reached(revision_);
  recent_.Clear();
  for (Stream* stream : streams_) {
    while (!stream->watchers_.empty()) EndByCompaction(stream->watchers_.begin()->second, revision);
  }
}

void Shard::Deliver(WatchGroup& group, const EventBatch& batch,
                    std::span<const std::uint32_t> matches) {
  BodyCache cache;
  // Backwards: a lagging watcher is replaced by the last one, which was served before it.
  for (std::size_t i = group.synced.size(); i-- > 0;) {
    Watcher& watcher = *group.synced[i];
    if (watcher.next > batch.first_revision()) {
      const auto from = std::ranges::partition_point(
          matches, [&](std::uint32_t m) { return batch[m].revision.main < watcher.next; });
      DeliverTo(watcher, MakeBodies(batch, {from, matches.end()}, watcher.wanted,
                                    hub_.options_.bodies, previous_));
      continue;
    }
    auto found = std::ranges::find(cache, watcher.wanted, &BodyCache::value_type::first);
    if (found == cache.end()) {
      cache.emplace_back(watcher.wanted, MakeBodies(batch, matches, watcher.wanted,
                                                    hub_.options_.bodies, previous_));
      found = std::prev(cache.end());
    }
    DeliverTo(watcher, found->second);
  }
}

bool Shard::DeliverTo(Watcher& watcher, const Bodies& bodies) {
  for (const Body& body : bodies.list) {
    if (!body.continues && !watcher.stream.sink_.HasRoom()) {
      Lag(watcher, body.first_revision);
      return false;
    }
    SendEvents(watcher, body, body.last_revision);
  }
  if (bodies.stopped_at == 0) return true;
  watcher.next = bodies.stopped_at;
  ReadFor(watcher);
  return false;
}

void Shard::SendEvents(Watcher& watcher, const Body& body, std::int64_t header_revision) {
  watcher.quiet = false;
  hub_.counters_.Add(WatchCounters::kEvents, body.events);
  watcher.stream.sink_.Send({.watch_id = watcher.id,
                             .revision = header_revision,
                             .fragment = body.more && watcher.wanted.fragment},
                            &body);
  QueueFlush(watcher.stream);
}

// ---- Results of the catch-up ----

void Shard::OnCaughtUp(std::vector<CaughtUp> results) {
  TakeFeeds();
  for (const CaughtUp& result : results) {
    if (const auto found = catching_up_.find(result.ticket); found != catching_up_.end())
      TakeResult(*found->second, result);
  }
  if (std::exchange(bridged_previous_, false)) recent_.DropPrevious();
  FlushAll();
}

void Shard::TakeResult(Watcher& watcher, const CaughtUp& result) {
  Stream& stream = watcher.stream;
  if (result.compact_revision != 0) return EndByCompaction(watcher, result.compact_revision);
  if (result.error) {
    const std::int64_t id = watcher.id;
    Remove(watcher);
    stream.watchers_.erase(id);
    stream.sink_.Send({.watch_id = id,
                       .revision = revision_,
                       .canceled = true,
                       .cancel_reason = result.error->message},
                      nullptr);
    return QueueFlush(stream);
  }
  if (result.bodies != nullptr) {
    for (const Body& body : *result.bodies) SendEvents(watcher, body, result.store_revision);
  }
  watcher.next = result.next;
  watcher.next_sub = result.next_sub;
  const bool reached = result.next > result.store_revision;
  if (reached && Bridge(watcher)) return;
  ReadFor(watcher);
}

bool Shard::Bridge(Watcher& watcher) {
  if (watcher.next > revision_) {
    Sync(watcher);
    return true;
  }
  if (!recent_.ReachBackTo(watcher.next)) return false;
  const KeyRange range = watcher.group.range();
  bridged_previous_ |= watcher.wanted.prev_kv;
  std::vector<std::uint32_t> matches;
  for (const auto& batch : recent_) {
    matches.clear();
    for (std::uint32_t i = 0; i < batch->size(); ++i) {
      const Event& event = (*batch)[i];
      if (event.revision.main >= watcher.next && range.Contains(event.key)) matches.push_back(i);
    }
    if (matches.empty()) continue;
    const auto bodies =
        MakeBodies(*batch, matches, watcher.wanted, hub_.options_.bodies, previous_);
    if (!DeliverTo(watcher, bodies)) return true;  // recent_ may be gone
  }
  watcher.next = revision_ + 1;
  Sync(watcher);
  return true;
}

void Shard::EndByCompaction(Watcher& watcher, std::int64_t compact_revision) {
  Stream& stream = watcher.stream;
  const std::int64_t id = watcher.id;
  Remove(watcher);
  stream.watchers_.erase(id);
  if (stream.compacted_ == nullptr) stream.compacted_ = std::make_unique<EndedIds>();
  stream.compacted_->Add(id, stream.next_id_);
  stream.sink_.Send({.watch_id = id, .canceled = true, .compact_revision = compact_revision},
                    nullptr);
  QueueFlush(stream);
}

// ---- Watchers and their states ----

void Shard::AddWatcher(Stream& stream, const CreateRequest& request, const KeyRange& range,
                       std::int64_t id, std::int64_t present) {
  WatchGroup& group = groups_.Add(range);
  ++group.members;
  ++watchers_;
  hub_.counters_.Add(WatchCounters::kWatchers);
  // Linked into its group first, like a synced watcher.
  const auto made = stream.watchers_.emplace(id, Watcher{.stream = stream,
                                                         .group = group,
                                                         .id = id,
                                                         .next = request.start_revision,
                                                         .wanted = request.wanted,
                                                         .progress_notify = request.progress_notify,
                                                         .quiet = true});
  Watcher& watcher = made.first->second;
  watcher.place = static_cast<std::uint32_t>(group.synced.size());
  group.synced.push_back(&watcher);
  if (request.progress_notify) ScheduleProgress(stream);
  if (request.start_revision == 0) {
    watcher.next = present + 1;
  } else if (request.start_revision > present) {
    watcher.starts_later = true;
    stream.some_start_later_ = true;
  } else {
    watcher.is_awaited = false;
    ReadFor(watcher);
  }
}

void Shard::Unlink(Watcher& watcher) {
  const auto take_out = [&](std::vector<Watcher*>& from) {
    from[watcher.place] = from.back();
    from[watcher.place]->place = watcher.place;
    from.pop_back();
  };
  switch (watcher.state) {
    case Watcher::State::kSynced:
      take_out(watcher.group.synced);
      return;
    case Watcher::State::kLagging:
      take_out(watcher.stream.lagging_);
      break;
    case Watcher::State::kCatchingUp:
      catching_up_.erase(watcher.ticket);
      if (catching_up_.empty()) recent_.Clear();
      break;
  }
  --watcher.stream.unsynced_;
  lag_.Remove(watcher.lags_from);
  if (watcher.is_awaited) lag_.RemoveAwaited(watcher.lags_from);
  hub_.counters_.Subtract(WatchCounters::kUnsynced);
}

void Shard::Remove(Watcher& watcher) {
  Unlink(watcher);
  if (--watcher.group.members == 0) groups_.Remove(watcher.group);
  --watchers_;
  hub_.counters_.Subtract(WatchCounters::kWatchers);
}

void Shard::Sync(Watcher& watcher) {
  Unlink(watcher);
  watcher.state = Watcher::State::kSynced;
  watcher.is_awaited = true;
  watcher.place = static_cast<std::uint32_t>(watcher.group.synced.size());
  watcher.group.synced.push_back(&watcher);
}

// From now on the watcher costs nothing but its place: events from `next` on are read from the
// store once its client has room, in order and none left out. If they are compacted by then, the
// client gets the compacted revision and the watcher ends.
void Shard::Lag(Watcher& watcher, std::int64_t next) {
  Unlink(watcher);
  Stream& stream = watcher.stream;
  watcher.state = Watcher::State::kLagging;
  watcher.starts_later = false;
  watcher.next = next;
  watcher.place = static_cast<std::uint32_t>(stream.lagging_.size());
  stream.lagging_.push_back(&watcher);
  HasNoRoom(stream);
  CountUnsynced(watcher);
}

void Shard::CountUnsynced(Watcher& watcher) {
  ++watcher.stream.unsynced_;
  if (watcher.stream.room_ == Stream::Room::kSilent) watcher.is_awaited = false;
  watcher.lags_from = watcher.next;
  lag_.Add(watcher.lags_from);
  if (watcher.is_awaited) lag_.AddAwaited(watcher.lags_from);
  hub_.counters_.Add(WatchCounters::kUnsynced);
}

void Shard::ReadFor(Watcher& watcher) {
  Stream& stream = watcher.stream;
  if (watcher.state != Watcher::State::kLagging && !stream.sink_.HasRoom())
    return Lag(watcher, watcher.next);
  Unlink(watcher);
  if (stream.account_ == nullptr) stream.account_ = std::make_shared<CatchUpAccount>();
  watcher.state = Watcher::State::kCatchingUp;
  watcher.starts_later = false;
  watcher.ticket = ++last_ticket_;
  catching_up_.emplace(watcher.ticket, &watcher);
  CountUnsynced(watcher);
  new_jobs_.push_back({.shard = this,
                       .ticket = watcher.ticket,
                       .account = stream.account_,
                       .range = watcher.group.watched,
                       .wanted = watcher.wanted,
                       .next = watcher.next,
                       .next_sub = watcher.next_sub});
}

// ---- Clients that do not read ----

void Shard::HasNoRoom(Stream& stream) {
  if (stream.room_ != Stream::Room::kEnough) return;
  stream.room_ = Stream::Room::kFull;
  BeginSilence(stream, executor_.clock().Now());
  ArmSilenceTimer();
}

void Shard::BeginSilence(Stream& stream, TimePoint now) {
  stream.silent_from_ = now + hub_.options_.silence;
  full_.Add(stream, stream.silent_from_);
}

void Shard::HasRoomAgain(Stream& stream) {
  if (stream.room_ == Stream::Room::kFull) full_.Remove(stream, stream.silent_from_);
  stream.room_ = Stream::Room::kEnough;
}

void Shard::ArmSilenceTimer() {
  const std::optional<TimePoint> when = full_.NewTimer();
  if (!when) return;
  executor_.PostAt(*when, [this, when = *when] {
    if (full_.OnTimer(when)) OnSilenceTimer();
  });
}

void Shard::OnSilenceTimer() {
  const TimePoint now = executor_.clock().Now();
  while (Stream* stream = full_.PopDue(now)) {
    // An executor that was itself held up has not learnt of the room that clients made meanwhile.
    if (now - stream->silent_from_ > hub_.options_.silence / 4) {
      BeginSilence(*stream, now);
      continue;
    }
    stream->room_ = Stream::Room::kSilent;
    for (auto& [id, watcher] : stream->watchers_) StopAwaiting(watcher);
  }
  ArmSilenceTimer();
  FlushAll();
}

void Shard::StopAwaiting(Watcher& watcher) {
  const bool is_synced = watcher.state == Watcher::State::kSynced;
  if (is_synced || !watcher.is_awaited) return;
  watcher.is_awaited = false;
  lag_.RemoveAwaited(watcher.lags_from);
}

// ---- End of a piece of work, and time ----

void Shard::QueueFlush(Stream& stream) {
  if (!std::exchange(stream.flush_queued_, true)) flushes_.push_back(&stream);
}

void Shard::FlushAll() {
  previous_.Release();
  lag_.Publish();
  if (!new_jobs_.empty()) hub_.catch_up_.Add(std::exchange(new_jobs_, {}));
  for (Stream* stream : flushes_) {
    stream->flush_queued_ = false;
    stream->sink_.Flush();
  }
  flushes_.clear();
}

void Shard::ScheduleProgress(Stream& stream) {
  if (stream.progress_interval_ != Duration::zero()) return;
  const Duration interval = hub_.options_.progress_interval;
  const auto spread = static_cast<std::uint64_t>(std::max<std::int64_t>(interval.count() / 10, 1));
  stream.progress_interval_ = interval + Duration(rng_.Below(spread));
  stream.progress_due_ = executor_.clock().Now() + stream.progress_interval_;
  progress_.Add(stream, stream.progress_due_);
  ArmProgressTimer();
}

void Shard::UnscheduleProgress(Stream& stream) {
  if (stream.progress_interval_ == Duration::zero()) return;
  progress_.Remove(stream, stream.progress_due_);
}

void Shard::ArmProgressTimer() {
  const std::optional<TimePoint> when = progress_.NewTimer();
  if (!when) return;
  executor_.PostAt(*when, [this, when = *when] {
    if (progress_.OnTimer(when)) OnProgressTimer();
  });
}

void Shard::OnProgressTimer() {
  if (progress_.empty()) return;
  ReachPresent();
  const TimePoint now = executor_.clock().Now();
  while (Stream* stream = progress_.PopDue(now)) {
    stream->NotifyProgress();
    stream->progress_due_ = now + stream->progress_interval_;
    progress_.Add(*stream, stream->progress_due_);
  }
  ArmProgressTimer();
  FlushAll();
}

void Shard::CheckInvariants() const {
  std::size_t watchers = 0;
  std::size_t synced = 0;
  std::size_t catching_up = 0;
  ShardLag::Counts lagging_from;
  ShardLag::Counts awaited_from;
  for (const Stream* stream : streams_) {
    std::size_t unsynced = 0;
    KV_CHECK(streams_.at(stream->place_) == stream, "a stream that is not in its place");
    for (const auto& [id, watcher] : stream->watchers_) {
      ++watchers;
      KV_CHECK(watcher.id == id && &watcher.stream == stream, "a watcher of another stream");
      const bool is_synced = watcher.state == Watcher::State::kSynced;
      KV_CHECK(watcher.is_awaited || !is_synced, "a synced watcher is not awaited");
      KV_CHECK(!watcher.is_awaited || is_synced || stream->room_ != Stream::Room::kSilent,
               "a watcher is awaited whose client does not read");
      if (!is_synced) ++lagging_from[watcher.lags_from];
      if (!is_synced && watcher.is_awaited) ++awaited_from[watcher.lags_from];
      KV_CHECK(watcher.next_sub == 0 || !is_synced, "a synced watcher is within a revision");
      switch (watcher.state) {
        case Watcher::State::kSynced:
          ++synced;
          KV_CHECK(watcher.group.synced.at(watcher.place) == &watcher,
                   "a synced watcher is not in its group");
          break;
        case Watcher::State::kLagging:
          ++unsynced;
          KV_CHECK(stream->lagging_.at(watcher.place) == &watcher,
                   "a lagging watcher is not where it lags");
          break;
        case Watcher::State::kCatchingUp:
          ++unsynced;
          ++catching_up;
          KV_CHECK(catching_up_.at(watcher.ticket) == &watcher, "a ticket of another watcher");
          break;
      }
    }
    KV_CHECK(stream->unsynced_ == unsynced, "a stream miscounts its watchers");
    KV_CHECK(stream->lagging_.empty() || stream->room_ != Stream::Room::kEnough,
             "watchers wait for room that is there");
  }
  KV_CHECK(watchers == watchers_, "the shard miscounts its watchers");
  KV_CHECK(catching_up == catching_up_.size(), "a ticket of a watcher that is gone");
  KV_CHECK(lag_.unsynced() == lagging_from, "the shard mistakes how far watchers are behind");
  KV_CHECK(lag_.awaited() == awaited_from, "the shard mistakes for whom writes may wait");
  KV_CHECK(lag_.reached() == revision_, "the shard tells another revision than its own");
  KV_CHECK(lag_.oldest() == ShardLag::OldestOf(lagging_from) &&
               lag_.awaited_from() == std::min(revision_ + 1, ShardLag::OldestOf(awaited_from)),
           "a change of the lag was not published");
  std::size_t members = 0;
  groups_.ForEach([&](const WatchGroup& group) {
    KV_CHECK(group.members > 0 && group.synced.size() <= group.members, "an empty group stays");
    members += group.members;
    synced -= group.synced.size();
  });
  KV_CHECK(members == watchers && synced == 0, "groups and watchers differ");
  recent_.CheckInvariants(revision_);
}

}  // namespace kvorum::watch
