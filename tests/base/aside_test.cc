// Idle threads on the real scheduler. Every processor is kept busy by a thread like any other,
// beside which an idle one gets a seventieth of it (or, by SCHED_IDLE, a three hundredth).
#include "base/background/aside.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace kvorum {
namespace {

std::string NameOfThisThread() {
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

Duration CpuTimeOfThisThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void Compute(Duration work) {
  const Duration begin = CpuTimeOfThisThread();
  while (CpuTimeOfThisThread() - begin < work) {
  }
}

// One thread bound to each processor that this one may use.
class BusyProcessors {
 public:
  BusyProcessors() {
    cpu_set_t mine;
    sched_getaffinity(0, sizeof(mine), &mine);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &mine)) continue;
      threads_.emplace_back([this, cpu] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof(one), &one);
        while (!stop_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  ~BusyProcessors() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

TEST(AsideTest, APieceOfABackgroundThreadRunsOnItsIdleThread) {
  std::string task;
  std::string piece;
  int policy = -1;
  {
    BackgroundExecutor executor("reader");
    executor.Post([&] {
      task = NameOfThisThread();
      RunAside([&] {
        piece = NameOfThisThread();
        policy = sched_getscheduler(0);
      });
    });
  }
  EXPECT_EQ(task, "reader");
  EXPECT_EQ(piece, "reader-idle");
  EXPECT_TRUE(policy == SCHED_BATCH || policy == SCHED_IDLE) << policy;
  EXPECT_NE(WayOfIdleThreads(), GivingWay::kUnknown);
}

TEST(AsideTest, APieceOfAnyOtherThreadRunsThere) {
  std::thread::id ran;
  RunAside([&] { ran = std::this_thread::get_id(); });
  EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(AsideTest, ThePiecesOfABackgroundThreadEndInTheirOrder) {
  std::vector<int> seen;
  {
    BackgroundExecutor executor("reader");
    executor.Post([&] {
      for (int i = 0; i < 1000; ++i) RunAside([&seen, i] { seen.push_back(i); });
    });
  }
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

// A second of work in pieces of a millisecond: on the idle thread alone it takes more than a
// minute.
TEST(AsideTest, BackgroundWorkDoesNotStarveBehindBusyProcessors) {
  const BusyProcessors busy;
  std::promise<void> done;
  std::future<void> has_ended = done.get_future();
  std::atomic<bool> give_up = false;
  int pieces_here = 0;
  BackgroundExecutor executor("reader");
  executor.Post([&] {
    const std::thread::id here = std::this_thread::get_id();
    for (int i = 0; i < 1000 && !give_up; ++i) {
      RunAside([&] {
        Compute(std::chrono::milliseconds(1));
        if (std::this_thread::get_id() == here) ++pieces_here;
      });
    }
    done.set_value();
  });
  EXPECT_EQ(has_ended.wait_for(std::chrono::seconds(40)), std::future_status::ready);
  give_up = true;
  executor.Stop();
  EXPECT_GT(pieces_here, 0);
}

}  // namespace
}  // namespace kvorum
