// Snapshots that come while another one does.
#include "server/replica/snapshots/snapshot_intake.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"

namespace kvorum::server {
namespace {

constexpr const char* kIntakeFolder = "/snap";

class SnapshotIntakeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(files_.MakeDirectories(kIntakeFolder).has_value()); }

  Result<std::unique_ptr<mvcc::SnapshotSink>> Begin(raft::Term term, raft::Index index) {
    return intake_.Begin({.type = raft::MessageType::kSnap,
                          .term = term,
                          .snapshot = std::make_shared<const raft::Snapshot>(
                              raft::Snapshot{.metadata = {.index = index, .term = term}})});
  }
  static bool IsRefused(const auto& result) {
    return !result.has_value() && result.error().code == Code::kUnavailable;
  }

  SimFileSystem files_;
  SnapshotIntake intake_{files_, kIntakeFolder,
                         [this](const std::string& path) -> Result<std::unique_ptr<mvcc::Backend>> {
                           return mvcc::OpenMemoryBackend(files_, path);
                         },
                         [](const raft::Message&) { return true; }};
};

TEST_F(SnapshotIntakeTest, OneIsReceivedAtATime) {
  auto first = Begin(2, 10);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(IsRefused(Begin(2, 11)));
  EXPECT_TRUE((*first)->Write("kv").has_value());
  first->reset();
  EXPECT_TRUE(Begin(2, 11).has_value());
}

// It may have minutes to go, and Raft would ignore it in the end.
TEST_F(SnapshotIntakeTest, ThatOfAFormerLeaderGivesWay) {
  auto first = Begin(2, 10);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(IsRefused(Begin(3, 20)));
  EXPECT_TRUE(IsRefused((*first)->Write("kv")));
  first->reset();
  auto second = Begin(3, 20);
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE((*second)->Write("kv").has_value());
}

TEST_F(SnapshotIntakeTest, ThatOfTheLeaderDoesNotGiveWayToAFormerOnes) {
  auto first = Begin(3, 20);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(IsRefused(Begin(2, 10)));
  EXPECT_TRUE((*first)->Write("kv").has_value());
}

}  // namespace
}  // namespace kvorum::server
