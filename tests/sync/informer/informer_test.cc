// An informer keeps its copy equal to the store and tells its listeners (I1 to I4, I17, I18 of
// docs/sync_behaviours.md); what needs no real server.
#include "sync/informer/informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/kernel/metrics.h"
#include "tests/sync/informer/informer_fixture.h"

namespace kvorum::sync {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(SyncInformer, I1_InitialAddsAreMarkedAndSyncedComesAfterTheLastHasReturned) {
  store.Commit({{"/a/1", "x"}, {"/a/2", "y"}, {"/b/1", "elsewhere"}});
  Make(Prefix());
  Told told;
  const ListenerHandle handle =
      Listen(told, {.on_synced = [&] { told.log.emplace_back("synced"); }});
  told.on_each = [&] { EXPECT_FALSE(handle.is_synced()); };
  Run();
  EXPECT_THAT(told.Take(), ElementsAre("*+1=x", "*+2=y", "synced"));
  EXPECT_TRUE(handle.is_synced());
  told.on_each = nullptr;
  Put("3", "z");
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("+3=z"));
}

TEST_F(SyncInformer, I1_AnEmptyPrefixIsSyncedAtOnce) {
  Make(Prefix());
  Told told;
  const ListenerHandle handle =
      Listen(told, {.on_synced = [&] { told.log.emplace_back("synced"); }});
  EXPECT_FALSE(handle.is_synced());
  Run();
  EXPECT_THAT(told.Take(), ElementsAre("synced"));
  EXPECT_TRUE(handle.is_synced());
}

TEST_F(SyncInformer, I2_ALateListenerGetsEveryObjectOnceAndThenWhatIsNewer) {
  store.Commit({{"/a/1", "x"}, {"/a/2", "y"}});
  Make(Prefix());
  Run();
  Put("2", "z");
  executor.Settle();
  Told told;
  Listen(told);
  Put("1", "w");  // on its way while the listener is being added
  Delete("2");
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("*+1=x", "*+2=z", "1:x>w", "-2=z"));
}

TEST_F(SyncInformer, I2_AChangeDuringTheInitialAddsComesAfterThem) {
  store.Commit({{"/a/1", "x"}, {"/a/2", "y"}});
  Make(Prefix());
  Run();
  Told told;
  told.on_each = [&] {
    told.on_each = nullptr;
    Put("2", "z");
    Delete("1");
  };
  Listen(told);
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("*+1=x", "*+2=y", "2:y>z", "-1=x"));
}

TEST_F(SyncInformer, I3_UpdatesHaveBothValuesAndDeletesTheLast) {
  Make(Prefix());
  Told told;
  Listen(told);
  Run();
  Put("1", "x");
  Put("1", "y");
  Delete("1");
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("+1=x", "1:x>y", "-1=y"));
}

TEST_F(SyncInformer, I3_AMissedDeleteIsTold) {
  Put("1", "x");
  Make(Prefix());
  Told told;
  Listen(told);
  Run();
  told.Take();
  store.Disconnect();
  Delete("1");
  store.Compact(store.Put("/b/1", "elsewhere"));
  store.Connect();
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("-1=x"));
}

class ADisconnectedInformer : public SyncInformer {
 protected:
  // A value, and three changes of it that no watch has delivered.
  ADisconnectedInformer() {
    Put("1", "x");
    Make(Prefix());
    Listen(told);
    Run();
    told.Take();
    store.Disconnect();
    Put("1", "y");
    Delete("1");
    Put("1", "z");
  }

  Told told;
};

TEST_F(ADisconnectedInformer, I4_PutDeletePutDuringADisconnectIsOneUpdate) {
  store.Compact(store.revision());
  store.Connect();
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("1:x>z"));
  EXPECT_EQ(Contents(), store.Contents());
  EXPECT_EQ(informer->Get("/a/1")->create_revision(), store.revision());
}

TEST_F(ADisconnectedInformer, I4_WithoutACompactionEachStepIsTold) {
  store.Connect();
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("1:x>y", "-1=y", "+1=z"));
  EXPECT_EQ(store.ranges(), 1);
}

TEST_F(SyncInformer, I17_RunningTwiceAndAddingAfterStopAreErrors) {
  Make(Prefix());
  Run();
  EXPECT_EQ(informer->Run().error().code, Code::kFailedPrecondition);
  informer->Stop();
  EXPECT_EQ(informer->Run().error().code, Code::kFailedPrecondition);
  EXPECT_EQ(informer->AddListener({}, {}).error().code, Code::kFailedPrecondition);
}

TEST_F(SyncInformer, I18_AListWithUnchangedObjectsTellsNothing) {
  store.Commit({{"/a/1", "x"}, {"/a/2", "y"}});
  Make(Prefix());
  Told told;
  Listen(told);
  Run();
  told.Take();
  const auto before = informer->Get("/a/1");
  store.Disconnect();
  store.Compact(store.Put("/b/1", "elsewhere"));
  store.Connect();
  executor.Settle();
  EXPECT_EQ(store.ranges(), 2);
  EXPECT_THAT(told.Take(), IsEmpty());
  EXPECT_EQ(informer->Get("/a/1"), before);
}

TEST_F(SyncInformer, ItsMetricsTellObjectsAndQueues) {
  Metrics metrics;
  BytesInformer::Options options = Prefix();
  options.source.metrics = &metrics;
  Make(std::move(options));
  Told told;
  ManualExecutor its_own;
  const auto handle = informer->AddListener({.name = "l1", .executor = &its_own}, told.handler());
  Run();
  its_own.Settle();
  Put("1", "x");
  Put("2", "y");
  executor.Settle();
  EXPECT_THAT(metrics.Text(), HasSubstr("\nkvsync_informer_objects 2\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("\nkvsync_informer_queue_length{listener=\"l1\"} 2\n"));
}

}  // namespace
}  // namespace kvorum::sync
