// Listeners that are slow, throw or go (I14 to I16 of docs/sync_behaviours.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/sync/informer/informer_fixture.h"

namespace kvorum::sync {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST_F(SyncInformer, I14_AListenerThatCoalescesGetsTheLatestOfEachKey) {
  Make(Prefix());
  Told slow;
  Told fast;
  const ListenerHandle handle = Listen(slow, {.capacity = 2});
  Listen(fast, {.capacity = 1000});
  Run();
  slow.on_each = [&] {  // all this happens while its handler runs for the first time
    slow.on_each = nullptr;
    for (const char* value : {"b", "c", "d"}) Put("1", value);
    Put("2", "x");
    Delete("2");
    Put("3", "y");
    Put("3", "z");
    Delete("4");
    Put("5", "e");
  };
  Put("4", "gone");
  executor.Settle();
  executor.Settle();
  EXPECT_THAT(fast.Take(), ElementsAre("+4=gone", "+1=b", "1:b>c", "1:c>d", "+2=x", "-2=x", "+3=y",
                                       "3:y>z", "-4=gone", "+5=e"));
  const auto told = slow.Take();
  EXPECT_THAT(told, ElementsAre("+4=gone", "+1=b", "1:b>c", "1:c>d", "+3=z", "-4=gone", "+5=e"));
  EXPECT_EQ(handle.overflows(), 1u);
}

TEST_F(SyncInformer, I14_AListenerThatDropsGetsEverythingAnew) {
  store.Commit({{"/a/1", "a"}, {"/a/2", "b"}, {"/a/3", "c"}});
  Make(Prefix());
  Told told;
  const ListenerHandle handle =
      Listen(told, {.overflow = OverflowPolicy::kDropAndResync, .capacity = 2});
  Run();
  told.Take();
  told.on_each = [&] {
    told.on_each = nullptr;
    for (const char* value : {"b", "c", "d", "e"}) Put("1", value);
    Delete("2");
    Put("4", "new");
  };
  Put("3", "first");
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("3:c>first", "1:a>e", "-2=b", "3:first>first", "+4=new"));
  EXPECT_EQ(handle.overflows(), 1u);
}

TEST_F(SyncInformer, I14_AListenerThatBlocksHoldsTheInformerAndLosesNothing) {
  Make(Prefix());
  Told other;
  Told told;
  ManualExecutor its_own;
  ListenerOptions options{.overflow = OverflowPolicy::kBlock, .capacity = 3, .executor = &its_own};
  const auto handle = informer->AddListener(options, told.handler());
  Listen(other);
  Run();
  its_own.Settle();
  for (int i = 0; i < 200; ++i) Put("1", std::to_string(i));
  executor.Settle();
  EXPECT_THAT(other.log, SizeIs(3));
  EXPECT_EQ(store.untaken(), kWatchWindow);
  for (int i = 0; i < 200; ++i) {
    its_own.Settle();
    executor.Settle();
  }
  EXPECT_THAT(told.log, SizeIs(200));
  EXPECT_THAT(other.log, SizeIs(200));
  EXPECT_EQ(told.log, other.log);
  EXPECT_EQ(Contents(), store.Contents());
}

TEST_F(SyncInformer, I14_AQueueOfManyBytesIsFullLikeOneOfManyChanges) {
  Make(Prefix());
  Told told;
  const ListenerHandle handle = Listen(told, {.capacity = 1000, .capacity_bytes = 6000});
  Run();
  told.on_each = [&] {
    told.on_each = nullptr;
    for (char value = 'a'; value <= 'z'; ++value) Put("1", std::string(1000, value));
  };
  Put("0", "x");
  executor.Settle();
  executor.Settle();
  EXPECT_EQ(handle.overflows(), 1u);
  // Two updates, of two values each, fit after the first value.
  EXPECT_THAT(told.log, SizeIs(5));
  EXPECT_EQ(told.log.back(), "1:" + std::string(1000, 'c') + ">" + std::string(1000, 'z'));
}

TEST_F(SyncInformer, I14_AListenerThatBlocksHoldsTheInformerForItsBytesToo) {
  Make(Prefix());
  Told other;
  Told told;
  ManualExecutor its_own;
  ListenerOptions options{
      .overflow = OverflowPolicy::kBlock, .capacity_bytes = 5000, .executor = &its_own};
  const auto handle = informer->AddListener(options, told.handler());
  Listen(other);
  Run();
  its_own.Settle();
  for (char value = 'a'; value <= 'z'; ++value) Put("1", std::string(1000, value));
  executor.Settle();
  EXPECT_THAT(other.log, SizeIs(3));
  for (int i = 0; i < 26; ++i) {
    its_own.Settle();
    executor.Settle();
  }
  EXPECT_THAT(told.log, SizeIs(26));
}

TEST_F(SyncInformer, I14_ABlockingListenerThatIsRemovedHoldsNobodyUp) {
  Make(Prefix());
  Told other;
  Told told;
  ManualExecutor its_own;
  ListenerOptions options{.overflow = OverflowPolicy::kBlock, .capacity = 3, .executor = &its_own};
  auto handle = informer->AddListener(options, told.handler());
  Listen(other);
  Run();
  for (int i = 0; i < 100; ++i) Put("1", std::to_string(i));
  executor.Settle();
  handle->Remove();
  executor.Settle();
  EXPECT_THAT(other.log, SizeIs(100));
}

TEST_F(SyncInformer, I14_WhateverTheOverflowAListenerEndsWithTheStoresContents) {
  for (const auto policy :
       {OverflowPolicy::kBlock, OverflowPolicy::kCoalesce, OverflowPolicy::kDropAndResync}) {
    Rng rng(static_cast<std::uint64_t>(policy) + 1);
    FakeStore random_store;
    ManualExecutor main;
    ManualExecutor its_own;
    BytesInformer copy(random_store, main, Prefix());
    std::map<std::string, std::string> known;
    using EntryRef = BytesInformer::EntryRef;
    const auto handle = copy.AddListener(
        {.overflow = policy, .capacity = 4, .executor = &its_own},
        {.on_add = [&](const EntryRef& added,
                       bool) { EXPECT_TRUE(known.emplace(added->key(), added->value()).second); },
         .on_update =
             [&](const EntryRef& before, const EntryRef& after) {
               EXPECT_EQ(known[std::string(after->key())], before->value());
               known[std::string(after->key())] = after->value();
             },
         .on_delete =
             [&](const EntryRef& last) {
               EXPECT_EQ(known[std::string(last->key())], last->value());
               known.erase(std::string(last->key()));
             }});
    ASSERT_TRUE(copy.Run());
    for (int step = 0; step < 5000; ++step) {
      const std::string key = "/a/" + std::to_string(rng.Below(20));
      if (rng.OneIn(3)) {
        random_store.Delete(key);
      } else {
        random_store.Put(key, std::to_string(step));
      }
      if (rng.OneIn(500)) {
        random_store.Disconnect();
        random_store.Compact(random_store.Put(key, "before a list"));
        random_store.Connect();
      }
      if (rng.OneIn(3)) main.Settle();
      if (rng.OneIn(20)) its_own.Settle();
    }
    for (int i = 0; i < 2000; ++i) {
      main.Settle();
      its_own.Settle();
    }
    EXPECT_EQ(known, random_store.Contents());
    if (policy != OverflowPolicy::kBlock) {
      EXPECT_GT(handle->overflows(), 10u);
    }
    copy.Stop();
  }
}

TEST_F(SyncInformer, I14_ASlowListenerDelaysNoOther) {
  Make(Prefix());
  std::promise<void> may_return;
  std::promise<void> is_called;
  const auto slow =
      informer->AddListener({.name = "slow"}, {.on_add = [&](const BytesInformer::EntryRef&, bool) {
                              is_called.set_value();
                              may_return.get_future().wait();
                            }});
  Told fast;
  Listen(fast);
  Run();
  Put("1", "x");
  executor.Settle();
  is_called.get_future().wait();
  Put("1", "y");
  executor.Settle();
  EXPECT_THAT(fast.Take(), ElementsAre("+1=x", "1:x>y"));
  may_return.set_value();
  informer->Stop();
}

TEST_F(SyncInformer, I15_WhatAHandlerThrowsIsCountedAndToldAndTheNextItemComes) {
  Make(Prefix());
  Told told;
  told.on_each = [&] {
    if (told.log.back() == "+1=x") throw std::runtime_error("no room on the shelf");
    if (told.log.back() == "+2=x") throw 7;
  };
  const ListenerHandle handle = Listen(told, {.name = "shelf"});
  Run();
  Put("1", "x");
  Put("2", "x");
  Put("3", "x");
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("+1=x", "+2=x", "+3=x"));
  EXPECT_EQ(handle.handler_errors(), 2u);
  EXPECT_THAT(reports, ElementsAre("listener shelf threw: no room on the shelf",
                                   "listener shelf threw something"));
}

TEST_F(SyncInformer, I16_AListenerMayBeRemovedInItsOwnHandlerAndTwice) {
  Make(Prefix());
  Told told;
  std::optional<ListenerHandle> handle;
  told.on_each = [&] {
    handle->Remove();
    handle->Remove();
  };
  handle = Listen(told);
  Run();
  Put("1", "x");
  Put("2", "x");
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("+1=x"));
  handle->Remove();
  Told next;
  Listen(next);
  executor.Settle();
  EXPECT_THAT(next.Take(), ElementsAre("*+1=x", "*+2=x"));
}

TEST_F(SyncInformer, I16_StopWaitsForAHandlerThatRemovedItsListener) {
  Make(Prefix());
  std::promise<void> is_removed;
  std::promise<void> may_return;
  std::atomic<bool> has_returned = false;
  std::optional<ListenerHandle> handle;
  auto added = informer->AddListener({.name = "own thread"},
                                     {.on_add = [&](const BytesInformer::EntryRef&, bool) {
                                       handle->Remove();
                                       is_removed.set_value();
                                       may_return.get_future().wait();
                                       has_returned = true;
                                     }});
  ASSERT_TRUE(added);
  handle = *std::move(added);
  Run();
  Put("1", "x");
  executor.Settle();
  is_removed.get_future().wait();
  std::thread other([&] { may_return.set_value(); });
  informer->Stop();
  EXPECT_TRUE(has_returned);
  other.join();
  handle->Remove();
}

TEST_F(SyncInformer, I16_TwoHandlersMayStopTheInformerAtOnce) {
  Make(Prefix());
  std::latch are_both_inside(2);
  std::latch have_both_stopped(2);
  for (const char* name : {"one", "two"}) {
    ASSERT_TRUE(
        informer->AddListener({.name = name}, {.on_add = [&](const BytesInformer::EntryRef&, bool) {
                                are_both_inside.arrive_and_wait();
                                informer->Stop();
                                have_both_stopped.count_down();
                              }}));
  }
  Run();
  Put("1", "x");
  executor.Settle();
  have_both_stopped.wait();
  informer.reset();  // waits for them
}

TEST_F(SyncInformer, I16_HandlersMayRemoveEachOthersListeners) {
  Make(Prefix());
  std::latch are_both_inside(2);
  std::latch have_both_removed(2);
  std::atomic<int> calls = 0;
  std::vector<ListenerHandle> handles;
  for (const std::size_t other : {1u, 0u}) {
    auto added = informer->AddListener({}, {.on_add = [&, other](const auto&, bool) {
                                         if (++calls > 2) return;
                                         are_both_inside.arrive_and_wait();
                                         handles[other].Remove();
                                         have_both_removed.count_down();
                                       }});
    ASSERT_TRUE(added);
    handles.push_back(*std::move(added));
  }
  Run();
  Put("1", "x");
  executor.Settle();
  have_both_removed.wait();
  Put("2", "x");
  executor.Settle();
  informer.reset();
  EXPECT_EQ(calls, 2);
}

TEST_F(SyncInformer, I16_AHandlerAndAReportMayStopTheInformerAtOnce) {
  ThreadExecutor thread("informer");
  std::latch are_both_inside(2);
  std::latch have_both_stopped(2);
  const auto stop = [&] {
    are_both_inside.arrive_and_wait();
    informer->Stop();
    have_both_stopped.count_down();
  };
  BytesInformer::Options options = Prefix();
  options.filter = [&](std::string_view, const std::string& value) {
    if (value == "bad") stop();
    return true;
  };
  store.Put("/a/1", "x");
  informer.emplace(store, thread, std::move(options));
  ASSERT_TRUE(informer->AddListener({}, {.on_add = [&](const auto&, bool) { stop(); }}));
  ASSERT_TRUE(informer->Run());
  const std::function<void()> put = [&] {  // the store is for one thread
    if (!informer->is_listed()) return thread.Post(put);
    store.Put("/a/2", "bad");
  };
  thread.Post(put);
  have_both_stopped.wait();
  informer.reset();
}

}  // namespace
}  // namespace kvorum::sync
