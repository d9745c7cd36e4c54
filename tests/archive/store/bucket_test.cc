// S3Store against another program's S3, at KVORUM_S3_ENDPOINT with credentials in the environment:
// tests/archive/store/moto_test.py starts it. It has the buckets `plain` and, with object lock and
// a retention of a day, `locked`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "archive/store/open_store.h"

namespace kvorum::archive {
namespace {

using testing::IsEmpty;

class BucketTest : public testing::Test {
 protected:
  std::unique_ptr<ObjectStore> Open(const std::string& url) {
    const char* const endpoint = std::getenv("KVORUM_S3_ENDPOINT");
    EXPECT_NE(endpoint, nullptr);
    auto store = OpenStore({.url = url, .endpoint = endpoint == nullptr ? "" : endpoint},
                           PosixFileSystem(), SystemClock(), stop_);
    EXPECT_TRUE(store.has_value()) << store.error().text;
    return store.has_value() ? std::move(*store) : nullptr;
  }
  static std::vector<std::string> KeysOf(ObjectStore& store, const ListOptions& options) {
    std::vector<std::string> keys;
    const auto listed = store.List(options, [&](std::string_view key, std::uint64_t) {
      keys.emplace_back(key);
      return true;
    });
    EXPECT_TRUE(listed.has_value()) << listed.error().text;
    return keys;
  }

  StopSignal stop_;
};

TEST_F(BucketTest, AnObjectIsReadAsItWasWritten) {
  const auto store = Open("s3://plain/read");
  std::string bytes;
  for (int i = 0; i < (5 << 20); ++i) bytes += static_cast<char>(i * 31);
  const auto put = store->Put("h/log/1.gz", bytes, {});
  ASSERT_TRUE(put.has_value()) << put.error().text;
  EXPECT_EQ(ReadObject(*store, "h/log/1.gz", kMaxObjectBytes).value(), bytes);
  std::string part;
  const auto got = store->Get("h/log/1.gz", {.offset = 1000, .length = 10},
                              [&](std::string_view piece) -> StoreResult<void> {
                                part += piece;
                                return {};
                              });
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_EQ(part, bytes.substr(1000, 10));
  EXPECT_EQ(got->size_bytes, bytes.size());
  EXPECT_EQ(store->Head("absent").error().kind, StoreErrorKind::kAbsent);
}

TEST_F(BucketTest, ConditionsAreKept) {
  const auto store = Open("s3://plain/conditions");
  ASSERT_TRUE(store->Put("a", "one", {.if_absent = true}).has_value());
  EXPECT_EQ(store->Put("a", "two", {.if_absent = true}).error().kind, StoreErrorKind::kExists);
  EXPECT_EQ(ReadObject(*store, "a", 10).value(), "one");
  const PieceSink ignore = [](std::string_view) -> StoreResult<void> { return {}; };
  EXPECT_EQ(store->Get("a", {.version = "\"other\""}, ignore).error().kind,
            StoreErrorKind::kConflict);
}

TEST_F(BucketTest, MoreThanAPageIsListedAndMoreThanARequestDeleted) {
  const auto store = Open("s3://plain/many");
  std::vector<std::string> keys;
  for (int i = 10'000; i < 11'003; ++i) {
    keys.push_back("h/" + std::to_string(i));
    ASSERT_TRUE(store->Put(keys.back(), "x", {}).has_value());
  }
  EXPECT_EQ(KeysOf(*store, {}), keys);
  EXPECT_EQ(KeysOf(*store, {.after = "h/11000"}).size(), 2U);
  EXPECT_THAT(store->Delete(keys).value(), IsEmpty());
  EXPECT_THAT(KeysOf(*store, {}), IsEmpty());
}

TEST_F(BucketTest, ALockIsSeenAndAPutUnderItKeepsTheRule) {
  const auto store = Open("s3://locked/kv");
  const auto put = store->Put("a", "x", {});
  ASSERT_TRUE(put.has_value()) << put.error().text;
  EXPECT_THAT(store->Head("a").value().lock, testing::StartsWith("COMPLIANCE until "));
  const auto plain = Open("s3://plain/kv");
  ASSERT_TRUE(plain->Put("a", "x", {}).has_value());
  EXPECT_EQ(plain->Head("a").value().lock, "");
}

}  // namespace
}  // namespace kvorum::archive
