#include "base/executor.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <vector>

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
