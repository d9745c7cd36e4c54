#include "base/executor.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "tests/manual_clock.h"

namespace kvorum {
namespace {

template <class Type>
class ExecutorTest : public testing::Test {};
using ExecutorTypes = testing::Types<ThreadExecutor, CombiningExecutor>;
TYPED_TEST_SUITE(ExecutorTest, ExecutorTypes);

TYPED_TEST(ExecutorTest, RunsTasksInTheOrderOfTheirPosts) {
  std::vector<int> seen;
  {
    TypeParam executor("test");
    for (int i = 0; i < 1000; ++i) executor.Post([&seen, i] { seen.push_back(i); });
  }
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TYPED_TEST(ExecutorTest, RunsOneTaskAtATimeForManyPosters) {
  int unguarded = 0;
  {
    TypeParam executor("test");
    std::vector<std::thread> posters;
    for (int i = 0; i < 4; ++i) {
      posters.emplace_back([&] {
        for (int n = 0; n < 500; ++n) executor.Post([&] { ++unguarded; });
      });
    }
    for (std::thread& poster : posters) poster.join();
  }
  EXPECT_EQ(unguarded, 2000);
}

TYPED_TEST(ExecutorTest, RunsATaskOnceItsTimeHasCome) {
  TypeParam executor("test");
  std::promise<TimePoint> second;
  std::promise<TimePoint> first;
  const TimePoint begin = executor.clock().Now();
  const TimePoint late = begin + std::chrono::milliseconds(30);
  const TimePoint soon = begin + std::chrono::milliseconds(10);
  executor.PostAt(late, [&] { second.set_value(executor.clock().Now()); });
  executor.PostAt(soon, [&] { first.set_value(executor.clock().Now()); });
  EXPECT_GE(first.get_future().get(), soon);
  EXPECT_GE(second.get_future().get(), late);
}

TYPED_TEST(ExecutorTest, ATaskMayPostAnother) {
  std::promise<void> done;
  TypeParam executor("test");
  executor.Post([&] { executor.Post([&] { done.set_value(); }); });
  done.get_future().get();
}

TYPED_TEST(ExecutorTest, DropsWhatWaitsForItsTimeAtTheEnd) {
  bool ran = false;
  {
    TypeParam executor("test");
    executor.PostAt(executor.clock().Now() + std::chrono::hours(1), [&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

TYPED_TEST(ExecutorTest, DropsPostsAfterStop) {
  TypeParam executor("test");
  bool before = false;
  bool after = false;
  executor.Post([&] { before = true; });
  executor.Stop();
  executor.Post([&] { after = true; });
  executor.Stop();
  EXPECT_TRUE(before);
  EXPECT_FALSE(after);
}

TEST(ThreadExecutorTest, ItsThreadIsNamedAfterItsRole) {
  ThreadExecutor executor("raft");
  std::promise<std::string> name;
  executor.Post([&] {
    char buffer[16] = {};
    pthread_getname_np(pthread_self(), buffer, sizeof(buffer));
    name.set_value(buffer);
  });
  EXPECT_EQ(name.get_future().get(), "raft");
}

// Notes the thread that each task runs on.
class LentTaskTest : public testing::Test {
 protected:
  Task Noted(int number) {
    return [this, number] { ran_.emplace_back(number, std::this_thread::get_id()); };
  }
  std::vector<int> Order() const {
    std::vector<int> order;
    for (const auto& [number, thread] : ran_) order.push_back(number);
    return order;
  }
  // The executor's thread runs a task until let_go_ is set.
  void HoldThread() {
    std::promise<void> begun;
    executor_.Post([&] {
      begun.set_value();
      let_go_.get_future().get();
    });
    begun.get_future().get();
  }

  // The executor's thread has started, and waits for work: a thread that finds a lent task running
  // when it starts is owed the next turn.
  void LetThreadSettle() {
    std::promise<void> started;
    executor_.Post([&] { started.set_value(); });
    started.get_future().get();
    for (bool is_lent = false; !is_lent;) {
      std::promise<std::thread::id> ran;
      executor_.Lend([&] { ran.set_value(std::this_thread::get_id()); });
      is_lent = ran.get_future().get() == here_;
    }
  }

  std::vector<std::pair<int, std::thread::id>> ran_;
  const std::thread::id here_ = std::this_thread::get_id();
  std::promise<void> let_go_;
  ThreadExecutor executor_{"test"};
};

TEST_F(LentTaskTest, RunsOnTheCallersThread) {
  LetThreadSettle();
  executor_.Lend(Noted(1));
  executor_.Lend(Noted(2));
  EXPECT_EQ(ran_, (std::vector<std::pair<int, std::thread::id>>{{1, here_}, {2, here_}}));
}

TEST_F(LentTaskTest, TakesItsTurnBehindWhatRunsAndWaits) {
  HoldThread();
  executor_.Post(Noted(1));
  executor_.Lend(Noted(2));
  EXPECT_TRUE(ran_.empty());
  let_go_.set_value();
  executor_.Stop();
  ASSERT_EQ(Order(), (std::vector{1, 2}));
  EXPECT_NE(ran_[1].second, here_);
}

TEST_F(LentTaskTest, WhatComesMeanwhileRunsAfterItOnTheExecutorsThread) {
  executor_.Lend([&] {
    executor_.Post(Noted(2));
    executor_.Lend(Noted(3));
    // Long enough for a thread that did not wait for the end of this task.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ran_.emplace_back(1, here_);
  });
  executor_.Stop();
  ASSERT_EQ(Order(), (std::vector{1, 2, 3}));
  EXPECT_NE(ran_[1].second, here_);
}

TEST_F(LentTaskTest, WhatIsLentWithinItRunsAfterIt) {
  executor_.Lend([&] {
    executor_.Lend(Noted(2));
    ran_.emplace_back(1, here_);
  });
  executor_.Stop();
  ASSERT_EQ(Order(), (std::vector{1, 2}));
  EXPECT_NE(ran_[1].second, here_);
}

TEST_F(LentTaskTest, NothingIsLentWhileTheExecutorsThreadRunsItsLastTask) {
  HoldThread();
  executor_.Lend(Noted(1));
  EXPECT_TRUE(ran_.empty());
  let_go_.set_value();
  executor_.Stop();
  EXPECT_EQ(ran_.size(), 1U);
}

TEST_F(LentTaskTest, ATimedTaskThatBecomesDueMeanwhileRunsAfterIt) {
  std::promise<void> ran;
  executor_.Lend([&] {
    executor_.PostAt(executor_.clock().Now() + std::chrono::milliseconds(5), [&] {
      ran_.emplace_back(2, std::this_thread::get_id());
      ran.set_value();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ran_.emplace_back(1, here_);
  });
  ran.get_future().get();
  executor_.Stop();
  ASSERT_EQ(Order(), (std::vector{1, 2}));
  EXPECT_NE(ran_[1].second, here_);
}

TEST_F(LentTaskTest, AStopWaitsForItAndDropsLaterOnes) {
  std::promise<void> begun;
  std::atomic<bool> has_ended = false;
  std::thread lender([&] {
    executor_.Lend([&] {
      begun.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      has_ended = true;
    });
  });
  begun.get_future().get();
  executor_.Stop();
  EXPECT_TRUE(has_ended);
  executor_.Lend(Noted(2));
  EXPECT_TRUE(ran_.empty());
  lender.join();
}

TEST_F(LentTaskTest, OneTaskRunsAtATimeForManyLendersAndPosters) {
  int unguarded = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&, i] {
      for (int n = 0; n < 2'000; ++n)
        i % 2 == 0 ? executor_.Lend([&] { ++unguarded; }) : executor_.Post([&] { ++unguarded; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  executor_.Stop();
  EXPECT_EQ(unguarded, 8'000);
}

TEST(CombiningExecutorTest, RunsATaskOnThePostersThread) {
  CombiningExecutor executor("test");
  std::thread::id ran_on;
  executor.Post([&] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(CombiningExecutorTest, ARunningThreadTakesOverWhatOthersPost) {
  CombiningExecutor executor("test");
  std::thread::id ran_on;
  executor.Post([&] {
    std::thread([&] {
      executor.Post([&] { ran_on = std::this_thread::get_id(); });
      EXPECT_EQ(ran_on, std::thread::id()) << "ran beside another task";
    }).join();
  });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(CombiningExecutorTest, APosterIsLetGoAfterAFewRounds) {
  std::atomic<int> left = 1000;
  std::promise<std::thread::id> last;
  CombiningExecutor executor("test");
  std::function<void()> again = [&] {
    if (--left > 0) return executor.Post(again);
    last.set_value(std::this_thread::get_id());
  };
  executor.Post(again);
  EXPECT_NE(last.get_future().get(), std::this_thread::get_id());
}

TEST(ManualClockTest, MovesOnlyWhenTold) {
  ManualClock clock;
  const TimePoint begin = clock.Now();
  EXPECT_EQ(clock.Now(), begin);
  clock.Advance(std::chrono::seconds(2));
  EXPECT_EQ(clock.Now() - begin, std::chrono::seconds(2));
}

}  // namespace
}  // namespace kvorum
