// Resync rounds of a whole informer: I10 to I13 of docs/sync_behaviours.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sync/kernel/metrics.h"
#include "tests/sync/informer/informer_fixture.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SyncInformerResync : public SyncInformer {
 protected:
  BytesInformer::Options Every(Duration check) {
    BytesInformer::Options options = Prefix();
    options.resync = check;
    return options;
  }
};

TEST_F(SyncInformerResync, I9_RoundsComeAtMultiplesOfTheChecks) {
  Put("1", "x");
  Make(Every(2s));
  Told told;
  std::vector<std::int64_t> at;
  const TimePoint start = executor.Now();
  told.on_each = [&] { at.push_back((executor.Now() - start) / 1s); };
  Listen(told, {.resync = 3s});
  Run();
  executor.Advance(13s);
  EXPECT_THAT(at, ElementsAre(0, 4, 8, 12));
}

TEST_F(SyncInformerResync, I10_ARoundTellsEachObjectAsAnUpdateToItselfAndAsksNoServer) {
  store.Commit({{"/a/1", "x"}, {"/a/2", "y"}});
  Metrics metrics;
  BytesInformer::Options options = Every(1s);
  options.source.metrics = &metrics;
  Make(std::move(options));
  Told told;
  Listen(told, {.resync = 1s});
  Run();
  told.Take();
  const int asked = store.ranges() + store.watches() + store.progress_requests();
  executor.Advance(1s);
  EXPECT_THAT(told.Take(), ElementsAre("1:x>x", "2:y>y"));
  executor.Advance(1s);
  EXPECT_THAT(told.Take(), SizeIs(2));
  EXPECT_EQ(store.ranges() + store.watches() + store.progress_requests(), asked);
  EXPECT_THAT(metrics.Text(), HasSubstr("\nkvsync_informer_resync_rounds_total 2\n"));
}

TEST_F(SyncInformerResync, I11_OnlyThoseThatAreDueHearARoundAndAllHearChanges) {
  Put("1", "x");
  Make(Every(2s));
  Told often;
  Told seldom;
  Told never;
  Listen(often);
  Listen(seldom, {.resync = 4s});
  Listen(never, {.resync = 0s});
  Run();
  for (Told* told : {&often, &seldom, &never}) EXPECT_THAT(told->Take(), ElementsAre("*+1=x"));
  executor.Advance(2s);
  EXPECT_THAT(often.Take(), ElementsAre("1:x>x"));
  EXPECT_THAT(seldom.Take(), IsEmpty());
  Put("1", "y");
  executor.Advance(2s);
  EXPECT_THAT(often.Take(), ElementsAre("1:x>y", "1:y>y"));
  EXPECT_THAT(seldom.Take(), ElementsAre("1:x>y", "1:y>y"));
  EXPECT_THAT(never.Take(), ElementsAre("1:x>y"));
}

TEST_F(SyncInformerResync, I12_AKeyWithAQueuedChangeIsNotToldItsOlderValue) {
  store.Commit({{"/a/1", "x"}, {"/a/2", "y"}, {"/a/3", "z"}});
  Make(Every(1s));
  Told told;
  Listen(told, {.resync = 1s});
  Run();
  told.Take();
  told.on_each = [&] {  // during the round's first call
    told.on_each = nullptr;
    Put("2", "new");
    Delete("3");
    executor.Post([] {});
  };
  executor.Advance(1s);
  const auto lines = told.Take();
  // The informer may take the changes over before the round is over, or after it; never between a
  // newer value and an older one.
  EXPECT_THAT(lines, testing::AnyOf(ElementsAre("1:x>x", "2:y>new", "-3=z"),
                                    ElementsAre("1:x>x", "2:y>y", "3:z>z", "2:y>new", "-3=z")));
}

TEST_F(SyncInformerResync, I12_NoValueIsOlderThanTheOneBeforeUnderRandomChanges) {
  Make(Every(1s));
  Rng rng(4);
  std::map<std::string, std::int64_t> newest;
  using EntryRef = BytesInformer::EntryRef;
  int resynced = 0;
  const auto see = [&](const EntryRef& entry) {
    std::int64_t& known = newest[std::string(entry->key())];
    EXPECT_GE(entry->mod_revision(), known);
    known = entry->mod_revision();
    if (rng.OneIn(3)) store.Put("/a/" + std::to_string(rng.Below(30)), "during a handler");
    if (rng.OneIn(3)) executor.Pass(10ms);
  };
  for (const auto policy : {OverflowPolicy::kCoalesce, OverflowPolicy::kDropAndResync}) {
    newest.clear();
    resynced = 0;
    ManualExecutor its_own;
    auto handle = informer->AddListener(
        {.overflow = policy, .capacity = 8, .resync = 1s, .executor = &its_own},
        {.on_add = [&](const EntryRef& added, bool) { see(added); },
         .on_update =
             [&](const EntryRef& before, const EntryRef& after) {
               if (before == after) {
                 ++resynced;
                 // It is the newest that the informer had, not only that this listener had.
                 EXPECT_EQ(informer->Get(after->key()), after);
               }
               see(after);
             }});
    ASSERT_TRUE(handle);
    if (policy == OverflowPolicy::kCoalesce) Run();
    for (int i = 0; i < 500; ++i) {
      store.Put("/a/" + std::to_string(rng.Below(30)), std::to_string(i));
      if (rng.OneIn(2)) its_own.Settle();
      executor.Advance(100ms);
    }
    handle->Remove();
    EXPECT_GT(resynced, 100);
  }
}

// I13, the open question. Both rules deliver a store to two listeners, one of them due at every
// check, the other at every fifth; draining the store once takes as long as five checks. A round of
// a listener begins when it is due; in it, each object is to come once.
struct Delivery {
  int listener = 0;
  int object = 0;
};
constexpr int kObjects = 100;
constexpr Duration kCheck = 1s;
constexpr Duration kHandler = 5 * kCheck / kObjects;
constexpr Duration kSeldom = 5 * kCheck;
constexpr Duration kTime = 300 * kCheck;

// The rule as published: which listeners are syncing is decided anew at each check, and read when
// an object is delivered; an object that still waits is not queued again.
std::vector<Delivery> PublishedRule(Duration time) {
  std::vector<Delivery> deliveries;
  std::deque<int> queue;
  std::set<int> queued;
  std::set<int> syncing;
  Duration next_check = kCheck;
  const std::vector<Duration> periods = {kCheck, kSeldom};
  std::vector<Duration> due = periods;
  for (Duration now = 0s; now < time;) {
    while (next_check <= now) {
      std::set<int> due_now;
      for (int listener = 0; listener < 2; ++listener) {
        Duration& next = due[static_cast<std::size_t>(listener)];
        if (next > next_check) continue;
        due_now.insert(listener);
        next = next_check + periods[static_cast<std::size_t>(listener)];
      }
      syncing = due_now;
      for (int object = 0; object < kObjects && !syncing.empty(); ++object) {
        if (queued.insert(object).second) queue.push_back(object);
      }
      next_check += kCheck;
    }
    if (!queue.empty()) {
      for (const int listener : syncing) deliveries.push_back({listener, queue.front()});
      queued.erase(queue.front());
      queue.pop_front();
    }
    now += kHandler;
  }
  return deliveries;
}

// The number of times that the listener was given each object; over whole rounds they are equal.
std::map<int, int> TimesOf(const std::vector<Delivery>& deliveries, int listener) {
  std::map<int, int> times;
  for (int object = 0; object < kObjects; ++object) times[object] = 0;
  for (const Delivery& delivery : deliveries) {
    if (delivery.listener == listener) ++times[delivery.object];
  }
  return times;
}
// True if every object was reported as often as any other, give or take the round that is under
// way.
bool IsFair(const std::map<int, int>& times) {
  int least = times.begin()->second;
  int greatest = least;
  for (const auto& [object, count] : times) {
    least = std::min(least, count);
    greatest = std::max(greatest, count);
  }
  return least > 0 && greatest - least <= 1;
}

TEST_F(SyncInformerResync, I13_ByThePublishedRuleAListenerMissesObjectsAgainAndAgain) {
  const auto deliveries = PublishedRule(kTime);
  EXPECT_FALSE(IsFair(TimesOf(deliveries, 1)));
}

TEST_F(SyncInformerResync, I13_ByOursEveryListenerOfARoundSeesEveryObjectOfItOnce) {
  std::vector<FakeStore::Write> writes;
  for (int object = 0; object < kObjects; ++object)
    writes.emplace_back("/a/" + std::to_string(object), "x");
  store.Commit(writes);
  Make(Every(kCheck));
  std::vector<Delivery> deliveries;
  std::vector<std::set<std::string>> rounds(2);  // what the listener saw in the round under way
  std::vector<int> whole_rounds(2);
  const TimePoint end = executor.Now() + kTime;
  for (int listener = 0; listener < 2; ++listener) {
    const auto at = static_cast<std::size_t>(listener);
    ASSERT_TRUE(informer->AddListener(
        {.resync = listener == 0 ? kCheck : kSeldom, .executor = &executor},
        {.on_update = [&, at, listener](const BytesInformer::EntryRef&,
                                        const BytesInformer::EntryRef& after) {
          executor.Pass(kHandler);
          if (executor.Now() > end) return informer->Stop();
          deliveries.push_back({listener, std::stoi(std::string(after->key().substr(3)))});
          EXPECT_TRUE(rounds[at].emplace(after->key()).second) << "twice in one round";
          if (rounds[at].size() < static_cast<std::size_t>(kObjects)) return;
          rounds[at].clear();
          ++whole_rounds[at];
        }}));
  }
  Run();
  executor.Advance(kTime);
  for (int listener = 0; listener < 2; ++listener) {
    EXPECT_TRUE(IsFair(TimesOf(deliveries, listener)));
    EXPECT_GT(whole_rounds[static_cast<std::size_t>(listener)], 10);
  }
}

TEST_F(SyncInformerResync, ARoundThatIsDroppedEndsWithWhatStandsForIt) {
  store.Commit({{"/a/1", "x"}, {"/a/2", "y"}});
  Make(Every(1s));
  Told told;
  ManualExecutor its_own;
  ListenerOptions options{.overflow = OverflowPolicy::kDropAndResync,
                          .capacity = 2,
                          .resync = 1s,
                          .executor = &its_own};
  const auto handle = informer->AddListener(options, told.handler());
  Run();
  its_own.Settle();
  told.Take();
  executor.Advance(1s);  // a round is queued
  Put("1", "a");
  Put("1", "b");
  Put("1", "c");
  executor.Settle();
  its_own.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("1:x>c", "2:y>y"));
  executor.Advance(1s);
  its_own.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("1:c>c", "2:y>y"));
}

}  // namespace
}  // namespace kvorum::sync
