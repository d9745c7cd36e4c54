// A committer over the in-memory backend, on lanes whose time the test sets. Single thread.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mvcc/lmdb/committer.h"
#include "tests/disk/memory_backend.h"
#include "tests/manual_clock.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::mvcc {

// Runs posted tasks when the test says so.
class ManualExecutor final : public Executor {
 public:
  explicit ManualExecutor(ManualClock& clock) : clock_(clock) {}
  void Post(Task task) override { queue_.push_back(std::move(task)); }
  void PostAt(TimePoint when, Task task) override { timed_.emplace(when, std::move(task)); }
  const Clock& clock() const override { return clock_; }

  std::size_t queued() const { return queue_.size(); }
  std::size_t timers() const { return timed_.size(); }
  // Runs posted and due tasks until nothing is left.
  void Run() {
    while (true) {
      if (!timed_.empty() && timed_.begin()->first <= clock_.Now()) {
        queue_.push_back(std::move(timed_.begin()->second));
        timed_.erase(timed_.begin());
      }
      if (queue_.empty()) return;
      Task task = std::move(queue_.front());
      queue_.pop_front();
      task();
    }
  }

 private:
  ManualClock& clock_;
  std::deque<Task> queue_;
  std::multimap<TimePoint, Task> timed_;
};

class CommitterTest : public ::testing::Test {
 protected:
  CommitterTest() {
    options_.on_durable = [this](std::uint64_t index) { durable_.push_back(index); };
    options_.on_fatal = [this](const Error& error) { fatal_.push_back(error); };
    options_.on_commit = [this](const Committer::CommitStats& stats) { commits_.push_back(stats); };
    options_.batch_operations = 100;
  }
  void Start() {
    backend_ = world_.Open().value();
    committer_ =
        std::make_unique<Committer>(*backend_, buffer_, executor_, copier_, std::move(options_));
  }
  void Append(std::int64_t main, std::string_view value) {
    value.copy(buffer_.Append({main, 0}, false, value.size()), value.size());
  }
  void Write(std::int64_t main, std::string_view value = "v") {
    Append(main, value);
    buffer_.Put(Bucket::kMeta, meta_key::kConsistentIndex, std::to_string(main));
    committer_->Publish(static_cast<std::uint64_t>(main));
  }
  // Not a byte more.
  void FillDisk() { world_.files.SetCapacity(0); }
  void RunBoth() {
    while (executor_.queued() + copier_.queued() > 0) {
      executor_.Run();
      copier_.Run();
    }
  }
  Content Committed() { return ContentOf(*backend_); }
  bool Holds(std::int64_t main) {
    return Committed().contains({Bucket::kKey, std::string(RevisionKey({main, 0}).view())});
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  ManualExecutor copier_{clock_};
  MemoryWorld world_;
  WriteBuffer buffer_{{.limit_bytes = 1 << 20}};
  std::unique_ptr<Backend> backend_;
  Committer::Options options_;
  std::unique_ptr<Committer> committer_;
  std::vector<std::uint64_t> durable_;
  std::vector<Error> fatal_;
  std::vector<Committer::CommitStats> commits_;
};

}  // namespace kvorum::mvcc
