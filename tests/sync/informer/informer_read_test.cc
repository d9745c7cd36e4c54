// Reads of an informer at a revision (I19, I20 of docs/sync_behaviours.md).
#include <gtest/gtest.h>

#include <string>

#include "tests/sync/informer/informer_fixture.h"

namespace kvorum::sync {
namespace {

TEST_F(SyncInformer, I19_ASnapshotInsideTheWindowDoesNotChange) {
  BytesInformer::Options options = Prefix();
  options.window = 3;
  Make(std::move(options));
  Run();
  const std::int64_t first = store.Put("/a/1", "x");
  store.Put("/b/1", "elsewhere");  // between two revisions of the prefix
  store.Put("/a/1", "y");
  executor.Settle();
  const auto snapshot = informer->Snapshot(first);
  const auto between = informer->Snapshot(first + 1);
  ASSERT_TRUE(snapshot && between);
  for (int i = 0; i < 10; ++i) Put(std::to_string(i), "z");
  executor.Settle();
  EXPECT_EQ(snapshot->size(), 1u);
  EXPECT_EQ(snapshot->Get("/a/1")->value(), "x");
  EXPECT_EQ(between->Get("/a/1")->value(), "x");
  EXPECT_EQ(informer->Snapshot(first).error().message, "the revision has been compacted");
  EXPECT_EQ(informer->Snapshot(informer->revision() + 1).error().code, Code::kOutOfRange);
  ASSERT_TRUE(informer->Snapshot(informer->revision() - 2));
  EXPECT_EQ(informer->Snapshot(informer->revision() - 3).error().code, Code::kOutOfRange);
}

TEST_F(SyncInformer, I19_TheWindowIsBoundedInBytesToo) {
  BytesInformer::Options options = Prefix();
  options.window_bytes = 10'000;
  Make(std::move(options));
  Run();
  for (int i = 0; i < 10; ++i) Put("1", std::string(2000, 'x'));
  executor.Settle();
  const std::int64_t last = informer->revision();
  EXPECT_TRUE(informer->Snapshot(last - 4));  // each keeps a value that was replaced, and an object
  EXPECT_EQ(informer->Snapshot(last - 5).error().message, "the revision has been compacted");
  Delete("1");
  Put("2", std::string(20'000, 'x'));
  executor.Settle();
  EXPECT_TRUE(informer->Snapshot(last - 3)) << "nothing was replaced by the last revision";
  Put("2", "y");
  executor.Settle();
  EXPECT_FALSE(informer->Snapshot(informer->revision() - 1)) << "one value alone was too large";
  EXPECT_TRUE(informer->Snapshot(informer->revision()));
  for (int i = 0; i < 100; ++i) Put("3", "small");
  executor.Settle();
  EXPECT_TRUE(informer->Snapshot(informer->revision() - 99));
}

TEST_F(SyncInformer, I19_WhatWasBetweenTwoListsIsNotThere) {
  Put("1", "x");
  Make(Prefix());
  Run();
  const std::int64_t before = informer->revision();
  store.Disconnect();
  Put("1", "y");
  const std::int64_t missed = store.revision();
  store.Compact(store.Put("/a/1", "z"));
  store.Connect();
  executor.Settle();
  EXPECT_FALSE(informer->Snapshot(before));
  EXPECT_FALSE(informer->Snapshot(missed));
  EXPECT_EQ(informer->Snapshot(missed + 1)->Get("/a/1")->value(), "z");
}

TEST_F(SyncInformer, I20_AConsistentGetWaitsForWhatWasPutBefore) {
  Put("1", "x");
  Make(Prefix());
  Run();
  store.Disconnect();
  Put("1", "y");
  executor.Settle();
  std::optional<Result<ObjectRef>> got;
  informer->core().ConsistentGet("/a/1",
                                 [&](Result<ObjectRef> object) { got = std::move(object); });
  executor.Settle();
  EXPECT_FALSE(got);
  EXPECT_EQ(informer->Get("/a/1")->value(), "x");
  store.Connect();
  executor.Settle();
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->get()->mod_revision(), store.revision());
}

TEST_F(SyncInformer, I20_AConsistentGetWithoutOrderedProgressAsksTheServer) {
  store.set_has_ordered_progress(false);
  Put("1", "x");
  Make(Prefix());
  Run();
  store.Put("/b/1", "elsewhere");
  std::optional<Result<ObjectRef>> got;
  const auto get = [&](const std::string& key) {
    got.reset();
    informer->core().ConsistentGet(key, [&](Result<ObjectRef> object) { got = std::move(object); });
    executor.Settle();
  };
  get("/a/1");
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->get()->key(), "/a/1");
  get("/a/2");
  ASSERT_TRUE(got && *got);
  EXPECT_FALSE(**got);
  EXPECT_EQ(store.progress_requests(), 0);
}

TEST_F(SyncInformer, I20_AConsistentGetIsAnsweredWhenTheInformerStops) {
  Make(Prefix());
  Run();
  store.Disconnect();
  store.Put("/b/1", "elsewhere");
  std::optional<Result<ObjectRef>> got;
  informer->core().ConsistentGet("/a/1",
                                 [&](Result<ObjectRef> object) { got = std::move(object); });
  executor.Settle();
  informer.reset();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error().code, Code::kCanceled);
}

}  // namespace
}  // namespace kvorum::sync
