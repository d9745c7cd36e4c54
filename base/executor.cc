#include "base/executor.h"

#include <pthread.h>

#include <limits>
#include <string>
#include <utility>

namespace kvorum {
namespace {

// The number of rounds that a poster runs before it hands over to the executor's own thread.
constexpr int kPosterRounds = 3;

template <class Run>
std::thread NamedThread(std::string_view name, Run run) {
  return std::thread([name = std::string(name.substr(0, 15)), run = std::move(run)] {
    pthread_setname_np(pthread_self(), name.c_str());
    run();
  });
}

}  // namespace

void OwnThread::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void OwnThread::PostAt(TimePoint when, Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    timed_.emplace(when, std::move(task));
  }
  wake_.notify_one();
}

void OwnThread::TakeDue() {
  while (!timed_.empty() && timed_.begin()->first <= SystemClock().Now()) {
    queue_.push_back(std::move(timed_.begin()->second));
    timed_.erase(timed_.begin());
  }
}

void OwnThread::Sleep(std::unique_lock<std::mutex>& lock) {
  if (timed_.empty() || stopping_) return wake_.wait(lock);
  wake_.wait_for(lock, timed_.begin()->first - SystemClock().Now());
}

ThreadExecutor::ThreadExecutor(std::string_view name) {
  thread_ = NamedThread(name, [this] { Run(); });
}

ThreadExecutor::~ThreadExecutor() { Stop(); }

void ThreadExecutor::Post(Task task) {
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    first = queue_.empty();
    queue_.push_back(std::move(task));
  }
  if (first) wake_.notify_one();
}

void ThreadExecutor::Lend(Task task) {
  std::unique_lock lock(mutex_);
  if (stopping_) return;
  // Timed tasks need the own thread, which lenders in a row must not keep out.
  if (running_ || waits_for_lender_ || !queue_.empty()) {
    queue_.push_back(std::move(task));
    wake_.notify_one();
    return;
  }
  running_ = true;
  lock.unlock();
  task();
  task = {};  // its captures go before another task runs
  lock.lock();
  running_ = false;
  if (waits_for_lender_) wake_.notify_one();
}

void ThreadExecutor::RunQueued(std::unique_lock<std::mutex>& lock, std::vector<Task>& batch) {
  batch.swap(queue_);
  running_ = true;
  lock.unlock();
  for (Task& task : batch) task();
  batch.clear();
  lock.lock();
  running_ = false;
}

void ThreadExecutor::Run() {
  std::vector<Task> batch;
  std::unique_lock lock(mutex_);
  while (true) {
    if (running_) {
      waits_for_lender_ = true;
      wake_.wait(lock);
      continue;
    }
    waits_for_lender_ = false;
    TakeDue();
    if (!queue_.empty()) {
      RunQueued(lock, batch);
    } else if (stopping_) {
      return;
    } else {
      Sleep(lock);
    }
  }
}

CombiningExecutor::CombiningExecutor(std::string_view name) {
  thread_ = NamedThread(name, [this] { RunThread(); });
}

CombiningExecutor::~CombiningExecutor() { Stop(); }

void CombiningExecutor::Post(Task task) {
  std::unique_lock lock(mutex_);
  if (stopping_) return;
  queue_.push_back(std::move(task));
  if (std::exchange(running_, true)) return;
  RunQueued(lock, kPosterRounds);
  handed_over_ = running_;
  if (handed_over_ || stopping_) wake_.notify_one();
}

void CombiningExecutor::RunQueued(std::unique_lock<std::mutex>& lock, int rounds) {
  std::vector<Task> batch;
  for (; rounds > 0 && !queue_.empty(); --rounds) {
    batch.swap(queue_);
    lock.unlock();
    for (Task& task : batch) task();
    batch.clear();
    lock.lock();
  }
  running_ = !queue_.empty();
}

void CombiningExecutor::RunThread() {
  std::unique_lock lock(mutex_);
  while (true) {
    TakeDue();
    const bool mine = handed_over_ || (!running_ && !queue_.empty());
    if (mine) {
      handed_over_ = false;
      running_ = true;
      RunQueued(lock, std::numeric_limits<int>::max());
    } else if (stopping_ && !running_) {
      return;
    } else {
      Sleep(lock);
    }
  }
}

}  // namespace kvorum
