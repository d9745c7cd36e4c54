#include "base/executor.h"

#include <pthread.h>

namespace kvorum {

ThreadExecutor::ThreadExecutor(std::string name) {
  thread_ = std::thread([this, name = name.substr(0, 15)] {
    pthread_setname_np(pthread_self(), name.c_str());
    Run();
  });
}

ThreadExecutor::~ThreadExecutor() { Stop(); }

void ThreadExecutor::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

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

void ThreadExecutor::PostAt(TimePoint when, Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    timed_.emplace(when, std::move(task));
  }
  wake_.notify_one();
}

void ThreadExecutor::Run() {
  std::vector<Task> batch;
  std::unique_lock lock(mutex_);
  while (true) {
    while (!timed_.empty() && timed_.begin()->first <= SystemClock().Now()) {
      queue_.push_back(std::move(timed_.begin()->second));
      timed_.erase(timed_.begin());
    }
    if (queue_.empty()) {
      if (stopping_) return;
      if (timed_.empty()) {
        wake_.wait(lock);
      } else {
        wake_.wait_for(lock, timed_.begin()->first - SystemClock().Now());
      }
      continue;
    }
    batch.swap(queue_);
    lock.unlock();
    for (Task& task : batch) task();
    batch.clear();
    lock.lock();
  }
}

}  // namespace kvorum
