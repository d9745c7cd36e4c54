#include "server/apply/applied_reads.h"

#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "server/state/raft_status.h"

namespace kvorum::server {

void AppliedReads::Wait(raft::Index index, TimePoint deadline, ReadTask task) {
  bool is_stopped = false;
  {
    std::lock_guard lock(mutex_);
    is_stopped = is_stopped_;
    if (!is_stopped && status_.applied_index() < index) {
      reads_.emplace(index, Read{.deadline = deadline, .task = std::move(task)});
      return;
    }
  }
  task(is_stopped ? kErrStopped.Fail() : Result<void>());
}

void AppliedReads::RunReady(raft::Index applied) {
  std::vector<ReadTask> ready;
  {
    std::lock_guard lock(mutex_);
    const auto end = reads_.upper_bound(applied);
    for (auto it = reads_.begin(); it != end; ++it) ready.push_back(std::move(it->second.task));
    reads_.erase(reads_.begin(), end);
  }
  for (ReadTask& task : ready) task({});
}

void AppliedReads::Expire(TimePoint now) {
  std::vector<ReadTask> expired;
  {
    std::lock_guard lock(mutex_);
    for (auto it = reads_.begin(); it != reads_.end();) {
      if (now < it->second.deadline) {
        ++it;
        continue;
      }
      expired.push_back(std::move(it->second.task));
      it = reads_.erase(it);
    }
  }
  for (ReadTask& task : expired) task(kErrTimeoutWaitApplied.Fail());
}

void AppliedReads::Stop() {
  decltype(reads_) reads;
  {
    std::lock_guard lock(mutex_);
    is_stopped_ = true;
    reads_.swap(reads);
  }
  for (auto& [index, read] : reads) read.task(kErrStopped.Fail());
}

}  // namespace kvorum::server
