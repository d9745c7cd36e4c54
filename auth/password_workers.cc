#include "auth/password_workers.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace kvorum::auth {
namespace {

// Waking without a lock: a thread of low priority that has the processor taken away inside of a
// mutex would hold up whoever wants it next.
class Semaphore {
 public:
  Semaphore() { KV_CHECK(sem_init(&semaphore_, 0, 0) == 0, "auth: a semaphore can be made"); }
  ~Semaphore() { sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  void Post() { KV_CHECK(sem_post(&semaphore_) == 0, "auth: a semaphore can be raised"); }
  void Wait() {
    while (sem_wait(&semaphore_) != 0)
      KV_CHECK(errno == EINTR, "auth: a semaphore can be waited for");
  }

 private:
  sem_t semaphore_;
};

void LowerPriority(PasswordWorkers::Priority priority) {
  const sched_param none{};
  if (priority == PasswordWorkers::Priority::kIdle &&
      pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) == 0)
    return;
  // Of this thread, on Linux. To lower it is always allowed.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
}

}  // namespace

class PasswordWorkers::Impl {
 public:
  explicit Impl(const Options& options) : options_(options) {
    KV_CHECK(options.threads > 0, "auth: somebody hashes the passwords");
    for (int i = 0; i < options.threads; ++i) workers_.push_back(std::make_unique<Worker>());
    for (std::size_t i = 0; i < workers_.size(); ++i)
      workers_[i]->thread = std::thread([this, i] { Work(*workers_[i], i); });
    dispatcher_ = std::thread([this] { Dispatch(); });
  }
  ~Impl() {
    stopping_.store(true, std::memory_order_release);
    events_.Post();
    dispatcher_.join();
    for (const auto& worker : workers_) worker->start.Post();
    for (const auto& worker : workers_) worker->thread.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Submit(PasswordJob job, PasswordDone done) {
    std::optional<Assignment> refused;
    {
      const std::lock_guard lock(mutex_);
      Queue& queue = QueueOf(job);
      const Asker asker = job.asker;
      queue.waiting.Push({std::move(job), std::move(done)}, asker);
      if (queue.unfinished < options_.queue + workers_.size()) {
        ++queue.unfinished;
      } else {
        refused = queue.waiting.PopLast();
      }
    }
    if (refused.has_value()) return refused->done({.refused = true});
    events_.Post();
  }

 private:
  struct Assignment {
    PasswordJob job;
    PasswordDone done;
  };
  struct Worker {
    std::thread thread;
    Semaphore start;
    Bcrypt bcrypt;
    // The dispatcher's while idle or finished, the worker's while running.
    enum class State : std::uint8_t { kIdle, kRunning, kFinished };
    std::atomic<State> state = State::kIdle;
    Assignment assignment;
    bool ok = false;
    Bcrypt::Hash hash{};
  };

  struct Queue {
    FairQueue<Assignment> waiting;
    std::size_t unfinished = 0;  // with those that workers have
  };

  Queue& QueueOf(const PasswordJob& job) {
    return queues_[job.kind == PasswordJob::Kind::kHash ? 0 : 1];
  }
  void Work(Worker& worker, std::size_t index) {
    pthread_setname_np(pthread_self(), ("password-" + std::to_string(index)).c_str());
    LowerPriority(options_.priority);
    while (true) {
      worker.start.Wait();
      if (worker.state.load(std::memory_order_acquire) != Worker::State::kRunning) return;
      const PasswordJob& job = worker.assignment.job;
      switch (job.kind) {
        case PasswordJob::Kind::kHash:
          worker.ok = worker.bcrypt.Make(job.password.view(), job.cost, job.salt, worker.hash);
          break;
        case PasswordJob::Kind::kVerify:
          worker.ok = worker.bcrypt.Verify(job.password.view(), job.hash);
          break;
      }
      worker.state.store(Worker::State::kFinished, std::memory_order_release);
      events_.Post();
    }
  }

  void Dispatch() {
    pthread_setname_np(pthread_self(), "passwords");
    while (true) {
      events_.Wait();
      if (stopping_.load(std::memory_order_acquire)) return;
      for (const auto& worker : workers_) {
        if (worker->state.load(std::memory_order_acquire) == Worker::State::kFinished)
          Deliver(*worker);
        if (worker->state.load(std::memory_order_relaxed) == Worker::State::kIdle) Assign(*worker);
      }
    }
  }
  void Deliver(Worker& worker) {
    Assignment finished = std::move(worker.assignment);
    PasswordOutcome outcome{.ok = worker.ok};
    if (worker.ok && finished.job.kind == PasswordJob::Kind::kHash)
      outcome.hash.assign(worker.hash.begin(), worker.hash.end());
    worker.state.store(Worker::State::kIdle, std::memory_order_relaxed);
    // The next one starts before this one's outcome is told.
    {
      const std::lock_guard lock(mutex_);
      --QueueOf(finished.job).unfinished;
    }
    Assign(worker);
    finished.done(std::move(outcome));
  }
  void Assign(Worker& worker) {
    {
      const std::lock_guard lock(mutex_);
      const auto queue =
          std::ranges::find_if(queues_, [](const Queue& q) { return !q.waiting.empty(); });
      if (queue == queues_.end()) return;
      worker.assignment = queue->waiting.Pop();
    }
    worker.state.store(Worker::State::kRunning, std::memory_order_release);
    worker.start.Post();
  }

  const Options options_;
  std::atomic<bool> stopping_ = false;
  Semaphore events_;             // raised for each job that came and each that is finished
  std::mutex mutex_;             // never taken by a worker
  std::array<Queue, 2> queues_;  // what is to be hashed first
  std::vector<std::unique_ptr<Worker>> workers_;
  std::thread dispatcher_;
};

PasswordWorkers::PasswordWorkers(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
PasswordWorkers::~PasswordWorkers() = default;

void PasswordWorkers::Submit(PasswordJob job, PasswordDone done) {
  impl_->Submit(std::move(job), std::move(done));
}

}  // namespace kvorum::auth
