#include "server/apply/apply_loop.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "api/entries/internal_request.h"
#include "api/entries/request_summary.h"
#include "api/kv_decode.h"
#include "base/check.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"
#include "server/state/raft_status.h"

namespace kvorum::server {
namespace {

// Entries published together: enough to make a publish cheap, few enough that the first of them
// does not wait long for its answer.
constexpr std::size_t kBatchEntries = 1'000;

// A put up to this size takes a few microseconds.
constexpr std::size_t kShortBytes = 4'096;

// True for an entry that is applied at once, without looking into the backend or at other keys.
bool IsShortPut(const raft::Entry& entry) {
  if (entry.type != raft::EntryType::kNormal || entry.data.size() > kShortBytes) return false;
  const auto request = DecodeInternalRequest(entry.data.view());
  if (!request.has_value() || request->kind != RequestKind::kPut) return false;
  const auto put = DecodePut(request->body);
  // A lease may have a million keys, which auth looks through.
  return put.has_value() && put->lease == 0 && !put->prev_kv && !put->ignore_value &&
         !put->ignore_lease;
}

}  // namespace

ApplyLoop::ApplyLoop(mvcc::Store& store, Applier& applier, Executor& apply, RaftStatus& status,
                     Duration slow_apply, AppliedHook on_applied, InstallHook install)
    : store_(store),
      applier_(applier),
      apply_(apply),
      slow_apply_(slow_apply),
      on_applied_(std::move(on_applied)),
      install_(std::move(install)),
      status_(status),
      reads_(status),
      inbox_(apply, [this] { Drain(); }) {}

void ApplyLoop::Push(std::vector<raft::Entry> entries) {
  const bool is_short = entries.size() == 1 && IsShortPut(entries.front());
  const auto put = [&](std::deque<Item>& items) {
    return Take(items, {.entries = std::move(entries), .snapshot = nullptr});
  };
  is_short ? inbox_.PutAndLend(put) : inbox_.Put(put);
}

void ApplyLoop::PushSnapshot(std::shared_ptr<const raft::Snapshot> snapshot) {
  inbox_.Put([&](std::deque<Item>& items) {
    return Take(items, {.entries = {}, .snapshot = std::move(snapshot)});
  });
}

bool ApplyLoop::Take(std::deque<Item>& items, Item item) const {
  const bool is_taken = !is_stopped_.load(std::memory_order_relaxed);
  if (is_taken) items.push_back(std::move(item));
  return is_taken;
}

// The next batch of entries, or a snapshot, or nothing.
ApplyLoop::Item ApplyLoop::Next() {
  if (!left_.empty()) return {.entries = std::exchange(left_, {}), .snapshot = nullptr};
  if (taken_.empty()) taken_ = inbox_.TakeOrRest();
  if (taken_.empty()) return {};
  Item next = std::move(taken_.front());
  taken_.pop_front();
  while (next.snapshot == nullptr && !taken_.empty() && taken_.front().snapshot == nullptr &&
         next.entries.size() + taken_.front().entries.size() <= kBatchEntries) {
    std::ranges::move(taken_.front().entries, std::back_inserter(next.entries));
    taken_.pop_front();
  }
  return next;
}

void ApplyLoop::Drain() {
  while (!is_stopped_.load(std::memory_order_acquire)) {
    if (!store_.HasRoom()) return store_.WhenRoom([this] { Drain(); });
    Item item = Next();
    if (item.snapshot != nullptr) {
      status_.counters().installations.Add();
      return install_(item.snapshot, [this, index = item.snapshot->metadata.index] {
        status_.counters().installed.Add();
        SetApplied(index);
        Drain();
      });
    }
    if (item.entries.empty()) return;
    const TimePoint begin = apply_.clock().Now();
    status_.stages().Mark(WriteStage::kApplyBegun, item.entries.back().index, begin);
    const std::size_t applied = applier_.Apply(item.entries);
    if (applier_.failed()) return Stop();
    const TimePoint end = apply_.clock().Now();
    applier_.times().Observe(end - begin);
    status_.stages().Mark(WriteStage::kApplied, applier_.applied_index(), end);
    if (applied > 0) WarnIfSlow(end - begin, std::span(item.entries).first(applied));
    left_.assign(std::move_iterator(item.entries.begin() + static_cast<std::ptrdiff_t>(applied)),
                 std::move_iterator(item.entries.end()));
    SetApplied(applier_.applied_index());
  }
}

void ApplyLoop::SetApplied(raft::Index applied) {
  status_.SetApplied(applied);
  reads_.RunReady(applied);
  on_applied_(applied);
}

void ApplyLoop::WarnIfSlow(Duration took, std::span<const raft::Entry> batch) const {
  if (slow_apply_ <= Duration::zero() || took <= slow_apply_) return;
  status_.counters().slow_applies.Add();
  // Only the batch's time is known: it shows the entry that is most likely to blame.
  const raft::Entry& largest = *std::ranges::max_element(
      batch, {}, [](const raft::Entry& entry) { return entry.data.size(); });
  const bool is_request = largest.type == raft::EntryType::kNormal && !largest.data.empty();
  KV_WARN("apply request took too long", {"took", FormatDuration(took)},
          {"expected-duration", FormatDuration(slow_apply_)}, {"prefix", ""},
          {"request", is_request ? EntrySummary(largest.data.view()) : ""}, {"response", ""},
          {"entries", batch.size()}, {"first-index", batch.front().index});
}

void ApplyLoop::Stop() {
  is_stopped_.store(true, std::memory_order_release);
  reads_.Stop();
}

void ApplyLoop::CheckInvariants() const {
  if (is_stopped_.load(std::memory_order_relaxed)) return;
  raft::Index last = left_.empty() ? raft::Index{0} : status_.applied_index();
  const auto check = [&last](const std::vector<raft::Entry>& entries) {
    for (const raft::Entry& entry : entries) {
      KV_CHECK(last == 0 || entry.index == last + 1, "entries to be applied are not consecutive");
      last = entry.index;
    }
  };
  check(left_);
  for (const Item& item : taken_) {
    KV_CHECK(item.snapshot == nullptr || item.entries.empty(), "a snapshot among entries");
    if (item.snapshot != nullptr) last = item.snapshot->metadata.index;
    check(item.entries);
  }
}

}  // namespace kvorum::server
