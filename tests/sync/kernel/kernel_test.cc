// The behaviours K1 to K10 of docs/sync_behaviours.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "sync/kernel/bus.h"
#include "sync/kernel/jitter.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/pause.h"
#include "sync/kernel/timer.h"
#include "sync/kernel/trigger.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(SyncKernel, K1_FiringsBeforeAWaitAreOneWakeAndOneDuringWorkIsOneMore) {
  ManualExecutor executor;
  int works = 0;
  bool fires_again = true;
  std::optional<Trigger> trigger;
  Loop loop(executor, [&](TimePoint) {
    if (trigger->Take()) {
      ++works;
      if (std::exchange(fires_again, false)) {
        for (int i = 0; i < 5; ++i) trigger->Fire();
      }
    }
    return kNever;
  });
  trigger.emplace([&] { loop.Wake(); });
  for (int i = 0; i < 100; ++i) trigger->Fire();
  executor.Settle();
  EXPECT_EQ(works, 2);
}

TEST(SyncKernel, K1_ASetTriggerTellsForWhatItWasFired) {
  int wakes = 0;
  SetTrigger<std::string> trigger([&] { ++wakes; });
  trigger.Fire("b");
  trigger.Fire("a");
  trigger.Fire("b");
  EXPECT_EQ(wakes, 1);
  EXPECT_THAT(trigger.Take(), ElementsAre("a", "b"));
  EXPECT_THAT(trigger.Take(), IsEmpty());
  trigger.Fire("c");
  EXPECT_EQ(wakes, 2);
}

TEST(SyncKernel, K2_StaggerIsUniformBelowItsSpanAndFollowsTheSeed) {
  Rng rng(7);
  EXPECT_EQ(Stagger(rng, 0s), 0s);
  EXPECT_EQ(Stagger(rng, 0s, 8), 0s);
  Duration least = 1h;
  Duration greatest = 0s;
  for (int i = 0; i < 10'000; ++i) {
    const Duration d = Stagger(rng, 3s, 4);
    ASSERT_GE(d, 0s);
    ASSERT_LT(d, 12s);
    least = std::min(least, d);
    greatest = std::max(greatest, d);
  }
  EXPECT_LT(least, 100ms);
  EXPECT_GT(greatest, 11'900ms);
  Rng one(11);
  Rng same(11);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Stagger(one, 15s), Stagger(same, 15s));
}

TEST(SyncKernel, K3_TheScaleFactorGrowsByOneADoubling) {
  const std::vector<std::pair<std::uint64_t, std::int64_t>> table = {
      {0, 1},    {1, 1},    {128, 1},  {129, 2},  {256, 2},  {257, 3},  {512, 3},   {513, 4},
      {1000, 4}, {1024, 4}, {1025, 5}, {4096, 6}, {8192, 7}, {8193, 8}, {10'000, 8}};
  for (const auto& [nodes, factor] : table) EXPECT_EQ(ScaleFactor(nodes), factor) << nodes;
}

TEST(SyncKernel, K4_OnlyTheLastReleaseResumesAndOneTooManyThrows) {
  int resumes = 0;
  Pause pause([&](Pass) { ++resumes; });
  pause.Acquire();
  {
    const PauseGuard guard(pause);
    EXPECT_TRUE(pause.is_paused());
  }
  EXPECT_TRUE(pause.is_paused());
  EXPECT_EQ(resumes, 0);
  pause.Acquire();
  EXPECT_FALSE(pause.Release());
  EXPECT_TRUE(pause.Release());
  EXPECT_EQ(resumes, 1);
  EXPECT_FALSE(pause.is_paused());
  EXPECT_THROW(pause.Release(), std::logic_error);
  EXPECT_EQ(resumes, 1);
}

TEST(SyncKernel, K5_WorkThatWasHeldBackIsDueOnceAndAFullPassStaysFull) {
  std::vector<Pass> resumed;
  Pause pause([&](Pass due) { resumed.push_back(due); });
  EXPECT_TRUE(pause.Admit(Pass::kFull));
  {
    const PauseGuard guard(pause);
    EXPECT_FALSE(pause.Admit(Pass::kChanges));
    EXPECT_FALSE(pause.Admit(Pass::kFull));
    EXPECT_FALSE(pause.Admit(Pass::kChanges));
    EXPECT_THAT(resumed, IsEmpty());
  }
  EXPECT_THAT(resumed, ElementsAre(Pass::kFull));
  {
    const PauseGuard guard(pause);
  }
  EXPECT_THAT(resumed, ElementsAre(Pass::kFull, Pass::kNone));
}

TEST(SyncKernel, K6_NothingRunsAfterStopWhateverIsWaitedFor) {
  ManualExecutor executor;
  Rng rng(1);
  Backoff backoff({.first = 10s});
  int steps = 0;
  Timer staggered;
  Timer retry;
  Loop loop(executor, [&](TimePoint now) {
    ++steps;
    if (!staggered.is_set()) staggered.Set(now + 1s + Stagger(rng, 15s));
    if (!retry.is_set()) retry.Set(now + 1s + backoff.Next(now, rng));
    return std::min(staggered.due(), retry.due());
  });
  loop.Wake();
  executor.Settle();
  EXPECT_EQ(steps, 1);
  loop.Wake();
  loop.Post([&] { ++steps; });
  loop.Stop();
  loop.Wake();
  executor.Advance(1h);
  EXPECT_EQ(steps, 1);
}

TEST(SyncKernel, K6_StopJoinsWithin100MillisecondsOfAnHoursWait) {
  // The quickest of several, since the machine may be busy with something else.
  auto quickest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 10; ++i) {
    ThreadExecutor executor("test");
    std::promise<void> waits;
    Loop loop(executor, [&](TimePoint now) {
      waits.set_value();
      return now + 1h;
    });
    loop.Wake();
    waits.get_future().wait();
    const auto begin = std::chrono::steady_clock::now();
    loop.Stop();
    executor.Stop();
    quickest = std::min(quickest, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(quickest, 100ms);
}

TEST(SyncKernel, K6_StopWaitsForTheStepInProgress) {
  ThreadExecutor executor("test");
  std::promise<void> begun;
  std::promise<void> may_end;
  std::atomic<bool> ended = false;
  Loop loop(executor, [&](TimePoint) {
    begun.set_value();
    may_end.get_future().wait();
    ended = true;
    return kNever;
  });
  loop.Wake();
  begun.get_future().wait();
  std::thread other([&] { may_end.set_value(); });
  loop.Stop();
  EXPECT_TRUE(ended);
  other.join();
}

TEST(SyncKernel, K6_AStepMayStopItsOwnLoop) {
  ManualExecutor executor;
  int steps = 0;
  std::optional<Loop> loop;
  loop.emplace(executor, [&](TimePoint now) {
    ++steps;
    loop->Stop();
    return now + 1s;
  });
  loop->Wake();
  executor.Advance(1min);
  EXPECT_EQ(steps, 1);
}

using StringBus = Bus<std::string>;
std::vector<std::string> Texts(const std::vector<StringBus::Item>& items) {
  std::vector<std::string> texts;
  for (const auto& item : items) {
    const auto* text = std::get_if<std::string>(&item);
    texts.push_back(text != nullptr ? *text : "(overflow)");
  }
  return texts;
}

TEST(SyncKernel, K7_AFullQueueBecomesOneOverflow) {
  StringBus bus;
  const auto overflows = std::make_shared<Counter>();
  int wakes = 0;
  const auto slow =
      bus.Subscribe({.capacity = 3, .on_ready = [&] { ++wakes; }, .overflows = overflows});
  const auto roomy = bus.Subscribe({.capacity = 10});
  for (const char* text : {"1", "2", "3", "4", "5"}) bus.Publish(text);
  EXPECT_THAT(Texts(slow->Take()), ElementsAre("(overflow)", "5"));
  EXPECT_THAT(Texts(roomy->Take()), ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_EQ(overflows->value(), 1u);
  EXPECT_EQ(wakes, 1);
  for (int i = 0; i < 1000; ++i) bus.Publish("x");
  const auto items = Texts(slow->Take());
  EXPECT_EQ(items.front(), "(overflow)");
  EXPECT_EQ(std::ranges::count(items, "(overflow)"), 1);
  EXPECT_EQ(wakes, 2);
  EXPECT_THAT(slow->Take(), IsEmpty());
}

TEST(SyncKernel, K8_APredicateSeesEachEventOnceAndChoosesWhatIsQueued) {
  StringBus bus;
  std::vector<std::string> asked;
  const auto some = bus.Subscribe({.wants = [&](const std::string& text) {
    asked.push_back(text);
    return text != "b";
  }});
  for (const char* text : {"a", "b", "c"}) bus.Publish(text);
  EXPECT_THAT(asked, ElementsAre("a", "b", "c"));
  EXPECT_THAT(Texts(some->Take()), ElementsAre("a", "c"));
}

TEST(SyncKernel, K8_ClosingInsideACallbackIsSafe) {
  StringBus bus;
  int asked = 0;
  int woken = 0;
  std::unique_ptr<StringBus::Subscription> by_predicate;
  std::unique_ptr<StringBus::Subscription> by_wake;
  std::unique_ptr<StringBus::Subscription> other = bus.Subscribe({});
  by_predicate = bus.Subscribe({.wants = [&](const std::string&) {
    ++asked;
    by_predicate.reset();
    return true;
  }});
  by_wake = bus.Subscribe({.on_ready = [&] {
    ++woken;
    by_wake->Close();
    other->Close();
  }});
  const auto last = bus.Subscribe({});
  bus.Publish("1");
  bus.Publish("2");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(woken, 1);
  EXPECT_THAT(Texts(by_wake->Take()), ElementsAre("1"));
  EXPECT_THAT(Texts(other->Take()), ElementsAre("1"));
  EXPECT_THAT(Texts(last->Take()), ElementsAre("1", "2"));
}

TEST(SyncKernel, K8_NoCallbackRunsOnceAnotherThreadHasClosedIt) {
  StringBus bus;
  for (int i = 0; i < 200; ++i) {
    auto alive = std::make_unique<std::atomic<bool>>(true);
    auto subscription = bus.Subscribe({.wants = [seen = alive.get()](const std::string&) {
      EXPECT_TRUE(*seen);
      return true;
    }});
    std::thread publisher([&] {
      for (int n = 0; n < 20; ++n) bus.Publish("x");
    });
    subscription.reset();
    alive.reset();
    publisher.join();
  }
}

TEST(SyncKernel, K9_TheCeilingDoublesUpToItsCapAndBeginsAnewAfterAQuietTime) {
  Rng rng(3);
  Backoff backoff;
  TimePoint now{1'000'000'000'000};
  std::vector<Duration> ceilings;
  for (int i = 0; i < 12; ++i) {
    const Duration ceiling = backoff.ceiling();
    ceilings.push_back(ceiling);
    const Duration wait = backoff.Next(now, rng);
    EXPECT_GE(wait, 0s);
    EXPECT_LT(wait, ceiling);
    now = now + wait;
  }
  EXPECT_THAT(ceilings, ElementsAre(50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms,
                                    12'800ms, 25'600ms, 30s, 30s));
  now = now + 119s;
  now = now + backoff.Next(now, rng);
  EXPECT_EQ(backoff.ceiling(), 30s);
  now = now + 2min;
  EXPECT_LT(backoff.Next(now, rng), 50ms);
  EXPECT_EQ(backoff.ceiling(), 100ms);
}

TEST(SyncKernel, K9_TheJitterIsFull) {
  Rng rng(5);
  Duration least = 1h;
  Duration greatest = 0s;
  for (int i = 0; i < 1000; ++i) {
    Backoff backoff;
    const Duration wait = backoff.Next(TimePoint{1'000'000'000'000}, rng);
    least = std::min(least, wait);
    greatest = std::max(greatest, wait);
  }
  EXPECT_LT(least, 2ms);
  EXPECT_GT(greatest, 48ms);
}

TEST(SyncKernel, K10_TimersNeverOverlapOneHandlerAndMissedTicksAreOne) {
  ManualExecutor executor;
  const TimePoint start = executor.Now();
  Ticker fast(start + 1s, 1s);
  Ticker slow(start + 2s, 2s);
  std::vector<std::string> seen;
  int inside = 0;
  std::optional<Loop> loop;
  const auto handle = [&](const char* name, TimePoint now) {
    EXPECT_EQ(++inside, 1);
    seen.push_back(name + std::to_string((now - start) / 1s));
    loop->Wake();  // must not run the handler inside itself, nor must the ticks that pass meanwhile
    if (seen.size() <= 2) executor.Pass(2500ms);
    --inside;
  };
  loop.emplace(executor, [&](TimePoint now) {
    if (fast.TakeDue(now)) handle("fast", now);
    if (slow.TakeDue(now)) handle("slow", now);
    return std::min(fast.due(), slow.due());
  });
  loop->Wake();
  executor.Advance(4s);
  EXPECT_THAT(seen, ElementsAre("fast1", "fast3", "slow3", "fast6", "slow6"));
}

TEST(SyncKernel, K10_StepsOfOneLoopNeverOverlapOnRealThreads) {
  ThreadExecutor executor("test");
  int unguarded = 0;
  std::promise<void> done;
  {
    Loop loop(executor, [&](TimePoint now) {
      if (++unguarded == 2000) done.set_value();
      return now;
    });
    std::vector<std::thread> wakers;
    for (int i = 0; i < 4; ++i) {
      wakers.emplace_back([&] {
        for (int n = 0; n < 200; ++n) loop.Wake();
      });
    }
    for (std::thread& waker : wakers) waker.join();
    done.get_future().wait();
  }
  EXPECT_GE(unguarded, 2000);
}

TEST(SyncKernel, ATimerThatWasPutOffFiresOnceAtItsNewTime) {
  ManualExecutor executor;
  std::vector<std::int64_t> at;
  const TimePoint start = executor.Now();
  Timer timer;
  timer.Set(start + 1s);
  Loop loop(executor, [&](TimePoint now) {
    if (timer.TakeDue(now)) at.push_back((now - start) / 1ms);
    return timer.due();
  });
  loop.Wake();
  executor.Settle();
  timer.Set(start + 3s);
  loop.Wake();
  executor.Advance(2s);
  EXPECT_THAT(at, IsEmpty());
  timer.Set(start + 2500ms);
  loop.Wake();
  executor.Advance(10s);
  EXPECT_THAT(at, ElementsAre(2500));
  EXPECT_EQ(executor.timers(), 0u);
}

TEST(SyncKernel, AnAnswerToALoopThatIsGoneIsDropped) {
  ManualExecutor executor;
  int answers = 0;
  Loop::Handle handle;
  handle.Wake();
  {
    const Loop loop(executor, [](TimePoint) { return kNever; });
    handle = loop.handle();
    handle.Post([&] { ++answers; });
    executor.Settle();
    handle.Post([&] { ++answers; });
  }
  handle.Post([&] { ++answers; });
  executor.Settle();
  EXPECT_EQ(answers, 1);
}

}  // namespace
}  // namespace kvorum::sync
