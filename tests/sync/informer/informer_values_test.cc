// Codecs, transform and filter of an informer (I21 of docs/sync_behaviours.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "proto/kv.pb.h"
#include "sync/store/codec_json.h"
#include "sync/store/codec_protobuf.h"
#include "tests/sync/informer/informer_fixture.h"

namespace kvorum::sync {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(SyncInformer, I21_TheTransformRunsOnceForEachValueThatIsStored) {
  store.Commit({{"/a/1", "x"}, {"/a/2", "y"}});
  BytesInformer::Options options = Prefix();
  int runs = 0;
  options.transform = [&](std::string_view, std::string value) {
    ++runs;
    return value + "!";
  };
  Make(std::move(options));
  Told told;
  Listen(told);
  Told second;
  Listen(second);
  Run();
  EXPECT_THAT(told.Take(), ElementsAre("*+1=x!", "*+2=y!"));
  EXPECT_THAT(second.Take(), SizeIs(2));
  EXPECT_EQ(runs, 2);
  store.Disconnect();  // an unchanged object of a new list is not transformed again
  store.Compact(store.Put("/a/2", "z"));
  store.Connect();
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("2:y!>z!"));
  EXPECT_EQ(runs, 3);
}

TEST_F(SyncInformer, I21_AChangeAcrossTheFilterIsAnAddOrADelete) {
  store.Commit({{"/a/1", "blue"}, {"/a/2", "red"}});
  BytesInformer::Options options = Prefix();
  options.filter = [](std::string_view, const std::string& value) { return value == "red"; };
  Make(std::move(options));
  Told told;
  Listen(told);
  Run();
  EXPECT_THAT(told.Take(), ElementsAre("*+2=red"));
  Put("1", "red");
  Put("2", "blue");
  Put("2", "green");
  Delete("2");
  executor.Settle();
  EXPECT_THAT(told.Take(), ElementsAre("+1=red", "-2=red"));
  EXPECT_THAT(Contents(), ElementsAre(std::pair("/a/1", "red")));
}

TEST_F(SyncInformer, AValueThatDoesNotDecodeIsReportedAndTheRestGoesOn) {
  store.Commit({{"/a/1", "{\"n\": 1}"}, {"/a/2", "{"}});
  Informer<JsonCodec>::Options options;
  options.source = Prefix().source;
  options.on_report = Prefix().on_report;
  Informer<JsonCodec> json(store, executor, std::move(options));
  ASSERT_TRUE(json.Run());
  executor.Settle();
  EXPECT_EQ(json.Get("/a/1")->value()["n"], 1);
  EXPECT_FALSE(json.Get("/a/2"));
  EXPECT_THAT(reports, ElementsAre("key /a/2: not a JSON document"));
  store.Put("/a/1", "?");  // the previous value is believed no more
  store.Put("/a/2", "[2]");
  executor.Settle();
  EXPECT_FALSE(json.Get("/a/1"));
  EXPECT_EQ(json.Get("/a/2")->value()[0], 2);
}

TEST_F(SyncInformer, ValuesMayBeProtobufMessages) {
  mvccpb::KeyValue message;
  message.set_key("inner");
  store.Put("/a/1", message.SerializeAsString());
  store.Put("/a/2", "\xff\xff");
  Informer<ProtobufCodec<mvccpb::KeyValue>>::Options options;
  options.source = Prefix().source;
  options.on_report = Prefix().on_report;
  Informer<ProtobufCodec<mvccpb::KeyValue>> copy(store, executor, std::move(options));
  ASSERT_TRUE(copy.Run());
  executor.Settle();
  EXPECT_EQ(copy.Get("/a/1")->value().key(), "inner");
  EXPECT_THAT(reports, ElementsAre("key /a/2: not a message of type mvccpb.KeyValue"));
}

// Throws at some bytes.
struct TouchyCodec {
  using Value = std::string;
  static Result<std::string> Decode(std::string_view bytes) {
    if (bytes == "codec") throw std::runtime_error("no codec");
    return std::string(bytes);
  }
};

TEST_F(SyncInformer, I15_WhatAFunctionOfValuesThrowsIsReportedAndCountedAndTheRestGoesOn) {
  Metrics metrics;
  Informer<TouchyCodec>::Options options;
  options.source = Prefix().source;
  options.source.metrics = &metrics;
  options.on_report = Prefix().on_report;
  options.transform = [](std::string_view, std::string value) {
    if (value == "transform") throw std::runtime_error("no transform");
    return value;
  };
  options.filter = [](std::string_view, const std::string& value) {
    if (value == "filter") throw 7;
    return true;
  };
  Informer<TouchyCodec> copy(store, executor, std::move(options));
  store.Commit({{"/a/1", "codec"}, {"/a/2", "x"}});
  ASSERT_TRUE(copy.Run());
  executor.Settle();
  store.Commit({{"/a/2", "transform"}, {"/a/3", "filter"}, {"/a/4", "y"}});
  executor.Settle();
  EXPECT_THAT(reports, ElementsAre("key /a/1: threw: no codec", "key /a/2: threw: no transform",
                                   "key /a/3: threw something"));
  EXPECT_EQ(copy.List().size(), 1u);
  EXPECT_TRUE(copy.Get("/a/4"));
  EXPECT_THAT(metrics.Text(), HasSubstr("kvsync_informer_value_errors_total 3\n"));
  store.set_has_ordered_progress(false);  // the value comes from the store, beside the copy
  store.Put("/b/1", "elsewhere");
  std::optional<Result<ObjectRef>> got;
  copy.core().ConsistentGet("/a/1", [&](Result<ObjectRef> object) { got = std::move(object); });
  executor.Settle();
  ASSERT_TRUE(got && !*got);
  EXPECT_EQ(got->error().message, "threw: no codec");
}

TEST_F(SyncInformer, AReportMayStopTheInformer) {
  store.Commit({{"/a/1", "{"}, {"/a/2", "{"}, {"/a/3", "{"}});
  Informer<JsonCodec>::Options options;
  options.source = Prefix().source;
  options.source.page_keys = 2;
  std::optional<Informer<JsonCodec>> json;
  options.on_report = [&](const std::string& text) {
    reports.push_back(text);
    json->Stop();
  };
  json.emplace(store, executor, std::move(options));
  ASSERT_TRUE(json->Run());
  executor.Settle();
  EXPECT_THAT(reports, SizeIs(1));
  EXPECT_FALSE(json->is_listed());
}

}  // namespace
}  // namespace kvorum::sync
