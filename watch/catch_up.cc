#include "watch/catch_up.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/log/logging.h"
#include "mvcc/records/key_value.h"
#include "watch/event_batch.h"
#include "watch/shard.h"

namespace kvorum::watch {
namespace {

// The pause when the store has no reader available.
constexpr Duration kRetry = std::chrono::milliseconds(10);

mvcc::Revision NextOf(const CatchUpJob& job) { return {.main = job.next, .sub = job.next_sub}; }
mvcc::Revision StartOf(std::int64_t revision) { return {.main = revision, .sub = 0}; }

// Bodies that several have count as often: an upper bound.
std::size_t HeldBytes(const std::vector<CaughtUp>& results) {
  std::size_t bytes = 0;
  for (const CaughtUp& result : results) {
    if (result.bodies == nullptr) continue;
    for (const Body& body : *result.bodies) bytes += body.kept_bytes;
  }
  return bytes;
}

}  // namespace

// One scan and its jobs.
struct CatchUp::Round {
  class Previous final : public PreviousValues {
   public:
    explicit Previous(mvcc::ReadView& view) : view_(view) {}
    std::string_view Find(std::string_view key, std::int64_t revision) override {
      const auto value = view_.Get(key, revision);
      if (value.has_value()) return *value;
      KV_ERROR("no previous value for a watcher", {"error", value.error().message});
      return {};
    }

   private:
    mvcc::ReadView& view_;
  };
  // Jobs of exactly the same range, and the events found in it.
  struct Group {
    explicit Group(const KeyRange& of) : watched(of) {}
    KeyRange range() const { return watched.view(); }
    const WatchedRange watched;
    std::vector<std::uint32_t> jobs;
    std::vector<std::uint32_t> matches;
  };
  struct State {
    Group* group = nullptr;      // null: the job is not part of the scan
    std::int64_t revision = 0;   // the last revision with an event for it
    std::size_t part_bytes = 0;  // of that revision's events
    // The first event that it no longer gets.
    mvcc::Revision stop = StartOf(std::numeric_limits<std::int64_t>::max());
  };

  Round(CatchUp& owner, mvcc::ReadView& the_view, std::vector<CatchUpJob> the_jobs,
        std::uint64_t the_number)
      : catch_up(owner),
        view(the_view),
        previous(the_view),
        jobs(std::move(the_jobs)),
        number(the_number),
        groups(owner.seed_ + the_number),
        results(jobs.size()) {}

  void Run();
  void Enter(std::uint32_t job);
  void Scan();
  void Match(const mvcc::RevisionRecord& record);
  // Returns true if the job takes the event.
  bool Takes(std::uint32_t job, const mvcc::RevisionRecord& record);
  void Stop(std::uint32_t job, mvcc::Revision at);
  void MakeResults();
  void PostResults();

  CatchUp& catch_up;
  mvcc::ReadView& view;
  Previous previous;
  std::vector<CatchUpJob> jobs;
  const std::uint64_t number;
  RangeIndex<Group> groups;
  std::vector<State> states;
  std::shared_ptr<EventBatch> found;
  mvcc::Revision start = StartOf(std::numeric_limits<std::int64_t>::max());
  mvcc::Revision scanned_to;
  std::size_t open_jobs = 0;
  std::size_t bytes = 0;
  std::vector<std::optional<CaughtUp>> results;
};

CatchUp::CatchUp(mvcc::Store& store, Executor& executor, CatchUpLimits limits, BodyLimits bodies,
                 std::uint64_t seed)
    : store_(store),
      executor_(executor),
      limits_(limits),
      body_limits_(bodies),
      seed_(seed),
      inbox_(executor, [this] { Run(); }) {}

void CatchUp::Add(std::vector<CatchUpJob> jobs) {
  inbox_.Put(
      [&](std::vector<CatchUpJob>& inbox) { std::ranges::move(jobs, std::back_inserter(inbox)); });
}

void CatchUp::TakeInbox() {
  std::ranges::move(inbox_.Take(), std::back_inserter(queue_));
  std::erase_if(queue_, [](const CatchUpJob& job) {
    return job.account->closed.load(std::memory_order_relaxed);
  });
}

void CatchUp::Run() {
  TakeInbox();
  if (queue_.empty()) return;
  std::vector<CatchUpJob> chosen = Choose();
  if (chosen.empty()) {
    // Again: a shard may have taken everything just before it could know that it is waited for.
    waits_for_shard_.store(true);
    chosen = Choose();
    if (chosen.empty()) return;
  }
  auto view = store_.Read();
  if (!view.has_value()) {
    queue_.insert(queue_.begin(), std::move_iterator(chosen.begin()),
                  std::move_iterator(chosen.end()));
    return inbox_.WakeAt(executor_.clock().Now() + kRetry);
  }
  Round(*this, *view, std::move(chosen), ++rounds_).Run();
  if (!queue_.empty()) inbox_.Wake();
}

bool CatchUp::HasRoom(const Shard& shard) const {
  return shard.caught_up_bytes_.load() < limits_.untaken_bytes;
}

void CatchUp::OnTaken(Shard& shard, std::size_t bytes) {
  shard.caught_up_bytes_.fetch_sub(bytes);
  if (waits_for_shard_.exchange(false)) inbox_.Wake();
}

std::vector<CatchUpJob> CatchUp::Choose() {
  const auto found =
      std::ranges::find_if(queue_, [this](const CatchUpJob& job) { return HasRoom(*job.shard); });
  if (found == queue_.end()) return {};
  const CatchUpJob& head = *found;
  const std::int64_t low = head.must_lead ? head.next : head.next - limits_.join_revisions;
  const std::int64_t high =
      head.next > std::numeric_limits<std::int64_t>::max() - limits_.join_revisions
          ? head.next
          : head.next + limits_.join_revisions;
  std::vector<CatchUpJob> chosen;
  std::deque<CatchUpJob> left;
  for (CatchUpJob& job : queue_) {
    const bool joins =
        chosen.size() < limits_.jobs && job.next >= low && job.next <= high && HasRoom(*job.shard);
    if (joins) {
      chosen.push_back(std::move(job));
    } else {
      left.push_back(std::move(job));
    }
  }
  queue_ = std::move(left);
  return chosen;
}

void CatchUp::Round::Run() {
  states.resize(jobs.size());
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].next < view.compact_revision()) {
      results[i] = CaughtUp{.compact_revision = view.compact_revision()};
    } else {
      Enter(i);
    }
  }
  if (open_jobs != 0) {
    Scan();
    MakeResults();
  }
  PostResults();
}

void CatchUp::Round::Enter(std::uint32_t job) {
  Group& group = groups.Add(jobs[job].range.view());
  group.jobs.push_back(job);
  states[job].group = &group;
  start = std::min(start, NextOf(jobs[job]));
  ++open_jobs;
  CatchUpAccount& account = *jobs[job].account;
  if (std::exchange(account.round, number) != number) account.round_bytes = 0;
}

void CatchUp::Round::Scan() {
  const CatchUpLimits& limits = catch_up.limits_;
  found = std::make_shared<EventBatch>(start.main);
  scanned_to = StartOf(view.revision() + 1);
  std::int64_t revision = 0;
  std::size_t records = 0;
  std::size_t read_bytes = 0;
  const auto scanned = view.ScanRecords(start, [&](const mvcc::RevisionRecord& record) {
    if (record.revision.main != revision) {
      if (records >= limits.records || read_bytes >= limits.read_bytes || bytes >= limits.bytes ||
          open_jobs == 0) {
        scanned_to = StartOf(record.revision.main);
        return false;
      }
      revision = record.revision.main;
    } else if (open_jobs == 0) {
      scanned_to = record.revision;
      return false;
    }
    ++records;
    read_bytes += record.value.size();
    Match(record);
    return true;
  });
  if (scanned.has_value()) return;
  KV_ERROR("watchers cannot be caught up", {"error", scanned.error().message});
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (states[i].group != nullptr) results[i] = CaughtUp{.error = scanned.error()};
    states[i].group = nullptr;
  }
}

void CatchUp::Round::Match(const mvcc::RevisionRecord& record) {
  const auto kv = mvcc::DecodeKeyValue(record.value);
  KV_CHECK(kv.has_value(), "a record of the store is not a key-value pair");
  std::optional<std::uint32_t> place;
  std::size_t with_previous = 0;
  groups.Match(kv->key, [&](Group& group) {
    bool taken = false;
    for (const std::uint32_t job : group.jobs) {
      if (!Takes(job, record)) continue;
      taken = true;
      if (!place) place = found->Add(record);
      std::size_t size_bytes = record.value.size();
      if (jobs[job].wanted.prev_kv) {
        // Made here, once for all: its size is not known otherwise.
        if (with_previous == 0) {
          with_previous = found->WithPrevious(*place, previous).size();
          bytes += with_previous;
        }
        size_bytes = with_previous;
      }
      states[job].part_bytes += size_bytes;
      jobs[job].account->round_bytes += size_bytes;
    }
    if (!taken) return;
    group.matches.push_back(*place);
    bytes += record.value.size();
  });
}

bool CatchUp::Round::Takes(std::uint32_t job, const mvcc::RevisionRecord& record) {
  const CatchUpJob& of = jobs[job];
  State& state = states[job];
  if (record.revision < NextOf(of) || record.revision >= state.stop) return false;
  if (record.tombstone ? of.wanted.no_delete : of.wanted.no_put) return false;
  if (state.revision != record.revision.main) {
    if (of.account->round_bytes >= catch_up.limits_.stream_bytes) {
      Stop(job, std::max(StartOf(record.revision.main), NextOf(of)));
      return false;
    }
    state.revision = record.revision.main;
    state.part_bytes = 0;
  } else if (state.part_bytes >= catch_up.body_limits_.SplitBytes(of.wanted)) {
    Stop(job, record.revision);
    return false;
  }
  return true;
}

void CatchUp::Round::Stop(std::uint32_t job, mvcc::Revision at) {
  KV_CHECK(open_jobs > 0, "a job was stopped twice");
  states[job].stop = at;
  --open_jobs;
}

void CatchUp::Round::MakeResults() {
  struct Made {
    Wanted wanted;
    Cut cut;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::shared_ptr<const std::vector<Body>> bodies;
  };
  groups.ForEach([&](Group& group) {
    std::vector<Made> made;
    const auto place_of = [&](mvcc::Revision revision) {
      const auto at = std::ranges::partition_point(
          group.matches, [&](std::uint32_t m) { return (*found)[m].revision < revision; });
      return static_cast<std::size_t>(at - group.matches.begin());
    };
    for (const std::uint32_t i : group.jobs) {
      if (states[i].group == nullptr) continue;
      const CatchUpJob& job = jobs[i];
      // The scan did not reach it: it stays in the queue.
      const mvcc::Revision job_next = NextOf(job);
      if (job_next >= scanned_to && scanned_to.main <= view.revision()) continue;
      CaughtUp& result = results[i].emplace();
      result.store_revision = view.revision();
      const mvcc::Revision next = std::max(job_next, std::min(scanned_to, states[i].stop));
      result.next = next.main;
      result.next_sub = static_cast<std::uint32_t>(next.sub);
      const std::size_t begin = place_of(job_next);
      const std::size_t end = place_of(next);
      if (begin == end) continue;
      const Cut cut{.begins_within = job_next.sub != 0, .ends_within = next.sub != 0};
      auto same = std::ranges::find_if(made, [&](const Made& m) {
        return m.wanted == job.wanted && m.cut == cut && m.begin == begin && m.end == end;
      });
      if (same == made.end()) {
        const std::span<const std::uint32_t> matches(group.matches);
        Bodies bodies = MakeBodies(*found, matches.subspan(begin, end - begin), job.wanted,
                                   catch_up.body_limits_, previous, cut);
        made.push_back(
            {.wanted = job.wanted,
             .cut = cut,
             .begin = begin,
             .end = end,
             .bodies = std::make_shared<const std::vector<Body>>(std::move(bodies.list))});
        same = std::prev(made.end());
      }
      result.bodies = same->bodies;
    }
  });
}

void CatchUp::Round::PostResults() {
  std::map<Shard*, std::vector<CaughtUp>> by_shard;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (results[i]) {
      results[i]->ticket = jobs[i].ticket;
      by_shard[jobs[i].shard].push_back(*std::move(results[i]));
    } else if (i == 0) {
      // The job that has waited longest was not reached.
      jobs[i].must_lead = true;
      catch_up.queue_.push_front(std::move(jobs[i]));
    } else {
      catch_up.queue_.push_back(std::move(jobs[i]));
    }
  }
  for (auto& [shard, of_shard] : by_shard) {
    const std::size_t untaken = HeldBytes(of_shard);
    shard->caught_up_bytes_.fetch_add(untaken);
    shard->executor_.Post(
        [&owner = catch_up, shard = shard, untaken, of_shard = std::move(of_shard)]() mutable {
          shard->OnCaughtUp(std::move(of_shard));
          owner.OnTaken(*shard, untaken);
        });
  }
}

}  // namespace kvorum::watch
