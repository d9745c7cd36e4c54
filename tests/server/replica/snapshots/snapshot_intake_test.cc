// Snapshots that come while another one does.
#include "server/replica/snapshots/snapshot_intake.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "mvcc/records/key_value.h"
#include "tests/damage.h"
#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"
#include "tests/mvcc/backend_worlds.h"

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
  // A snapshot's bytes, as the one of index 10.
  Result<void> Take(std::string_view bytes) {
    KV_TRY(const auto sink, Begin(2, 10));
    KV_RETURN_IF_ERROR(sink->Write(bytes));
    return sink->Finish();
  }
  static bool IsRefused(const auto& result) {
    return !result.has_value() && result.error().code == Code::kUnavailable;
  }

  SimFileSystem files_;
  SnapshotIntake intake_{files_, kIntakeFolder,
                         [this](const std::string& path) -> Result<std::unique_ptr<mvcc::Backend>> {
                           return mvcc::OpenMemoryBackend(files_, path);
                         },
                         [this](const raft::Message&) {
                           ++delivered_;
                           return true;
                         }};
  int delivered_ = 0;
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

std::string SnapshotOfIndexTen() {
  mvcc::MemoryWorld world;
  const auto backend = world.Open().value();
  mvcc::Commit(*backend, mvcc::OwnedBatch()
                             .Put(mvcc::Bucket::kMeta, mvcc::meta_key::kConsistentIndex,
                                  std::string("\0\0\0\0\0\0\0\x0a", 8))
                             .Append({2, 0}, mvcc::Encode({.key = "k",
                                                           .create_revision = 2,
                                                           .mod_revision = 2,
                                                           .version = 1,
                                                           .value = "v"})));
  const auto source = mvcc::MakeSnapshotSource(backend->NewReader().value(), nullptr);
  std::string stream;
  while (true) {
    const SharedBytes chunk = source->Next().value();
    if (chunk.empty()) return stream;
    stream += chunk.view();
  }
}

TEST_F(SnapshotIntakeTest, DamagedOnesDoNotReachRaftAndLeaveNothing) {
  const std::string whole = SnapshotOfIndexTen();
  const auto expect_refused = [this](std::string_view damaged) {
    EXPECT_FALSE(Take(damaged).has_value());
    EXPECT_EQ(delivered_, 0);
    EXPECT_TRUE(files_.List(kIntakeFolder).value().empty());
  };
  ForEachCut(whole, expect_refused);
  ForEachFlip(whole, [&](std::string_view flipped, std::size_t) { expect_refused(flipped); });
  const auto taken = Take(whole);
  EXPECT_TRUE(taken.has_value()) << taken.error().message;
  EXPECT_EQ(delivered_, 1);
}

TEST_F(SnapshotIntakeTest, ThatOfTheLeaderDoesNotGiveWayToAFormerOnes) {
  auto first = Begin(3, 20);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(IsRefused(Begin(2, 10)));
  EXPECT_TRUE((*first)->Write("kv").has_value());
}

}  // namespace
}  // namespace kvorum::server
