#include "server/replica/upkeep/start_defragment.h"

#include <gtest/gtest.h>

#include "base/log/logging.h"
#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"

namespace kvorum::server {
namespace {

const BeforeReplacement kNothing = [] { return Result<void>(); };

class StartDefragment : public testing::Test {
 protected:
  StartDefragment() {
    SetLogLevel(LogLevel::kError);
    EXPECT_TRUE(files_.MakeDirectories("/data").has_value());
    EXPECT_TRUE(files_.SyncDirectory("/").has_value());
    backend_ = mvcc::OpenMemoryBackend(files_, "/data/db").value();
    for (int i = 0; i < 50; ++i) {
      mvcc::WriteBatch batch;
      batch.changes.Put(mvcc::Bucket::kMembers, "k", std::string(10'000, 'v'));
      EXPECT_TRUE(backend_->Commit(batch).has_value());
    }
    free_ = backend_->SizeBytes() - backend_->SizeInUseBytes();
    EXPECT_GT(free_, 100'000u);
  }

  SimFileSystem files_;
  std::unique_ptr<mvcc::Backend> backend_;
  std::uint64_t free_ = 0;
};

TEST_F(StartDefragment, FreesWhatIsWorthIt) {
  const std::uint64_t before = backend_->SizeBytes();
  ASSERT_TRUE(DefragmentAtStart(*backend_, free_, kNothing).has_value());
  EXPECT_LT(backend_->SizeBytes(), before - free_ / 2);
  const auto reader = backend_->NewReader().value();
  EXPECT_EQ(reader->Get(mvcc::Bucket::kMembers, "k").value()->size(), 10'000u);
}

TEST_F(StartDefragment, BelowTheThresholdAndWithoutOneTheFileStays) {
  const std::uint64_t before = backend_->SizeBytes();
  ASSERT_TRUE(DefragmentAtStart(*backend_, free_ + 1, kNothing).has_value());
  ASSERT_TRUE(DefragmentAtStart(*backend_, 0, kNothing).has_value());
  EXPECT_EQ(backend_->SizeBytes(), before);
}

TEST_F(StartDefragment, WithoutSpaceForACopyTheMemberStartsAllTheSame) {
  files_.FailPath(SimFileSystem::Operation::kWrite, "/data/db.tmp", SimFileSystem::Fault::kNoSpace);
  ASSERT_TRUE(DefragmentAtStart(*backend_, 1, kNothing).has_value());
  mvcc::WriteBatch batch;
  batch.changes.Put(mvcc::Bucket::kMembers, "later", "v");
  EXPECT_TRUE(backend_->Commit(batch).has_value());
}

TEST_F(StartDefragment, ToldThatItMayNotReplaceTheFileItLeavesIt) {
  const std::uint64_t before = backend_->SizeBytes();
  ASSERT_TRUE(DefragmentAtStart(*backend_, 1, [] {
                return Result<void>(Fail(Code::kUnknown, "no"));
              }).has_value());
  EXPECT_EQ(backend_->SizeBytes(), before);
}

}  // namespace
}  // namespace kvorum::server
