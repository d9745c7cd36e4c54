// The pool that hashes: outcomes, bounds, its end, its priority.
#include "auth/password_workers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <latch>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace kvorum::auth {
namespace {

PasswordJob Hash(std::string password) {
  return {PasswordJob::Kind::kHash, std::move(password), {}, kMinBcryptCost, {}};
}
PasswordJob Verify(std::string password, std::string hash) {
  return {PasswordJob::Kind::kVerify, std::move(password), std::move(hash), 0, {}};
}

// Takes both if it is accepted.
bool Offer(PasswordWork& work, PasswordJob& job, PasswordDone& done) {
  return work.Submit(std::move(job), std::move(done));
}

PasswordOutcome Finish(PasswordWork& work, PasswordJob job) {
  std::promise<PasswordOutcome> promise;
  EXPECT_TRUE(
      work.Submit(std::move(job), [&](PasswordOutcome outcome) { promise.set_value(outcome); }));
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

TEST(PasswordWorkersTest, HashesAndVerifies) {
  PasswordWorkers workers({.threads = 2});
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
  PasswordWorkers workers({.threads = 3, .queue = 1000});
  const std::string hash = HashPassword("p3", kMinBcryptCost, {}).value();
  std::latch finished(200);
  std::atomic<int> fitting = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(workers.Submit(Verify("p" + std::to_string(i), hash), [&](PasswordOutcome o) {
          if (o.ok) ++fitting;
          finished.count_down();
        }));
      }
    });
  }
  finished.wait();
  EXPECT_EQ(fitting, 4);
}

TEST(PasswordWorkersTest, PastTheBoundAJobIsRefusedAndLeftAsItWas) {
  PasswordWorkers workers({.threads = 1, .queue = 2});
  std::latch told(1);
  std::latch go_on(1);
  std::latch finished(3);
  // Nothing is given out or told as long as the first outcome is being told.
  ASSERT_TRUE(workers.Submit(Hash("first"), [&](PasswordOutcome) {
    told.count_down();
    go_on.wait();
  }));
  told.wait();
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(workers.Submit(Hash("p"), [&](PasswordOutcome) { finished.count_down(); }));
  PasswordJob job = Hash("a password that is long enough to be moved");
  bool called = false;
  PasswordDone done = [&](PasswordOutcome) { called = true; };
  EXPECT_FALSE(Offer(workers, job, done));
  EXPECT_EQ(job.password, "a password that is long enough to be moved");
  ASSERT_TRUE(done);
  done({});
  EXPECT_TRUE(called);
  go_on.count_down();
  finished.wait();
  EXPECT_TRUE(Finish(workers, Hash("p")).ok);  // there is room again
}

TEST(PasswordWorkersTest, WhatIsToBeHashedHasPlacesOfItsOwnAndGoesFirst) {
  PasswordWorkers workers({.threads = 1, .queue = 2});
  const std::string hash = HashPassword("p", kMinBcryptCost, {}).value();
  std::latch told(1);
  std::latch go_on(1);
  std::latch finished(4);
  std::vector<std::string> order;  // of the thread that tells
  const auto note = [&](const char* what) {
    return [&, what](PasswordOutcome) {
      order.emplace_back(what);
      finished.count_down();
    };
  };
  ASSERT_TRUE(workers.Submit(Verify("p", hash), [&](PasswordOutcome) {
    told.count_down();
    go_on.wait();
  }));
  told.wait();
  // Nothing is given out as long as an outcome is being told.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(workers.Submit(Verify("p", hash), note("verified")));
  EXPECT_FALSE(workers.Submit(Verify("p", hash), note("verified")));
  ASSERT_TRUE(workers.Submit(Hash("p"), note("hashed")));
  go_on.count_down();
  finished.wait();
  EXPECT_EQ(order, (std::vector<std::string>{"hashed", "verified", "verified", "verified"}));
}

TEST(PasswordWorkersTest, WhatWaitsAtTheEndIsDropped) {
  const auto witness = std::make_shared<int>(0);
  {
    PasswordWorkers workers({.threads = 1, .queue = 100});
    for (int i = 0; i < 50; ++i)
      ASSERT_TRUE(workers.Submit(Hash("p"), [witness](PasswordOutcome) {}));
  }
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(PasswordWorkersTest, WorkersAreOfTheLowestPriority) {
  constexpr std::size_t kNice = 16;  // of the fields from the third on
  constexpr std::size_t kPolicy = 38;
  {
    PasswordWorkers nice({.threads = 1, .priority = PasswordWorkers::Priority::kNice});
    Finish(nice, Hash("p"));
    EXPECT_EQ(StatOfThread("password-0").at(kNice), "19");
    EXPECT_NE(StatOfThread("passwords").at(kNice), "19");
  }
  PasswordWorkers idle({.threads = 1, .priority = PasswordWorkers::Priority::kIdle});
  Finish(idle, Hash("p"));
  EXPECT_EQ(StatOfThread("password-0").at(kPolicy), "5");  // SCHED_IDLE
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
    EXPECT_TRUE(work.Submit(Hash("p"), [&](PasswordOutcome outcome) {
      EXPECT_TRUE(outcome.ok);
      finished.count_down();
    }));
  EXPECT_FALSE(work.Submit(Hash("p"), [](PasswordOutcome) {}));
  go_on.count_down();
  finished.wait();
  EXPECT_TRUE(Finish(work, Verify("p", Finish(work, Hash("p")).hash)).ok);
}

}  // namespace
}  // namespace kvorum::auth
