// A snapshot that a peer sent moves the log: its earlier entries are void. Whether it was received
// whole, cut off by a crash, or abandoned, a restart sees one log without a gap and without the
// entries that the snapshot contradicts.
#include <gmock/gmock.h>

#include "base/rng.h"
#include "tests/wal/log_fixture.h"
#include "wal/log_view.h"

namespace kvorum::wal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReceivedSnapshotTest : public LogFixture {
 protected:
  // Entries 1 to `last` of term 1, of which `commit` are committed.
  void Begin(std::size_t last, raft::Index commit) {
    Create();
    AppendAndSync(MakeEntries(1, last, 1), {.term = 1, .vote = 1, .commit = commit});
  }
  // Two segments, the second from entry 301 on; all entries after 50 are from a leader that no
  // other member has followed.
  void BeginWithCutTail() {
    Create(SmallOptions(std::uint64_t{64} << 10));
    AppendAndSync(MakeEntries(1, 300, 1), {.term = 1, .vote = 1, .commit = 50});
    ASSERT_OK(writer_->Cut());
    AppendAndSync(MakeEntries(301, 20, 1));
  }
  void Receive(raft::Index index, raft::Term term) {
    ASSERT_OK(writer_->SaveReceivedSnapshot(MakeMarker(index, term),
                                            {.term = term, .vote = 0, .commit = index}));
  }
  std::vector<std::uint64_t> MarkedIndexes() {
    const std::vector<SnapshotMarker> markers = ListMarkers(fs_, kDir).value();
    std::vector<std::uint64_t> indexes;
    for (const SnapshotMarker& marker : markers) indexes.push_back(marker.index.value());
    return indexes;
  }
};

TEST_F(ReceivedSnapshotTest, MovesTheLogPastItsEnd) {
  Begin(5, 5);
  Receive(1000, 3);
  AppendAndSync(MakeEntries(1001, 2, 3), {.term = 3, .vote = 0, .commit = 1002});
  EXPECT_THAT(MarkedIndexes(), ElementsAre(1000));
  Reopen(MakeMarker(1000, 3));
  EXPECT_EQ(contents_.entries, MakeEntries(1001, 2, 3));
  EXPECT_EQ(contents_.hard_state.commit, 1002u);
  EXPECT_EQ(writer_->last_index(), 1002u);
}

TEST_F(ReceivedSnapshotTest, FromBeforeItTheLogCannotBeRead) {
  Begin(5, 5);
  Receive(1000, 3);
  AppendAndSync(MakeEntries(1001, 2, 3));
  const auto old = TryOpen();
  ASSERT_FALSE(old.has_value());
  EXPECT_EQ(old.error().code, Code::kDataLoss);
  EXPECT_THAT(old.error().message, HasSubstr("follows a received snapshot at index 1000"));
}

TEST_F(ReceivedSnapshotTest, ATailThatContradictsItDoesNotComeBack) {
  Begin(1005, 2);  // from a leader of term 1 without followers
  Receive(1000, 3);
  Reopen(MakeMarker(1000, 3));
  EXPECT_TRUE(contents_.entries.empty()) << "entries 1001 to 1005 of term 1";
  EXPECT_EQ(writer_->last_index(), 1000u);
  AppendAndSync(MakeEntries(1001, 1, 3), {.term = 3, .vote = 0, .commit = 1001});
  Reopen(MakeMarker(1000, 3));
  EXPECT_EQ(contents_.entries, MakeEntries(1001, 1, 3));
}

TEST_F(ReceivedSnapshotTest, ASnapshotOfItsOwnKeepsWhatIsBehindIt) {
  Begin(20, 10);
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(8, 1)));
  Reopen(MakeMarker(8, 1));
  EXPECT_EQ(contents_.entries, MakeEntries(9, 12, 1));
  EXPECT_THAT(MarkedIndexes(), ElementsAre(0, 8));
}

// Like etcd, and like this server before it took snapshots of peers.
TEST_F(ReceivedSnapshotTest, AMarkerWithItsStateInALaterWriteCounts) {
  Begin(5, 5);
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(1000, 3)));
  AppendAndSync({}, {.term = 3, .vote = 0, .commit = 1000});
  Reopen(MakeMarker(1000, 3));
  EXPECT_TRUE(contents_.entries.empty());
  EXPECT_EQ(writer_->last_index(), 1000u);
}

TEST(LogViewTest, AMarkerWithTheEntriesBeforeTheStateCounts) {
  LogView view(1);
  view.AddEntry(1, 1);
  EXPECT_FALSE(view.AddMarker(MakeMarker(1000, 3)).counts.has_value());
  const auto change = view.AddEntry(1001, 3);
  EXPECT_TRUE(change.restarts);
  EXPECT_EQ(change.counts, MakeMarker(1000, 3));
  EXPECT_EQ(view.last_index(), 1001u);
}

// A crash came between the marker and its state; the member went on with its old entries.
TEST_F(ReceivedSnapshotTest, AMarkerThatWasCutOffFromItsStateNeverCounts) {
  Begin(5, 3);
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(8, 1)));  // and the power went off
  EXPECT_THAT(MarkedIndexes(), ElementsAre(0));
  Reopen();
  EXPECT_EQ(contents_.entries, MakeEntries(1, 5, 1));
  EXPECT_EQ(writer_->last_index(), 5u);
  // The entries come by themselves, past the marker.
  AppendAndSync(MakeEntries(6, 10, 1), {.term = 1, .vote = 1, .commit = 12});
  EXPECT_THAT(MarkedIndexes(), ElementsAre(0)) << "no state was ever received for it";
  Reopen();
  EXPECT_EQ(contents_.entries, MakeEntries(1, 15, 1));
}

TEST_F(ReceivedSnapshotTest, AStateOfBeforeItVoidsACutOffMarkerToo) {
  Begin(5, 3);
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(8, 2)));
  AppendAndSync({}, {.term = 2, .vote = 3, .commit = 3});
  AppendAndSync({}, {.term = 2, .vote = 3, .commit = 5});
  Reopen();
  EXPECT_EQ(contents_.entries, MakeEntries(1, 5, 1));
  Receive(8, 2);  // once more, in whole
  Reopen(MakeMarker(8, 2));
  EXPECT_TRUE(contents_.entries.empty());
  EXPECT_THAT(MarkedIndexes(), ElementsAre(8));
}

TEST_F(ReceivedSnapshotTest, TwoInSuccession) {
  Begin(5, 5);
  Receive(1000, 3);
  Receive(1200, 3);
  AppendAndSync(MakeEntries(1201, 1, 3));
  Reopen(MakeMarker(1200, 3));
  EXPECT_EQ(contents_.entries, MakeEntries(1201, 1, 3));
  EXPECT_THAT(MarkedIndexes(), ElementsAre(1200));
}

// The marker of the member's own snapshot, which was being made when the peer's came.
TEST_F(ReceivedSnapshotTest, AnOlderMarkerBehindItIsNotListed) {
  Begin(5, 5);
  Receive(1000, 3);
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(4, 1)));
  EXPECT_THAT(MarkedIndexes(), ElementsAre(1000));
  Reopen(MakeMarker(1000, 3));
  EXPECT_TRUE(contents_.entries.empty());
  EXPECT_EQ(writer_->last_index(), 1000u);
}

// The log was cut within a tail that the snapshot contradicts, so that the marker is below the
// first entry of its segment; and the older segment is gone.
TEST_F(ReceivedSnapshotTest, AMarkerBelowItsSegmentsFirstEntryLeavesNothingOfTheTail) {
  BeginWithCutTail();
  Receive(100, 3);
  AppendAndSync(MakeEntries(101, 50, 3), {.term = 3, .vote = 0, .commit = 150});
  EXPECT_THAT(MarkedIndexes(), ElementsAre(100));
  Reopen(MakeMarker(100, 3));
  EXPECT_EQ(contents_.entries, MakeEntries(101, 50, 3));

  AppendAndSync(MakeEntries(151, 200, 3), {.term = 3, .vote = 0, .commit = 340});
  for (const raft::Index marked : {raft::Index{310}, raft::Index{340}}) {
    ASSERT_OK(writer_->SaveSnapshot(MakeMarker(marked, 3)));
    writer_->ReleaseTo(marked);
    ASSERT_OK(writer_->Purge(1));
    ASSERT_EQ(SegmentFiles().size(), 1u);
    ASSERT_EQ(SegmentName::Parse(SegmentFiles()[0])->first_index, 301u);
    const std::size_t left = 350 - marked;
    Reopen(MakeMarker(marked, 3));
    EXPECT_EQ(contents_.entries, MakeEntries(marked + 1, left, 3)) << "none of term 1";
    EXPECT_EQ(contents_.hard_state.commit, 340u);
    EXPECT_EQ(writer_->last_index(), 350u);
  }
  EXPECT_EQ(MarkedIndexes().back(), 340u);
  ASSERT_FALSE(TryOpen(MakeMarker(100, 3)).has_value()) << "its segment is gone";
}

// The same with only the hard state after the marker when the power goes off.
TEST_F(ReceivedSnapshotTest, SuchAMarkerCountsBeforeAnEntryFollowsIt) {
  BeginWithCutTail();
  Receive(100, 3);
  Rng rng(1);
  fs_.Crash(SimFileSystem::Keep::kNothing, rng);
  EXPECT_THAT(MarkedIndexes(), ElementsAre(100));
  Reopen(MakeMarker(100, 3));
  EXPECT_TRUE(contents_.entries.empty());
  EXPECT_EQ(writer_->last_index(), 100u);
  AppendAndSync(MakeEntries(101, 5, 3));
  Reopen(MakeMarker(100, 3));
  EXPECT_EQ(contents_.entries, MakeEntries(101, 5, 3));
}

TEST_F(ReceivedSnapshotTest, GoesOnOverSegmentsPurgesAndReopens) {
  Create();
  std::vector<raft::Entry> old = MakeEntries(1, 60, 1, 300);
  AppendAndSync(old, {.term = 1, .vote = 1, .commit = 10});
  Receive(40, 2);  // contradicts 41 to 60
  for (raft::Index next = 41; next <= 120; ++next)
    AppendAndSync(MakeEntries(next, 1, 2, 300), {.term = 2, .vote = 1, .commit = next});
  Reopen(MakeMarker(40, 2));
  EXPECT_EQ(contents_.entries, MakeEntries(41, 80, 2, 300));
  for (const raft::Index own :
       {raft::Index{45}, raft::Index{58}, raft::Index{70}, raft::Index{100}}) {
    ASSERT_OK(writer_->SaveSnapshot(MakeMarker(own, 2)));
    Reopen(MakeMarker(own, 2));
    ASSERT_EQ(contents_.entries, MakeEntries(own + 1, 120 - own, 2, 300)) << own;
    writer_->ReleaseTo(own);
    ASSERT_OK(writer_->Purge(1));
    Reopen(MakeMarker(own, 2));
    ASSERT_EQ(contents_.entries, MakeEntries(own + 1, 120 - own, 2, 300)) << own;
    ASSERT_EQ(MarkedIndexes().back(), own);
  }
}

// A power cut at each write of receiving one, with every kind of loss.
TEST_F(ReceivedSnapshotTest, APowerCutLeavesTheOldLogOrTheNewOne) {
  Begin(30, 12);
  int old_logs = 0;
  int new_logs = 0;
  Rng rng(3);
  const auto check = [&](SimFileSystem& disk) {
    const auto markers = ListMarkers(disk, kDir);
    ASSERT_OK(markers);
    ASSERT_FALSE(markers->empty());
    const SnapshotMarker from = markers->back();
    auto opened = wal::Open(disk, kDir, from, options_);
    ASSERT_OK(opened);
    const auto& entries = opened->contents.entries;
    if (from.index == 0) {
      ++old_logs;
      ASSERT_EQ(entries, MakeEntries(1, 30, 1));
      ASSERT_EQ(opened->contents.hard_state.commit, 12u);
    } else {
      ++new_logs;
      ASSERT_EQ(from, MakeMarker(20, 2));
      ASSERT_GE(opened->contents.hard_state.commit, 20u);
      ASSERT_LE(entries.size(), 3u);
      ASSERT_EQ(entries, MakeEntries(21, entries.size(), 2));
    }
    // And it grows from there.
    const raft::Index next = opened->writer->last_index() + 1;
    ASSERT_EQ(next, from.index + entries.size() + 1);
    const raft::HardState state = {.term = 4, .vote = 1, .commit = next - 1};
    const auto more = MakeEntries(next, 2, 4);
    ASSERT_OK(opened->writer->Append(more, &state));
    ASSERT_OK(opened->writer->Sync());
    opened->writer.reset();
    const auto again = Read(disk, kDir, from);
    ASSERT_OK(again);
    ASSERT_EQ(again->entries.size(), entries.size() + 2);
    ASSERT_EQ(again->entries.back(), more.back());
    ASSERT_EQ(ListMarkers(disk, kDir).value().back(), from);
  };
  fs_.SetObserver([&] {
    for (const SimFileSystem::Keep keep : SimFileSystem::kAllKeeps) {
      for (int i = 0; i < 5 && !HasFatalFailure(); ++i) check(*fs_.CrashImage(keep, rng));
    }
  });
  Receive(20, 2);
  AppendAndSync(MakeEntries(21, 3, 2), {.term = 2, .vote = 0, .commit = 22});
  fs_.SetObserver(nullptr);
  check(*fs_.CrashImage(SimFileSystem::Keep::kNothing, rng));
  EXPECT_GT(old_logs, 5);
  EXPECT_GT(new_logs, 5);
}

}  // namespace
}  // namespace kvorum::wal
