// A store in memory whose every answer is the test's to time: with revisions, compaction, watches
// that break and go on, errors on demand, and counters of what was asked.
//
// For one thread. Answers come inside the call unless they are held.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sync/store/store.h"

namespace kvorum::sync {

class FakeStore final : public Store {
 public:
  // A write: a value, or nothing for a deletion.
  using Write = std::pair<std::string, std::optional<std::string>>;

  // All in one revision, which it returns. Deletions of keys that are not there are no events.
  std::int64_t Commit(const std::vector<Write>& writes);
  std::int64_t Put(const std::string& key, const std::string& value) {
    return Commit({{key, value}});
  }
  std::int64_t Delete(const std::string& key) { return Commit({{key, std::nullopt}}); }
  // The lease runs out: its keys go in one revision.
  void ExpireLease(std::int64_t lease);
  std::int64_t LeaseOf(const std::string& key) const;
  std::map<std::int64_t, std::int64_t> leases() const { return leases_; }
  // Leases are granted for so long at least.
  void set_min_ttl_s(std::int64_t ttl_s) { min_ttl_s_ = ttl_s; }
  // Lists and watches from before the revision are refused from now on.
  void Compact(std::int64_t revision) { compacted_ = revision; }
  // The store is restored from a backup made at the revision.
  void Restore(std::int64_t revision);
  std::int64_t revision() const { return revision_; }
  std::map<std::string, std::string> Contents() const;

  // Watches hear nothing until they are connected again; then they go on where they were, or end if
  // that has been compacted.
  void Disconnect() { is_connected_ = false; }
  void Connect();
  // Ends all watches with the error.
  void EndWatches(const Error& error);
  // Sends all watches their progress without having been asked.
  void NotifyProgress();

  // The next `times` ranges, and then watches, fail.
  void FailRanges(const Error& error, int times);
  void FailWatches(const Error& error, int times);
  // The next `times` transactions that write, fail.
  void FailWrites(const Error& error, int times) { write_failure_ = {error, times}; }
  // Called before each transaction that writes; its own changes of the store are another client's.
  void set_before_write(std::function<void()> before) { before_write_ = std::move(before); }
  // A transaction with more compares, or more operations, is refused.
  void RefuseTxnsAbove(std::size_t operations) { most_operations_ = operations; }
  // Ranges of more bytes than a message may have fail.
  void RefuseAnswersAbove(std::size_t bytes) { most_answer_bytes_ = bytes; }
  // Answers to ranges wait until they are let go.
  void HoldRanges() { holds_ranges_ = true; }
  void LetGo();
  // Progress is answered only by NotifyProgress.
  void IgnoreProgressRequests() { answers_progress_ = false; }
  void set_has_ordered_progress(bool has) { has_ordered_progress_ = has; }

  int ranges() const { return ranges_; }
  int watches() const { return watches_; }
  int open_watches() const { return static_cast<int>(open_.size()); }
  int progress_requests() const { return progress_requests_; }
  // Batches delivered and not taken, over all watches.
  int untaken() const;
  int txns() const { return txns_; }
  int writes() const { return writes_; }  // transactions that would write
  std::size_t largest_range() const { return largest_range_; }
  // The keys of the last answer are there.
  const KeyValue* last_range() const { return last_range_; }
  std::int64_t last_watch_from() const { return last_watch_from_; }

  void Range(RangeRequest request, OnAnswer<RangeAnswer> on_answer) override;
  void Txn(TxnRequest request, OnAnswer<TxnAnswer> on_answer) override;
  std::unique_ptr<StoreWatch> Watch(WatchRequest request, WatchSink sink) override;
  void LeaseGrant(std::int64_t ttl_s, OnAnswer<LeaseAnswer> on_answer) override;
  void LeaseKeepAlive(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) override;
  void LeaseRevoke(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) override;
  bool has_ordered_progress() const override { return has_ordered_progress_; }

 private:
  class OpenWatch;
  struct Failure {
    Error error;
    int times = 0;
    // The error while there are times left.
    std::optional<Error> Take() {
      if (times == 0) return std::nullopt;
      --times;
      return error;
    }
  };
  Result<RangeAnswer> Read(const RangeRequest& request) const;
  bool Holds(const Compare& compare) const;
  bool HoldsFor(const Compare& compare, const KeyValue& kv) const;
  std::int64_t Commit(const std::vector<Write>& writes,
                      const std::map<std::string, std::int64_t>& leases);
  // The key as it was at the revision.
  const KeyValue* At(const std::string& key, std::int64_t revision) const;
  void Feed(OpenWatch& watch);

  std::int64_t revision_ = 1;
  std::int64_t compacted_ = 0;
  std::map<std::string, std::vector<KeyValue>> keys_;  // version 0: a deletion
  std::map<std::int64_t, std::vector<Event>> history_;
  std::vector<OpenWatch*> open_;
  bool is_connected_ = true;
  bool answers_progress_ = true;
  bool has_ordered_progress_ = true;
  bool holds_ranges_ = false;
  std::deque<std::move_only_function<void()>> held_;
  Failure range_failure_;
  Failure watch_failure_;
  Failure write_failure_;
  std::function<void()> before_write_;
  std::size_t most_operations_ = 128;
  std::int64_t min_ttl_s_ = 1;
  int txns_ = 0;
  int writes_ = 0;
  int ranges_ = 0;
  int watches_ = 0;
  int progress_requests_ = 0;
  std::size_t largest_range_ = 0;
  std::size_t most_answer_bytes_ = std::size_t{1} << 31U;
  const KeyValue* last_range_ = nullptr;
  std::int64_t last_watch_from_ = 0;
  std::int64_t last_lease_ = 0;
  std::map<std::int64_t, std::int64_t> leases_;  // their time to live in seconds
};

}  // namespace kvorum::sync
