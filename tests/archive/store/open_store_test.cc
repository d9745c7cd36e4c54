#include "archive/store/open_store.h"

#include <gtest/gtest.h>

#include "tests/disk/sim_file_system.h"
#include "tests/manual_clock.h"

namespace kvorum::archive {
namespace {

TEST(OpenStoreTest, AFolderIsMadeAndNamed) {
  SimFileSystem disk;
  const ManualClock clock;
  const StopSignal stop;
  const auto store = OpenStore({.url = "file:///backup/kv/"}, disk, clock, stop);
  ASSERT_TRUE(store.has_value()) << store.error().text;
  EXPECT_EQ((*store)->name(), "file:///backup/kv");
  EXPECT_TRUE(disk.Exists("/backup/kv").value());
}

TEST(OpenStoreTest, ABucketIsNotReachedYet) {
  SimFileSystem disk;
  const ManualClock clock;
  const StopSignal stop;
  const auto store = OpenStore({.url = "s3://bucket/a/b/"}, disk, clock, stop);
  ASSERT_TRUE(store.has_value()) << store.error().text;
  EXPECT_EQ((*store)->name(), "s3://bucket/a/b");
}

TEST(OpenStoreTest, RefusesOtherUrlsAndShowsNoPassword) {
  for (const char* url :
       {"", "/backup", "http://h/x", "file://host/path", "file:///", "file:///a/../b",
        "file:///a%20b", "s3://", "s3://ab", "s3://bucket/../x", "s3://AKID:topsecret@bucket/x"}) {
    const auto checked = CheckStoreUrl(url);
    ASSERT_FALSE(checked.has_value()) << url;
    EXPECT_EQ(checked.error().kind, StoreErrorKind::kInvalid) << url;
    EXPECT_EQ(checked.error().text.find("topsecret"), std::string::npos);
  }
  EXPECT_TRUE(CheckStoreUrl("file:///a").has_value());
  EXPECT_TRUE(CheckStoreUrl("s3://bucket").has_value());
}

TEST(OpenStoreTest, AnErrorOfAStoreIsOneOfBase) {
  const Error error = ToError({StoreErrorKind::kDenied, "text"});
  EXPECT_EQ(error, (Error{Code::kPermissionDenied, "text"}));
}

}  // namespace
}  // namespace kvorum::archive
