#include "archive/store/retrying_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <utility>

#include "base/digest/sha256.h"
#include "tests/archive/store/clocked_stop.h"

namespace kvorum::archive {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Objects in memory, with errors ordered for calls to come.
class ScriptedStore final : public ObjectStore {
 public:
  struct Fault {
    StoreErrorKind kind = StoreErrorKind::kUnavailable;
    bool was_done = false;     // a Put or Delete had its effect
    std::size_t progress = 0;  // bytes that a Get gives, keys that a List gives, before it
  };

  StoreResult<void> Put(const std::string& key, std::string_view bytes,
                        const PutOptions& options) override {
    ++calls;
    const auto fault = NextFault();
    if (fault.has_value() && !fault->was_done) return Failed(*fault);
    if (options.if_absent && objects.contains(key))
      return StoreFail(StoreErrorKind::kExists, "exists");
    objects[key] = bytes;
    if (fault.has_value()) return Failed(*fault);
    return {};
  }
  StoreResult<ObjectInfo> Get(const std::string& key, const GetOptions& options,
                              const PieceSink& sink) override {
    ++calls;
    const auto fault = NextFault();
    const auto found = objects.find(key);
    if (found == objects.end()) return StoreFail(StoreErrorKind::kAbsent, "absent");
    if (!options.version.empty() && options.version != version) {
      return StoreFail(StoreErrorKind::kConflict, "another version");
    }
    const std::string part =
        found->second.substr(options.offset, options.length.value_or(std::string::npos));
    if (fault.has_value() && fault->progress == 0) return Failed(*fault);
    const ObjectInfo info = InfoOf(found->second);
    if (options.on_begin) options.on_begin(info);
    const std::size_t size = fault.has_value() ? fault->progress : part.size();
    for (std::size_t at = 0; at < size; at += 2) {
      KV_RETURN_IF_ERROR(
          sink(std::string_view(part).substr(at, std::min<std::size_t>(2, size - at))));
    }
    if (fault.has_value()) return Failed(*fault);
    return info;
  }
  StoreResult<ObjectInfo> Head(const std::string& key) override {
    ++calls;
    if (const auto fault = NextFault(); fault.has_value()) return Failed(*fault);
    const auto found = objects.find(key);
    if (found == objects.end()) return StoreFail(StoreErrorKind::kAbsent, "absent");
    return InfoOf(found->second);
  }
  StoreResult<void> List(const ListOptions& options, const ListSink& sink) override {
    ++calls;
    const auto fault = NextFault();
    std::size_t given = 0;
    for (auto it = objects.upper_bound(options.after); it != objects.end(); ++it) {
      if (fault.has_value() && given++ == fault->progress) return Failed(*fault);
      if (!sink(it->first, it->second.size())) return {};
    }
    return {};
  }
  StoreResult<std::vector<DeleteFailure>> Delete(std::span<const std::string> keys) override {
    ++calls;
    if (const auto fault = NextFault(); fault.has_value()) return Failed(*fault);
    std::vector<DeleteFailure> failures;
    for (const std::string& key : keys) {
      const auto stuck = undeletable.find(key);
      if (stuck == undeletable.end()) {
        objects.erase(key);
        continue;
      }
      failures.push_back({key, {stuck->second, "not deleted"}});
      if (MayPass(stuck->second)) undeletable.erase(stuck);
    }
    return failures;
  }
  void RenewConnection() override { ++renewed; }
  const std::string& name() const override { return name_; }

  std::map<std::string, std::string> objects;
  std::map<std::string, StoreErrorKind> undeletable;
  std::deque<Fault> faults;
  std::string version = "v1";
  bool keeps_sha256 = true;
  int calls = 0;
  int renewed = 0;

 private:
  std::optional<Fault> NextFault() {
    if (faults.empty()) return std::nullopt;
    const Fault fault = faults.front();
    faults.pop_front();
    return fault;
  }
  static std::unexpected<StoreError> Failed(const Fault& fault) {
    return StoreFail(fault.kind, std::string(StoreErrorName(fault.kind)));
  }
  ObjectInfo InfoOf(const std::string& bytes) const {
    Sha256 digest;
    digest.Add(bytes);
    return {.size_bytes = bytes.size(),
            .version = version,
            .sha256 = keeps_sha256 ? digest.Finish() : "",
            .lock = {}};
  }

  const std::string name_ = "scripted";
};

class RetryingStoreTest : public testing::Test {
 protected:
  RetryingStoreTest() {
    auto inner = std::make_unique<ScriptedStore>();
    inner_ = inner.get();
    RetryOptions options;
    options.seed = 1;
    options.on_retry = [this](const StoreError&, Duration) { ++told_; };
    store_ = std::make_unique<RetryingStore>(std::move(inner), clock_, stop_, options);
  }

  StoreResult<std::string> Read(const GetOptions& options) {
    std::string content;
    KV_RETURN_IF_ERROR(store_->Get("k", options, [&](std::string_view piece) -> StoreResult<void> {
      content += piece;
      return {};
    }));
    return content;
  }

  ManualClock clock_;
  ClockedStop stop_{clock_};
  ScriptedStore* inner_ = nullptr;
  std::unique_ptr<RetryingStore> store_;
  int told_ = 0;
};

TEST_F(RetryingStoreTest, PausesDoubleWithJitterAndTheConnectionIsRenewed) {
  inner_->faults = {{StoreErrorKind::kUnavailable},
                    {StoreErrorKind::kUnavailable},
                    {StoreErrorKind::kConflict},
                    {StoreErrorKind::kUnavailable}};
  ASSERT_TRUE(store_->Put("k", "x", {}).has_value());
  EXPECT_EQ(inner_->objects.at("k"), "x");
  EXPECT_EQ(inner_->renewed, 4);
  EXPECT_EQ(told_, 4);
  ASSERT_THAT(stop_.waits(), SizeIs(4));
  for (std::size_t i = 0; i < 4; ++i) {
    const Duration most = milliseconds(200) * (1 << i);
    EXPECT_GE(stop_.waits()[i], most / 2) << i;
    EXPECT_LE(stop_.waits()[i], most) << i;
  }
}

TEST_F(RetryingStoreTest, AThrottledCallWaitsLonger) {
  inner_->faults = {{StoreErrorKind::kThrottled}};
  ASSERT_TRUE(store_->Put("k", "x", {}).has_value());
  EXPECT_GE(stop_.waits().at(0), milliseconds(500));
}

TEST_F(RetryingStoreTest, ItGivesUpAfterItsTimeAndNoPauseIsLongerThanTheBound) {
  for (int i = 0; i < 1000; ++i) inner_->faults.push_back({StoreErrorKind::kUnavailable});
  const TimePoint begun = clock_.Now();
  EXPECT_EQ(store_->Put("k", "x", {}).error().kind, StoreErrorKind::kUnavailable);
  EXPECT_LE(clock_.Now() - begun, std::chrono::minutes(2));
  EXPECT_GE(clock_.Now() - begun, std::chrono::minutes(1));
  for (const Duration wait : stop_.waits()) EXPECT_LE(wait, seconds(20));
}

TEST_F(RetryingStoreTest, WhatWillNotPassIsReturnedAtOnce) {
  for (const StoreErrorKind kind :
       {StoreErrorKind::kAbsent, StoreErrorKind::kExists, StoreErrorKind::kDenied,
        StoreErrorKind::kClockSkew, StoreErrorKind::kLocked, StoreErrorKind::kFull,
        StoreErrorKind::kDamaged, StoreErrorKind::kInvalid, StoreErrorKind::kStopped}) {
    inner_->faults = {{kind}};
    EXPECT_EQ(store_->Put("k", "x", {}).error().kind, kind);
  }
  EXPECT_THAT(stop_.waits(), IsEmpty());
}

TEST_F(RetryingStoreTest, AStopEndsAPause) {
  inner_->faults = {{StoreErrorKind::kUnavailable},
                    {StoreErrorKind::kUnavailable},
                    {StoreErrorKind::kUnavailable}};
  stop_.StopAtWait(2);
  EXPECT_EQ(store_->Put("k", "x", {}).error().kind, StoreErrorKind::kStopped);
  EXPECT_EQ(inner_->calls, 2);
}

TEST_F(RetryingStoreTest, AnOwnPutWhoseAnswerWasLostIsASuccess) {
  for (const bool keeps_sha256 : {true, false}) {
    inner_->objects.clear();
    inner_->keeps_sha256 = keeps_sha256;
    inner_->faults = {{.kind = StoreErrorKind::kUnavailable, .was_done = true}};
    EXPECT_TRUE(store_->Put("k", "mine", {.if_absent = true}).has_value());
  }
}

TEST_F(RetryingStoreTest, AnotherContentAtALaterTryExists) {
  for (const bool keeps_sha256 : {true, false}) {
    for (const char* theirs : {"them", "longer than mine"}) {
      inner_->objects["k"] = theirs;
      inner_->keeps_sha256 = keeps_sha256;
      inner_->faults = {{StoreErrorKind::kUnavailable}};
      EXPECT_EQ(store_->Put("k", "mine", {.if_absent = true}).error().kind,
                StoreErrorKind::kExists);
      EXPECT_EQ(inner_->objects.at("k"), theirs);
    }
  }
}

TEST_F(RetryingStoreTest, EqualContentAtTheFirstTryIsTheCallersToJudge) {
  inner_->objects["k"] = "mine";
  EXPECT_EQ(store_->Put("k", "mine", {.if_absent = true}).error().kind, StoreErrorKind::kExists);
}

TEST_F(RetryingStoreTest, TheComparisonIsTriedAgainToo) {
  // The Put that was done, the Put that finds the object, and the first Head.
  inner_->faults = {{.kind = StoreErrorKind::kUnavailable, .was_done = true},
                    {.kind = StoreErrorKind::kExists},
                    {.kind = StoreErrorKind::kUnavailable}};
  EXPECT_TRUE(store_->Put("k", "mine", {.if_absent = true}).has_value());
  EXPECT_EQ(inner_->calls, 4);
}

TEST_F(RetryingStoreTest, AGetGoesOnWhereItWasCut) {
  inner_->objects["k"] = "0123456789";
  inner_->faults = {{.progress = 4}, {.kind = StoreErrorKind::kThrottled}, {.progress = 2}};
  EXPECT_EQ(Read({}), "0123456789");
  inner_->faults = {{.progress = 4}};
  EXPECT_EQ(Read({.offset = 2, .length = 6}), "234567");
  inner_->faults = {{.progress = 6}};
  EXPECT_EQ(Read({.offset = 2, .length = 6}), "234567") << "cut behind the last byte";
}

TEST_F(RetryingStoreTest, AGetDoesNotMixTwoVersions) {
  inner_->objects["k"] = "0123456789";
  inner_->faults = {{.progress = 4}};
  std::size_t size = 0;
  const auto got = store_->Get("k", {}, [&](std::string_view piece) -> StoreResult<void> {
    size += piece.size();
    if (size == 4) inner_->version = "v2";
    return {};
  });
  EXPECT_EQ(got.error().kind, StoreErrorKind::kConflict);
  EXPECT_EQ(size, 4u);
}

TEST_F(RetryingStoreTest, TheSinksErrorIsNotTriedAgain) {
  inner_->objects["k"] = "0123456789";
  const auto got = store_->Get("k", {}, [](std::string_view) -> StoreResult<void> {
    return StoreFail(StoreErrorKind::kUnavailable, "mine");
  });
  EXPECT_EQ(got.error(), (StoreError{StoreErrorKind::kUnavailable, "mine"}));
  EXPECT_EQ(inner_->calls, 1);
}

TEST_F(RetryingStoreTest, ProgressRenewsTheTimeThatACallHas) {
  inner_->objects["k"] = std::string(2000, 'x');
  for (int i = 0; i < 900; ++i) inner_->faults.push_back({.progress = 2});
  EXPECT_EQ(Read({}).value().size(), 2000u);
}

TEST_F(RetryingStoreTest, AListGoesOnBehindTheLastKey) {
  for (const char* key : {"a", "b", "c", "d"}) inner_->objects[key] = "x";
  inner_->faults = {{.progress = 2}, {.progress = 0}, {.progress = 1}};
  std::vector<std::string> keys;
  ASSERT_TRUE(store_
                  ->List({},
                         [&](std::string_view key, std::uint64_t) {
                           keys.emplace_back(key);
                           return true;
                         })
                  .has_value());
  EXPECT_THAT(keys, ElementsAre("a", "b", "c", "d"));
}

TEST_F(RetryingStoreTest, ADeletionTriesAgainTheKeysThatMayPass) {
  for (const char* key : {"a", "b", "c"}) inner_->objects[key] = "x";
  inner_->undeletable = {{"a", StoreErrorKind::kLocked}, {"b", StoreErrorKind::kUnavailable}};
  inner_->faults = {{StoreErrorKind::kThrottled}};
  const std::vector<std::string> keys = {"a", "b", "c"};
  const auto failures = store_->Delete(keys);
  ASSERT_TRUE(failures.has_value());
  ASSERT_THAT(*failures, SizeIs(1));
  EXPECT_EQ(failures->front().key, "a");
  EXPECT_EQ(failures->front().error.kind, StoreErrorKind::kLocked);
  EXPECT_THAT(inner_->objects, SizeIs(1));
}

TEST(StopSignalTest, AWaitEndsWhenStopped) {
  StopSignal stop;
  EXPECT_FALSE(stop.WaitFor(milliseconds(1)));
  stop.Stop();
  EXPECT_TRUE(stop.WaitFor(std::chrono::hours(1)));
}

}  // namespace
}  // namespace kvorum::archive
