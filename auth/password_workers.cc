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
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"

namespace kvorum::auth {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

// Wakes without a lock: a low-priority thread that loses the processor while it holds a mutex would
// hold up the next thread that wants it.
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
  // Also returns when this much time has passed.
  void WaitFor(Duration limit) {
    const std::int64_t end_ns = SystemClock().Now().ns + limit.count();
    const timespec end{.tv_sec = end_ns / kNanosPerSecond, .tv_nsec = end_ns % kNanosPerSecond};
    while (sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &end) != 0) {
      if (errno == ETIMEDOUT) return;
      KV_CHECK(errno == EINTR, "auth: a semaphore can be waited for");
    }
  }

 private:
  sem_t semaphore_;
};

void LowerPriority(PasswordWorkers::Priority priority) {
  const sched_param none{};
  if (priority == PasswordWorkers::Priority::kIdle &&
      pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) == 0)
    return;
  // Affects only this thread, on Linux. Lowering is always allowed.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
}

Duration CpuTimeOfThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

class PasswordWorkers::Impl {
 public:
  explicit Impl(const Options& options)
      : options_(options), budget_(options.budget, options.clock->Now()) {
    prompt_.thread = std::thread([this] {
      pthread_setname_np(pthread_self(), "password-prompt");
      Work(prompt_);
    });
    patient_.thread = std::thread([this] {
      pthread_setname_np(pthread_self(), "password");
      LowerPriority(options_.priority);
      Work(patient_);
    });
    dispatcher_ = std::thread([this] { Dispatch(); });
  }
  ~Impl() {
    stopping_.store(true, std::memory_order_release);
    events_.Post();
    dispatcher_.join();
    for (Worker* const worker : {&prompt_, &patient_}) {
      worker->start.Post();
      worker->thread.join();
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Submit(PasswordJob job, PasswordDone done) {
    std::optional<Assignment> refused;
    {
      const std::lock_guard lock(mutex_);
      FairQueue<Assignment>& queue = queues_[job.kind == PasswordJob::Kind::kHash ? 0 : 1];
      const QueueKey key = job.queue_key;
      queue.Push({std::move(job), std::move(done)}, key);
      if (queue.size() > options_.queue) refused = queue.PopLast();
    }
    if (refused.has_value()) return refused->done({.refused = true});
    events_.Post();
  }
  Counts counts() const {
    return {.prompt = prompt_.jobs.load(std::memory_order_relaxed),
            .patient = patient_.jobs.load(std::memory_order_relaxed)};
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
    std::atomic<std::uint64_t> jobs = 0;
    // The dispatcher's while idle or finished, the worker's while running.
    enum class State : std::uint8_t { kIdle, kRunning, kFinished };
    std::atomic<State> state = State::kIdle;
    Assignment assignment;
    bool ok = false;
    Bcrypt::Hash hash{};
    Duration cpu{};  // the job's processor time
  };

  void Work(Worker& worker) {
    while (true) {
      worker.start.Wait();
      if (worker.state.load(std::memory_order_acquire) != Worker::State::kRunning) return;
      const Duration before = CpuTimeOfThread();
      const PasswordJob& job = worker.assignment.job;
      switch (job.kind) {
        case PasswordJob::Kind::kHash:
          worker.ok = worker.bcrypt.Make(job.password.view(), job.cost, job.salt, worker.hash);
          break;
        case PasswordJob::Kind::kVerify:
          worker.ok = worker.bcrypt.Verify(job.password.view(), job.hash);
          break;
      }
      worker.cpu = CpuTimeOfThread() - before;
      worker.state.store(Worker::State::kFinished, std::memory_order_release);
      events_.Post();
    }
  }

  void Dispatch() {
    pthread_setname_np(pthread_self(), "passwords");
    while (true) {
      WaitForEvent();
      if (stopping_.load(std::memory_order_acquire)) return;
      for (Worker* const worker : {&prompt_, &patient_}) {
        if (worker->state.load(std::memory_order_acquire) == Worker::State::kFinished)
          Deliver(*worker);
        if (worker->state.load(std::memory_order_relaxed) == Worker::State::kIdle) Assign(*worker);
      }
    }
  }
  // A job that waits because the patient worker is busy and the budget is spent goes on when the
  // budget is refilled.
  void WaitForEvent() {
    const bool is_waiting = prompt_.state.load(std::memory_order_relaxed) == Worker::State::kIdle &&
                            options_.budget.burst > Duration{} && HasWaiting();
    if (!is_waiting) return events_.Wait();
    events_.WaitFor(budget_.UntilOpen(options_.clock->Now()));
  }
  bool HasWaiting() {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(queues_, [](const auto& queue) { return !queue.empty(); });
  }
  void Deliver(Worker& worker) {
    Assignment finished = std::move(worker.assignment);
    PasswordOutcome outcome{.ok = worker.ok};
    if (worker.ok && finished.job.kind == PasswordJob::Kind::kHash)
      outcome.hash.assign(worker.hash.begin(), worker.hash.end());
    if (&worker == &prompt_) budget_.Spend(worker.cpu, options_.clock->Now());
    worker.jobs.fetch_add(1, std::memory_order_relaxed);
    worker.state.store(Worker::State::kIdle, std::memory_order_relaxed);
    // The next job starts before this one's outcome is reported.
    Assign(worker);
    finished.done(std::move(outcome));
  }
  void Assign(Worker& worker) {
    if (&worker == &prompt_ && !budget_.IsOpen(options_.clock->Now())) return;
    {
      const std::lock_guard lock(mutex_);
      const auto queue = std::ranges::find_if(queues_, [](const auto& q) { return !q.empty(); });
      if (queue == queues_.end()) return;
      worker.assignment = queue->Pop();
    }
    worker.state.store(Worker::State::kRunning, std::memory_order_release);
    worker.start.Post();
  }

  const Options options_;
  CpuBudget budget_;  // the dispatcher's
  std::atomic<bool> stopping_ = false;
  Semaphore events_;                             // raised for each job that arrives or finishes
  std::mutex mutex_;                             // never taken by a worker
  std::array<FairQueue<Assignment>, 2> queues_;  // passwords to hash come first
  Worker prompt_;                                // of ordinary priority, while the budget lasts
  Worker patient_;
  std::thread dispatcher_;
};

PasswordWorkers::PasswordWorkers(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
PasswordWorkers::~PasswordWorkers() = default;

void PasswordWorkers::Submit(PasswordJob job, PasswordDone done) {
  impl_->Submit(std::move(job), std::move(done));
}

PasswordWorkers::Counts PasswordWorkers::counts() const { return impl_->counts(); }

}  // namespace kvorum::auth
