// The behaviours of the source (S1 to S12 of docs/sync_behaviours.md) that need no real server.
#include "sync/informer/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sync/kernel/metrics.h"
#include "tests/sync/fake_store.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Writes down its input, and keeps the copy that it makes.
class Recorder final : public SourceSink {
 public:
  void OnListBegin(std::int64_t revision) override {
    copy.clear();
    Log("list " + std::to_string(revision));
  }
  void OnListPage(std::vector<KeyValue> kvs) override {
    if (on_kvs) on_kvs(kvs);
    for (KeyValue& kv : kvs) copy[kv.key] = kv.value;
    Log("page " + std::to_string(kvs.size()));
    if (on_page) on_page();
  }
  void OnListEnd() override { Log("listed"); }
  void OnRevision(std::int64_t revision, std::vector<Event> events) override {
    std::string line = std::to_string(revision) + ":";
    for (Event& event : events) {
      line += (event.is_delete ? " -" : " +") + event.kv.key;
      if (event.prev.mod_revision != 0) line += "(" + event.prev.value + ")";
      if (event.is_delete) {
        copy.erase(event.kv.key);
      } else {
        copy[event.kv.key] = event.kv.value;
      }
    }
    Log(line);
  }
  void OnProgress(std::int64_t revision) override { Log("progress " + std::to_string(revision)); }
  void OnError(const Error& error) override { errors.push_back(error.message); }
  bool is_ready() override { return ready; }

  std::vector<std::string> TakeLog() { return std::exchange(log, {}); }

  bool ready = true;
  std::function<void()> on_page;
  std::function<void(const std::vector<KeyValue>& kvs)> on_kvs;
  std::function<void()> on_each;
  std::vector<std::string> log;
  std::vector<std::string> errors;
  std::map<std::string, std::string> copy;

 private:
  void Log(std::string line) {
    log.push_back(std::move(line));
    if (on_each) on_each();
  }
};

class SyncSource : public testing::Test {
 protected:
  void Start(SourceOptions options = {}) {
    options.prefix = "/a/";
    options.seed = 1;
    options.with_previous = true;
    source.emplace(store, executor, sink, std::move(options));
    source->Start();
    executor.Settle();
  }
  // True once everything up to the revision has been delivered; an error's text otherwise.
  void Wait(std::int64_t revision) {
    reached.reset();
    source->WaitForRevision(revision, [&](Result<void> done) { reached = std::move(done); });
    executor.Settle();
  }

  FakeStore store;
  ManualExecutor executor;
  Recorder sink;
  std::optional<Source> source;
  std::optional<Result<void>> reached;
};

TEST_F(SyncSource, S1_AListIsOneRevisionAlthoughWritesGoOnBetweenPages) {
  store.Commit({{"/a/1", "x"}, {"/a/2", "x"}, {"/a/3", "x"}, {"/a/4", "x"}, {"/a/5", "x"}});
  store.Put("/b/1", "elsewhere");
  int pages = 0;
  sink.on_page = [&] {
    ++pages;
    store.Commit({{"/a/2", "new"}, {"/a/5", std::nullopt}, {"/a/6", "y"}});
    if (pages == 1) sink.on_page = nullptr;
  };
  Start({.page_keys = 2});
  EXPECT_THAT(sink.TakeLog(), ElementsAre("list 3", "page 2", "page 2", "page 1", "listed",
                                          "4: +/a/2(x) -/a/5(x) +/a/6"));
  EXPECT_THAT(sink.copy,
              ElementsAre(std::pair("/a/1", "x"), std::pair("/a/2", "new"), std::pair("/a/3", "x"),
                          std::pair("/a/4", "x"), std::pair("/a/6", "y")));
}

TEST_F(SyncSource, S1_AListWhoseRevisionIsCompactedBetweenPagesBeginsAgain) {
  for (int i = 0; i < 5; ++i) store.Put("/a/" + std::to_string(i), "x");
  sink.on_page = [&] {
    store.Compact(store.Put("/a/1", "y"));
    sink.on_page = nullptr;
  };
  Metrics metrics;
  Start({.page_keys = 3, .metrics = &metrics});
  EXPECT_THAT(sink.TakeLog(), ElementsAre("list 6", "page 3"));
  executor.Advance(1s);
  EXPECT_THAT(sink.TakeLog(), ElementsAre("list 7", "page 3", "page 2", "listed"));
  EXPECT_THAT(metrics.Text(), HasSubstr("{reason=\"compacted\"} 1\n"));
}

TEST_F(SyncSource, S3_EachRevisionIsOneBatch) {
  Start();
  sink.TakeLog();
  store.Disconnect();
  store.Commit({{"/a/1", "x"}, {"/b/1", "x"}, {"/a/2", "x"}});
  store.Commit({{"/a/1", "y"}, {"/a/2", std::nullopt}});
  store.Connect();
  executor.Settle();
  EXPECT_THAT(sink.TakeLog(), ElementsAre("2: +/a/1 +/a/2", "3: +/a/1(x) -/a/2(x)"));
}

TEST_F(SyncSource, S4_ACompactionDuringADisconnectMakesItListAgain) {
  store.Commit({{"/a/1", "x"}, {"/a/2", "x"}});
  Metrics metrics;
  Start({.metrics = &metrics});
  sink.TakeLog();
  store.Disconnect();
  store.Commit({{"/a/1", std::nullopt}, {"/a/2", "y"}});
  store.Compact(store.Put("/a/3", "z"));
  store.Connect();
  executor.Settle();
  EXPECT_THAT(sink.TakeLog(), ElementsAre("list 4", "page 2", "listed"));
  EXPECT_EQ(sink.copy, store.Contents());
  EXPECT_THAT(metrics.Text(), HasSubstr("kvsync_source_relists_total{reason=\"compacted\"} 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("kvsync_source_relists_total{reason=\"start\"} 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("kvsync_source_revision{prefix=\"/a/\"} 4\n"));
}

TEST_F(SyncSource, S5_AWatchThatEndedGoesOnAtItsRevisionAndListsNothing) {
  Start();
  store.Put("/a/1", "x");
  executor.Settle();
  sink.TakeLog();
  store.EndWatches({Code::kUnavailable, "etcdserver: no leader"});
  executor.Settle();
  EXPECT_EQ(store.open_watches(), 0);
  store.Put("/a/1", "y");
  executor.Advance(1s);
  EXPECT_THAT(sink.TakeLog(), ElementsAre("3: +/a/1(x)"));
  EXPECT_THAT(sink.errors, ElementsAre("etcdserver: no leader"));
  EXPECT_EQ(store.ranges(), 1);
  EXPECT_EQ(store.last_watch_from(), 3);
}

TEST_F(SyncSource, S6_ANotificationMovesTheKnownRevisionWithoutEvents) {
  Start();
  sink.TakeLog();
  EXPECT_EQ(source->revision(), 1);
  store.Put("/b/1", "elsewhere");
  store.NotifyProgress();
  store.NotifyProgress();
  executor.Settle();
  EXPECT_EQ(source->revision(), 2);
  EXPECT_THAT(sink.TakeLog(), ElementsAre("progress 2"));
  // The next watch begins behind it.
  store.EndWatches({Code::kUnavailable, "gone"});
  executor.Advance(1s);
  EXPECT_EQ(store.last_watch_from(), 3);
}

TEST_F(SyncSource, S7_WaitingForARevisionTakesOneProgressRequestOnAnIdlePrefix) {
  Start();
  store.Put("/b/1", "elsewhere");
  Wait(2);
  ASSERT_TRUE(reached);
  EXPECT_TRUE(*reached);
  EXPECT_EQ(store.progress_requests(), 1);
  Wait(2);
  EXPECT_TRUE(reached && *reached);
  EXPECT_EQ(store.progress_requests(), 1);
}

TEST_F(SyncSource, S7_ARequestThatWentLostIsRepeated) {
  Start();
  store.Put("/b/1", "elsewhere");
  store.Disconnect();
  Wait(2);
  executor.Advance(1s);
  EXPECT_FALSE(reached);
  store.Connect();
  executor.Advance(500ms);
  EXPECT_TRUE(reached && *reached);
}

TEST_F(SyncSource, S7_AWaitDuringTheFirstListIsAnsweredByIt) {
  store.Put("/a/1", "x");
  store.HoldRanges();
  Start();
  Wait(2);
  EXPECT_FALSE(reached);
  store.LetGo();
  executor.Settle();
  EXPECT_TRUE(reached && *reached);
  EXPECT_EQ(store.progress_requests(), 0);
}

TEST_F(SyncSource, S7_AServerWhoseProgressOvertakesEventsIsNotAsked) {
  store.set_has_ordered_progress(false);
  Start();
  store.Put("/b/1", "elsewhere");
  Wait(2);
  ASSERT_TRUE(reached);
  EXPECT_EQ(reached->error().code, Code::kUnimplemented);
  EXPECT_EQ(store.progress_requests(), 0);
  store.Put("/a/1", "x");
  Wait(3);
  EXPECT_TRUE(reached && *reached);
}

TEST_F(SyncSource, S7_AWaitEndsWithTheSource) {
  Start();
  store.Disconnect();
  Wait(100);
  source->Stop();
  ASSERT_TRUE(reached);
  EXPECT_EQ(reached->error().code, Code::kCanceled);
  Wait(1);
  ASSERT_TRUE(reached);
  EXPECT_EQ(reached->error().code, Code::kCanceled);
}

TEST_F(SyncSource, S8_ProgressIsAskedForOnlyWhileSomebodyWaits) {
  store.IgnoreProgressRequests();
  Start();
  executor.Advance(1h);
  EXPECT_EQ(store.progress_requests(), 0);
  Wait(2);
  executor.Advance(5s - 1ns);
  EXPECT_EQ(store.progress_requests(), 10);
  store.Put("/a/1", "x");
  executor.Settle();
  EXPECT_TRUE(reached && *reached);
  executor.Advance(1h);
  EXPECT_EQ(store.progress_requests(), 10);
}

TEST_F(SyncSource, S10_ARefusedListIsToldAndTriedAgainWithGrowingPauses) {
  store.FailRanges({Code::kPermissionDenied, "etcdserver: permission denied"}, 1'000'000);
  Start();
  EXPECT_THAT(sink.errors, ElementsAre("etcdserver: permission denied"));
  executor.Advance(1h);
  // The pauses are 15 s on average once they have grown.
  EXPECT_GT(store.ranges(), 150);
  EXPECT_LT(store.ranges(), 400);
  EXPECT_THAT(sink.log, IsEmpty());
  store.FailRanges({}, 0);
  executor.Advance(30s);
  EXPECT_THAT(sink.log, ElementsAre("list 1", "page 0", "listed"));
}

TEST_F(SyncSource, S10_ARefusedWatchIsToldAndTriedAgainWithoutAList) {
  store.FailWatches({Code::kPermissionDenied, "etcdserver: permission denied"}, 1'000'000);
  Start();
  executor.Advance(1h);
  EXPECT_GT(store.watches(), 150);
  EXPECT_LT(store.watches(), 400);
  EXPECT_EQ(store.ranges(), 1);
  EXPECT_EQ(sink.errors.size(), static_cast<std::size_t>(store.watches()));
}

TEST_F(SyncSource, S12_AListOf100000KeysHoldsOnePageAtATime) {
  std::vector<FakeStore::Write> writes;
  for (int i = 0; i < 100'000; ++i) writes.emplace_back("/a/" + std::to_string(i), "x");
  store.Commit(writes);
  Start();
  EXPECT_EQ(store.largest_range(), 1000u);
  // 16, 32 and so on up to 512 keys, and 99 of 1,000.
  EXPECT_EQ(store.ranges(), 105);
  EXPECT_EQ(sink.copy.size(), 100'000u);
}

TEST_F(SyncSource, S12_TheFirstPageIsSmallSinceNobodyKnowsItsValues) {
  std::vector<FakeStore::Write> writes;
  for (int i = 100; i < 140; ++i)
    writes.emplace_back("/a/" + std::to_string(i), std::string(100'000, 'x'));
  store.Commit(writes);
  Start({.page_bytes = 800'000});
  EXPECT_THAT(sink.TakeLog(),
              ElementsAre("list 2", "page 16", "page 7", "page 7", "page 7", "page 3", "listed"));
}

TEST_F(SyncSource, S12_APageThatIsNoMessageIsAskedForInHalves) {
  std::vector<FakeStore::Write> writes;
  for (int i = 100; i < 120; ++i)
    writes.emplace_back("/a/" + std::to_string(i), std::string(1000, 'x'));
  for (int i = 120; i < 150; ++i) writes.emplace_back("/a/" + std::to_string(i), "x");
  store.Commit(writes);
  store.RefuseAnswersAbove(4000);
  Start();
  // 16, 8 and 4 were too much; no pause is needed for that.
  EXPECT_EQ(sink.log.at(1), "page 2");
  EXPECT_EQ(sink.log.back(), "listed");
  EXPECT_EQ(sink.copy, store.Contents());
  EXPECT_THAT(sink.errors, IsEmpty());
}

TEST_F(SyncSource, S12_AKeyThatIsNoMessageIsAnError) {
  store.Put("/a/1", std::string(5000, 'x'));
  store.RefuseAnswersAbove(4000);
  Start();
  EXPECT_THAT(sink.errors, ElementsAre("the answer is too large"));
  EXPECT_EQ(store.ranges(), 5);
  store.RefuseAnswersAbove(6000);
  executor.Advance(1s);
  EXPECT_EQ(sink.copy, store.Contents());
}

TEST_F(SyncSource, S12_APageAfterOneOfManyBytesIsSmaller) {
  std::vector<FakeStore::Write> writes;
  for (int i = 100; i < 120; ++i)
    writes.emplace_back("/a/" + std::to_string(i), std::string(1000, 'x'));
  for (int i = 120; i < 150; ++i) writes.emplace_back("/a/" + std::to_string(i), "x");
  store.Commit(writes);
  Start({.page_keys = 10, .page_bytes = 2500});
  EXPECT_THAT(sink.TakeLog(),
              ElementsAre("list 2", "page 10", "page 2", "page 2", "page 2", "page 2", "page 2",
                          "page 2", "page 4", "page 8", "page 10", "page 6", "listed"));
  EXPECT_EQ(sink.copy.size(), 50u);
}

TEST_F(SyncSource, APageIsMovedToTheSink) {
  store.Commit({{"/a/1", "x"}, {"/a/2", "x"}});
  const KeyValue* delivered = nullptr;
  sink.on_kvs = [&](const std::vector<KeyValue>& kvs) { delivered = kvs.data(); };
  Start();
  ASSERT_NE(delivered, nullptr);
  EXPECT_EQ(delivered, store.last_range());
}

TEST_F(SyncSource, ValuesFromBeforeComeOnDemandAlone) {
  store.Put("/a/1", "x");
  Source without(store, executor, sink, {.prefix = "/a/", .seed = 1});
  without.Start();
  executor.Settle();
  store.Put("/a/1", "y");
  executor.Settle();
  EXPECT_EQ(sink.log.back(), "3: +/a/1");
}

TEST_F(SyncSource, ASinkThatIsNotReadyHoldsBackPagesAndTheWindowOfBatches) {
  for (int i = 0; i < 10; ++i) store.Put("/a/" + std::to_string(i), "x");
  sink.on_page = [&] { sink.ready = false; };
  Start({.page_keys = 5});
  executor.Advance(1min);
  EXPECT_THAT(sink.TakeLog(), ElementsAre("list 11", "page 5"));
  EXPECT_EQ(store.ranges(), 2);
  sink.on_page = nullptr;
  sink.ready = true;
  source->Resume();
  executor.Settle();
  EXPECT_THAT(sink.TakeLog(), ElementsAre("page 5", "listed"));

  sink.ready = false;
  for (int i = 0; i < 3 * kWatchWindow; ++i) store.Put("/a/1", std::to_string(i));
  executor.Settle();
  EXPECT_EQ(store.untaken(), kWatchWindow);
  EXPECT_THAT(sink.TakeLog(), IsEmpty());
  sink.ready = true;
  source->Resume();
  executor.Settle();
  EXPECT_EQ(sink.TakeLog().size(), static_cast<std::size_t>(3 * kWatchWindow));
  EXPECT_EQ(store.untaken(), 0);
  EXPECT_EQ(sink.copy, store.Contents());
}

TEST_F(SyncSource, AfterStopTheSinkHearsNothing) {
  Start();
  store.Put("/a/1", "x");  // is on its way
  source->Stop();
  EXPECT_EQ(store.open_watches(), 0);
  executor.Advance(1h);
  EXPECT_THAT(sink.log, ElementsAre("list 1", "page 0", "listed"));
}

TEST_F(SyncSource, AfterStopInACallbackTheSinkHearsNothing) {
  for (std::size_t last = 1; last <= 6; ++last) {
    FakeStore its_store;
    Recorder its_sink;
    its_store.Commit({{"/a/1", "x"}, {"/a/2", "x"}, {"/a/3", "x"}});
    Source stopped(its_store, executor, its_sink,
                   {.prefix = "/a/", .page_keys = 2, .with_previous = true, .seed = 1});
    its_sink.on_each = [&] {
      if (its_sink.log.size() == last) stopped.Stop();
      if (its_sink.log.back() != "listed") return;
      its_store.Put("/a/1", "y");
      its_store.Put("/a/1", "z");
    };
    stopped.Start();
    executor.Advance(1h);
    const std::vector<std::string> all = {"list 2", "page 2",      "page 1",
                                          "listed", "3: +/a/1(x)", "4: +/a/1(y)"};
    EXPECT_EQ(its_sink.log, std::vector(all.begin(), all.begin() + std::ssize(its_sink.log)));
    EXPECT_EQ(its_sink.log.size(), last);
    EXPECT_EQ(its_store.open_watches(), 0);
  }
}

}  // namespace
}  // namespace kvorum::sync
