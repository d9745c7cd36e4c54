// The pool that hashes: outcomes, bounds, its end, its priority.
#include "auth/password_workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <latch>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/executor.h"
#include "tests/auth/executor_password_work.h"
#include "tests/auth/password_hash.h"
#include "tests/eventually.h"

namespace kvorum::auth {
namespace {

PasswordJob Hash(std::string password) {
  return {.kind = PasswordJob::Kind::kHash, .password = Secret(password), .cost = kMinBcryptCost};
}
PasswordJob Verify(std::string password, std::string hash) {
  return {
      .kind = PasswordJob::Kind::kVerify, .password = Secret(password), .hash = std::move(hash)};
}

PasswordOutcome Finish(PasswordWork& work, PasswordJob job) {
  std::promise<PasswordOutcome> promise;
  work.Submit(std::move(job), [&](PasswordOutcome outcome) { promise.set_value(outcome); });
  return promise.get_future().get();
}

// The fields of a thread's /proc stat from the third on; empty without such a thread.
std::vector<std::string> StatOfThread(const std::string& name) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    if (stat.find("(" + name + ")") == std::string::npos) continue;
    std::istringstream rest(stat.substr(stat.rfind(')') + 1));
    return {std::istream_iterator<std::string>(rest), {}};
  }
  return {};
}

constexpr std::size_t kNice = 16;
constexpr std::size_t kPolicy = 38;

// A thread names itself and lowers its priority in its own time, regardless of other threads.
bool HasValue(const std::string& name, std::size_t field, const std::string& value) {
  return Eventually([&] {
    const std::vector<std::string> stat = StatOfThread(name);
    return !stat.empty() && stat.at(field) == value;
  });
}
bool Exists(const std::string& name) {
  return Eventually([&] { return !StatOfThread(name).empty(); });
}

TEST(PasswordWorkersTest, HashesAndVerifies) {
  PasswordWorkers workers({});
  const PasswordOutcome hashed = Finish(workers, Hash("secret"));
  ASSERT_TRUE(hashed.ok);
  EXPECT_TRUE(VerifyPassword("secret", hashed.hash));
  EXPECT_TRUE(Finish(workers, Verify("secret", hashed.hash)).ok);
  EXPECT_FALSE(Finish(workers, Verify("wrong", hashed.hash)).ok);
  EXPECT_FALSE(Finish(workers, Verify("secret", "no hash")).ok);
  EXPECT_FALSE(Finish(workers, Hash(std::string(73, 'p'))).ok);
  EXPECT_TRUE(Finish(workers, Hash("again")).ok);
}

TEST(PasswordWorkersTest, ManyJobsFromManyThreads) {
  PasswordWorkers workers({.queue = 1000});
  const std::string hash = HashPassword("p3", kMinBcryptCost, {}).value();
  std::latch finished(200);
  std::atomic<int> fitting = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        workers.Submit(Verify("p" + std::to_string(i), hash), [&](PasswordOutcome o) {
          if (o.ok) ++fitting;
          finished.count_down();
        });
      }
    });
  }
  finished.wait();
  EXPECT_EQ(fitting, 4);
}

// Workers of which only the patient one has work, and whose outcomes are held back until the test
// releases them.
class HeldWorkers {
 public:
  explicit HeldWorkers(std::size_t queue) : workers_({.queue = queue, .budget = {}}) {
    // While one outcome is being reported, the next ones wait.
    workers_.Submit(Verify("p", "no hash"), [this](PasswordOutcome) {
      told_.count_down();
      go_on_.wait();
    });
    told_.wait();
  }
  ~HeldWorkers() {
    if (!go_on_.try_wait()) go_on_.count_down();
  }
  void Submit(PasswordJob job, std::string name) {
    ++submitted_;
    workers_.Submit(std::move(job), [this, name = std::move(name)](const PasswordOutcome& outcome) {
      const std::lock_guard lock(mutex_);
      (outcome.refused ? refused_ : done_).push_back(name);
      ++finished_;
      changed_.notify_all();
    });
  }
  std::vector<std::string> refused() {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  // In their order.
  std::vector<std::string> Done() {
    go_on_.count_down();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return finished_ == submitted_; });
    return done_;
  }

 private:
  std::latch told_{1};
  std::latch go_on_{1};
  int submitted_ = 0;
  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::vector<std::string> done_;
  std::vector<std::string> refused_;
  int finished_ = 0;
  PasswordWorkers workers_;
};

using JobNames = std::vector<std::string>;

TEST(PasswordWorkersTest, PastTheBoundAJobIsRefused) {
  HeldWorkers workers(3);
  for (const char* name : {"1", "2", "3", "4"}) workers.Submit(Hash("p"), name);
  EXPECT_EQ(workers.refused(), JobNames{"4"});
  EXPECT_EQ(workers.Done(), (JobNames{"1", "2", "3"}));
}

TEST(PasswordWorkersTest, WhatIsToBeHashedHasPlacesOfItsOwnAndGoesFirst) {
  HeldWorkers workers(3);
  for (const char* name : {"1", "2", "3", "4"}) workers.Submit(Verify("p", "no hash"), name);
  EXPECT_EQ(workers.refused(), JobNames{"4"});
  workers.Submit(Hash("p"), "hashed");
  EXPECT_EQ(workers.refused(), JobNames{"4"});
  EXPECT_EQ(workers.Done(), (JobNames{"hashed", "1", "2", "3"}));
}

// Strangers who try passwords neither fill the queue for others nor hold them up.
TEST(PasswordWorkersTest, WhoAsksForMuchKeepsNobodyOut) {
  HeldWorkers workers(8);
  const auto ask = [&](const std::string& name, QueueKey key) {
    PasswordJob job = Verify("p", "no hash");
    job.queue_key = key;
    workers.Submit(std::move(job), name);
  };
  for (int i = 0; i < 100; ++i) ask("flood " + std::to_string(i), {.address = 1, .user = 1});
  ask("same host, other user", {.address = 1, .user = 2});
  ask("same user, other host", {.address = 2, .user = 1});
  const JobNames refused = workers.refused();
  EXPECT_EQ(refused.size(), 100 - 6U);
  const JobNames done = workers.Done();
  ASSERT_EQ(done.size(), 8U);
  EXPECT_EQ(JobNames(done.begin(), done.begin() + 4),
            (JobNames{"flood 0", "same user, other host", "same host, other user", "flood 1"}));
}

TEST(PasswordWorkersTest, WhatWaitsAtTheEndIsDropped) {
  const auto witness = std::make_shared<int>(0);
  {
    PasswordWorkers workers({.queue = 100});
    for (int i = 0; i < 50; ++i) workers.Submit(Hash("p"), [witness](PasswordOutcome) {});
  }
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(PasswordWorkersTest, OneIsOfTheLowestPriorityAndTheOthersAreNot) {
  {
    PasswordWorkers nice({.budget = {}, .priority = PasswordWorkers::Priority::kNice});
    Finish(nice, Hash("p"));  // on either thread
    EXPECT_TRUE(HasValue("password", kNice, "19"));
    for (const std::string other : {"password-prompt", "passwords"}) {
      EXPECT_TRUE(Exists(other));
      EXPECT_NE(StatOfThread(other).at(kNice), "19");
    }
  }
  const PasswordWorkers idle({.budget = {}, .priority = PasswordWorkers::Priority::kIdle});
  EXPECT_TRUE(HasValue("password", kPolicy, "5"));  // SCHED_IDLE
}

// --- who does the work -------------------------------------------------------------------------

// The budget's clock; the work takes real time.
class BudgetClock final : public Clock {
 public:
  TimePoint Now() const override { return {now_ns_.load()}; }
  std::int64_t WallNanos() const override { return now_ns_.load(); }
  void Advance(Duration duration) { now_ns_ += duration.count(); }

 private:
  std::atomic<std::int64_t> now_ns_ = 0;
};

TEST(PasswordWorkersTest, ALoginNowAndThenIsDoneAtOrdinaryPriority) {
  BudgetClock clock;
  PasswordWorkers workers(
      {.budget = {.share = 1, .burst = std::chrono::nanoseconds(1)}, .clock = &clock});
  for (std::uint64_t login = 1; login <= 5; ++login) {
    Finish(workers, Hash("p"));
    EXPECT_EQ(workers.counts().prompt, login);
    clock.Advance(std::chrono::seconds(10));
  }
  EXPECT_EQ(workers.counts().patient, 0U);
}

TEST(PasswordWorkersTest, WhatIsBeyondTheBudgetIsDoneAtTheLowest) {
  BudgetClock clock;
  PasswordWorkers workers(
      {.budget = {.share = 1, .burst = std::chrono::nanoseconds(1)}, .clock = &clock});
  for (int login = 0; login < 5; ++login) Finish(workers, Hash("p"));
  EXPECT_EQ(workers.counts().prompt, 1U) << "it took more than the nanosecond that there was";
  EXPECT_EQ(workers.counts().patient, 4U);
}

TEST(PasswordWorkersTest, AFloodTakesTheBudgetAndNoMore) {
  constexpr CpuBudget::Options kBudget{.share = 0.05, .burst = std::chrono::milliseconds(20)};
  PasswordWorkers workers({.queue = 10'000, .budget = kBudget});
  const auto cpu_of_prompt = [] {
    constexpr std::size_t kUser = 11;
    const auto stat = StatOfThread("password-prompt");
    return std::chrono::milliseconds(10 *
                                     (std::stol(stat.at(kUser)) + std::stol(stat.at(kUser + 1))));
  };
  const TimePoint begin = SystemClock().Now();
  std::latch finished(100);
  for (int i = 0; i < 100; ++i)
    workers.Submit(Hash("p"), [&](const PasswordOutcome&) { finished.count_down(); });
  finished.wait();
  const Duration passed = SystemClock().Now() - begin;
  const Duration most(
      static_cast<Duration::rep>(kBudget.share * static_cast<double>(passed.count())));
  // One piece of work more than the budget, in ticks of the kernel's.
  EXPECT_LE(cpu_of_prompt(), most + kBudget.burst + std::chrono::milliseconds(100));
  EXPECT_GT(workers.counts().prompt, 0U);
}

TEST(ExecutorPasswordWorkTest, RunsOnTheExecutorUpToItsLimit) {
  ThreadExecutor executor("test");
  ExecutorPasswordWork work(executor, 2);
  EXPECT_TRUE(Finish(work, Hash("p")).ok);
  std::latch started(1);
  std::latch go_on(1);
  executor.Post([&] {
    started.count_down();
    go_on.wait();
  });
  started.wait();
  std::latch finished(2);
  for (int i = 0; i < 2; ++i)
    work.Submit(Hash("p"), [&](PasswordOutcome outcome) {
      EXPECT_TRUE(outcome.ok);
      finished.count_down();
    });
  bool refused = false;
  work.Submit(Hash("p"), [&](const PasswordOutcome& outcome) { refused = outcome.refused; });
  EXPECT_TRUE(refused);
  go_on.count_down();
  finished.wait();
  EXPECT_TRUE(Finish(work, Verify("p", Finish(work, Hash("p")).hash)).ok);
}

}  // namespace
}  // namespace kvorum::auth
