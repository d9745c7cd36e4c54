// One listener of the tests under faults: it keeps the notifications of each key, and knows when
// one cannot follow the last one.
//
// The handlers run on the listener's thread; everything else is thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sync/informer/informer.h"
#include "tests/sync/processes/fault_keys.h"

namespace kvorum::sync {

class Witness {
 public:
  using Entry = Informer<BytesCodec>::EntryRef;
  struct Options {
    std::string name;
    OverflowPolicy overflow = OverflowPolicy::kBlock;
    std::size_t capacity = 1024;
    // Its handler sleeps for so long, at most once in each interval.
    std::chrono::nanoseconds pause{0};
    std::chrono::nanoseconds pause_interval{0};
  };

  Witness(Options options, std::size_t keys, std::function<void(std::string)> say)
      : options_(std::move(options)), say_(std::move(say)), held_(keys), newest_(keys) {}
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  Result<void> Watch(Informer<BytesCodec>& informer) {
    auto handle = informer.AddListener(
        {.name = options_.name,
         .overflow = options_.overflow,
         .capacity = options_.capacity,
         .resync = Duration::zero()},
        {.on_add =
             [this](const Entry& added, bool is_initial) {
               if (!is_initial && added->version() != 1) ++skipped_;
               Told("add", nullptr, added);
             },
         .on_update = [this](const Entry& before,
                             const Entry& after) { Told("update", before, after); },
         .on_delete = [this](const Entry& last) { Told("delete", last, nullptr); }});
    if (!handle) return Fail(handle.error());
    handle_.emplace(*std::move(handle));
    return {};
  }

  const std::string& name() const { return options_.name; }
  std::uint64_t told() const { return told_; }
  // Changes of a key that were not delivered one by one.
  std::uint64_t skipped() const { return skipped_; }
  std::uint64_t wrong() const { return wrong_; }
  std::uint64_t overflows() const { return handle_ ? handle_->overflows() : 0; }
  // The modification revision of what it holds of each key; 0: nothing.
  std::vector<std::int64_t> held() const { return {held_.begin(), held_.end()}; }

 private:
  static std::int64_t RevisionOf(const Entry& entry) { return entry ? entry->mod_revision() : 0; }

  void Told(const char* what, const Entry& before, const Entry& after) {
    ++told_;
    const std::size_t number = NumberOf((after ? after : before)->key());
    if (number >= held_.size()) return Complain(what, before, after);
    std::atomic<std::int64_t>& held = held_[number];
    std::int64_t& newest = newest_[number];
    if (RevisionOf(before) != held) Complain(what, before, after);
    // A drop-and-resync listener gets its objects again.
    const bool is_again = before && before == after;
    if (is_again && options_.overflow != OverflowPolicy::kDropAndResync)
      Complain(what, before, after);
    if (after && !is_again && RevisionOf(after) <= newest) Complain(what, before, after);
    if (before && after && !is_again && after->version() != before->version() + 1) ++skipped_;
    held = RevisionOf(after);
    newest = std::max(newest, RevisionOf(after));
    if (options_.pause.count() != 0) Rest();
  }

  void Rest() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_rest_) return;
    std::this_thread::sleep_for(options_.pause);
    next_rest_ = now + options_.pause_interval;
  }

  void Complain(const char* what, const Entry& before, const Entry& after) {
    ++wrong_;
    const std::string key((after ? after : before)->key());
    say_("wrong " + options_.name + " " + what + " " + key + " from " +
         std::to_string(RevisionOf(before)) + " to " + std::to_string(RevisionOf(after)));
  }

  const Options options_;
  const std::function<void(std::string)> say_;
  std::vector<std::atomic<std::int64_t>> held_;
  std::vector<std::int64_t> newest_;  // that it ever received
  std::chrono::steady_clock::time_point next_rest_;
  std::atomic<std::uint64_t> told_ = 0;
  std::atomic<std::uint64_t> skipped_ = 0;
  std::atomic<std::uint64_t> wrong_ = 0;
  std::optional<ListenerHandle> handle_;
};

}  // namespace kvorum::sync
