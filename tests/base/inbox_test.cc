// Many threads hand values to one executor: nothing is lost, and one task takes all of them.
#include "base/inbox.h"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "base/executor.h"

namespace kvorum {
namespace {

// Runs posted tasks when the test says so.
class ManualExecutor final : public Executor {
 public:
  void Post(Task task) override { tasks.push_back(std::move(task)); }
  void PostAt(TimePoint when, Task task) override {
    at = when;
    tasks.push_back(std::move(task));
  }
  const Clock& clock() const override { return SystemClock(); }
  void Lend(Task task) override { lends ? task() : Post(std::move(task)); }

  void RunOne() {
    Task task = std::move(tasks.front());
    tasks.pop_front();
    task();
  }

  bool lends = false;
  std::deque<Task> tasks;
  std::optional<TimePoint> at;
};

class InboxTest : public testing::Test {
 protected:
  using Numbers = std::vector<int>;

  void Put(int number) {
    inbox_.Put([&](Numbers& numbers) { numbers.push_back(number); });
  }

  ManualExecutor executor_;
  std::vector<Numbers> taken_;
  Inbox<Numbers> inbox_{executor_, [this] { taken_.push_back(inbox_.Take()); }};
};

TEST_F(InboxTest, OneTaskTakesAllThatArrivesUntilItRuns) {
  Put(1);
  Put(2);
  ASSERT_EQ(executor_.tasks.size(), 1U);
  Put(3);
  executor_.RunOne();
  EXPECT_EQ(taken_, (std::vector<Numbers>{{1, 2, 3}}));
  EXPECT_TRUE(executor_.tasks.empty());
}

TEST_F(InboxTest, WhatComesAfterATakePostsAgain) {
  Put(1);
  executor_.RunOne();
  Put(2);
  ASSERT_EQ(executor_.tasks.size(), 1U);
  executor_.RunOne();
  EXPECT_EQ(taken_, (std::vector<Numbers>{{1}, {2}}));
}

TEST_F(InboxTest, AnExecutorThatHasNothingElseToDoTakesAtOnceWhatMayBeLent) {
  const auto put_and_lend = [&](int number) {
    inbox_.PutAndLend([&](Numbers& numbers) { numbers.push_back(number); });
  };
  executor_.lends = true;
  put_and_lend(1);
  EXPECT_EQ(taken_, (std::vector<Numbers>{{1}}));
  Put(2);
  put_and_lend(3);
  EXPECT_EQ(taken_.size(), 1U) << "a task is posted already";
  executor_.RunOne();
  EXPECT_EQ(taken_, (std::vector<Numbers>{{1}, {2, 3}}));
}

TEST_F(InboxTest, AChangeThatMayWaitPostsNothingAndIsTakenWithTheNext) {
  inbox_.Put([](Numbers& numbers) {
    numbers.push_back(1);
    return false;
  });
  EXPECT_TRUE(executor_.tasks.empty());
  inbox_.Put([](Numbers& numbers) {
    numbers.push_back(2);
    return true;
  });
  ASSERT_EQ(executor_.tasks.size(), 1U);
  executor_.RunOne();
  EXPECT_EQ(taken_, (std::vector<Numbers>{{1, 2}}));
}

TEST_F(InboxTest, AChangeSeesWhatWaitsSoThatItsOwnerCanKeepABound) {
  int refused = 0;
  for (int i = 0; i < 5; ++i) {
    inbox_.Put([&](Numbers& numbers) {
      if (numbers.size() == 3) return ++refused, false;
      numbers.push_back(i);
      return true;
    });
  }
  executor_.RunOne();
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(taken_, (std::vector<Numbers>{{0, 1, 2}}));
}

TEST_F(InboxTest, ATaskThatGoesOnUntilNothingIsLeftIsTheOnlyOne) {
  Put(1);
  ASSERT_EQ(executor_.tasks.size(), 1U);
  executor_.tasks.clear();  // the task pauses, and continues later by itself
  EXPECT_EQ(inbox_.TakeOrRest(), Numbers{1});
  Put(2);
  EXPECT_TRUE(executor_.tasks.empty());
  EXPECT_EQ(inbox_.TakeOrRest(), Numbers{2});
  EXPECT_EQ(inbox_.TakeOrRest(), Numbers{});
  Put(3);
  EXPECT_EQ(executor_.tasks.size(), 1U);
}

TEST_F(InboxTest, AWakeUpRunsTheTaskThoughNothingCame) {
  inbox_.Wake();
  inbox_.Wake();
  Put(1);
  ASSERT_EQ(executor_.tasks.size(), 1U);
  executor_.RunOne();
  EXPECT_EQ(taken_, (std::vector<Numbers>{{1}}));
}

TEST_F(InboxTest, AWakeUpAtATimeStandsForWhatComesUntilThen) {
  inbox_.WakeAt(TimePoint{} + std::chrono::seconds(3));
  EXPECT_EQ(executor_.at, TimePoint{} + std::chrono::seconds(3));
  Put(1);
  ASSERT_EQ(executor_.tasks.size(), 1U);
  executor_.RunOne();
  EXPECT_EQ(taken_, (std::vector<Numbers>{{1}}));
}

TEST(InboxThreadsTest, NothingIsLostAndEachThreadsOrderStays) {
  constexpr int kThreads = 4;
  constexpr int kEach = 5'000;
  std::vector<std::vector<int>> seen(kThreads);
  {
    ThreadExecutor executor("inbox");
    using Batch = std::vector<std::pair<int, int>>;
    Inbox<Batch> inbox(executor, [&] {
      for (const auto& [thread, number] : inbox.Take())
        seen[static_cast<std::size_t>(thread)].push_back(number);
    });
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&inbox, thread] {
        for (int i = 0; i < kEach; ++i)
          inbox.Put([&](Batch& batch) { batch.emplace_back(thread, i); });
      });
    }
    for (std::thread& thread : threads) thread.join();
    executor.Stop();
  }
  std::vector<int> expected(kEach);
  std::iota(expected.begin(), expected.end(), 0);
  for (const std::vector<int>& numbers : seen) EXPECT_EQ(numbers, expected);
}

}  // namespace
}  // namespace kvorum
