// A follower that its leader's log cannot help any more gets the database: while writes, reads,
// compactions and defragmentations go on, twice in a row, and with a power cut at every write of
// its disk on the way.
//
// Fault model: tests/disk/sim_file_system.h, on the follower's disk; the others' disks are whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "base/failpoint/failpoint_control.h"
#include "mvcc/transfer/snapshot_stream.h"
#include "raft/node.h"
#include "server/replica/drive/catch_up_log.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using testing::HasSubstr;

class SnapshotCluster {
 public:
  explicit SnapshotCluster(std::uint64_t seed,
                           mvcc::SnapshotFormat format = mvcc::SnapshotFormat::kOwn,
                           std::function<void(LocalMemberOptions&)> options = {})
      : cluster_(3, seed, std::move(options)) {
    if (format == mvcc::SnapshotFormat::kEtcd) cluster_.network().SendSnapshotsAsEtcd();
  }

  // Elects a leader, writes a little, and loses sight of a follower while much is written.
  void LeaveOneBehind(int writes = 40) {
    const auto started = cluster_.StartAll();
    ASSERT_TRUE(started.has_value()) << started.error().message;
    ASSERT_TRUE(cluster_.WaitForLeader().has_value());
    leader_ = *cluster_.Leader();
    behind_ = (leader_ + 1) % 3;
    Write(8);
    ASSERT_TRUE(cluster_.CatchUp());
    LoseSight(writes);
  }
  void LoseSight(int writes) {
    cluster_.Isolate(behind_);
    Write(writes);
    // The leader's log begins after the follower's last entry.
    cluster_.RunFor(std::chrono::milliseconds(500));
  }
  void FindAgain() {
    cluster_.network().MendAll();
    ASSERT_TRUE(cluster_.CatchUp());
  }

  static std::string KeyOf(std::int64_t n) { return "key" + std::to_string(n % 7); }
  static std::string ValueOf(std::int64_t n) {
    return "value" + std::to_string(n) + std::string(static_cast<std::size_t>(n % 50) * 5, 'x');
  }
  // The n-th write is revision n + 1.
  void Write(int count) {
    for (int i = 0; i < count; ++i) {
      ++written_;
      const auto written =
          cluster_.Propose(leader_, RequestKind::kPut, PutBody(KeyOf(written_), ValueOf(written_)));
      ASSERT_TRUE(written.has_value()) << written.error().message;
    }
  }
  // A member always shows a prefix of the writes.
  void ExpectHistory(SmallMember& member) const {
    mvcc::Store& store = member.store();
    ASSERT_LE(store.revision(), written_ + 1);
    for (std::int64_t n = 1; n < store.revision(); ++n) {
      if (n + 1 < store.compact_revision()) continue;
      const auto value = member.Get(KeyOf(n), n + 1);
      ASSERT_TRUE(value.has_value()) << value.error().message << " at revision " << n + 1;
      ASSERT_EQ(value->value_or(""), ValueOf(n)) << "at revision " << n + 1;
    }
    member.local_member().CheckInvariants();
  }
  void ExpectEqual() {
    const auto hash = leader().store().HashKv(0);
    ASSERT_TRUE(hash.has_value());
    for (std::size_t i = 0; i < 3; ++i) {
      SCOPED_TRACE("member " + std::to_string(i));
      SmallMember& member = cluster_.member(i);
      ASSERT_FALSE(member.fatal().has_value()) << member.fatal()->message;
      EXPECT_EQ(member.store().revision(), written_ + 1);
      EXPECT_EQ(member.store().HashKv(0).value().hash, hash->hash);
      EXPECT_EQ(member.local_member().membership().View()->members,
                leader().local_member().membership().View()->members);
      ExpectHistory(member);
    }
  }

  SmallCluster& cluster() { return cluster_; }
  SmallMember& leader() { return cluster_.member(leader_); }
  SmallMember& behind() { return cluster_.member(behind_); }
  std::size_t leader_number() const { return leader_; }
  std::size_t behind_number() const { return behind_; }
  std::int64_t written() const { return written_; }

  std::vector<std::string> FilesOfSnapshots() {
    auto names = cluster_.disk(behind_).List(SmallMember::kSnapDir).value();
    std::erase_if(
        names, [](const std::string& name) { return name.find(".snap.db") == std::string::npos; });
    return names;
  }

 private:
  SmallCluster cluster_;
  std::size_t leader_ = 0;
  std::size_t behind_ = 0;
  std::int64_t written_ = 0;
};

// Each story in both formats: between members of ours, and as if the leader were etcd's.
using SeedAndFormat = std::tuple<std::uint64_t, mvcc::SnapshotFormat>;

std::string NameOf(const testing::TestParamInfo<SeedAndFormat>& info) {
  return (std::get<1>(info.param) == mvcc::SnapshotFormat::kOwn ? "Own" : "Etcds") +
         std::to_string(std::get<0>(info.param));
}

class SnapshotClusterTest : public testing::TestWithParam<SeedAndFormat> {
 protected:
  SnapshotClusterTest() : t_(seed(), format()) {}
  static std::uint64_t seed() { return std::get<0>(GetParam()); }
  static mvcc::SnapshotFormat format() { return std::get<1>(GetParam()); }
  SnapshotCluster t_;
};

TEST_P(SnapshotClusterTest, AFollowerTooFarBehindGetsTheDatabaseAndGoesOn) {
  ASSERT_NO_FATAL_FAILURE(t_.LeaveOneBehind());
  ASSERT_EQ(t_.cluster().network().snapshots_delivered(), 0U);
  ASSERT_NO_FATAL_FAILURE(t_.FindAgain());
  EXPECT_GE(t_.cluster().network().snapshots_delivered(), 1U);
  t_.ExpectEqual();
  EXPECT_TRUE(t_.FilesOfSnapshots().empty());
  ASSERT_NO_FATAL_FAILURE(t_.Write(20));
  ASSERT_TRUE(t_.cluster().CatchUp());
  t_.ExpectEqual();
  // And it can restart from the snapshot.
  t_.cluster().Kill(t_.behind_number());
  const auto restarted = t_.cluster().Start(t_.behind_number());
  ASSERT_TRUE(restarted.has_value()) << restarted.error().message;
  ASSERT_TRUE(t_.cluster().CatchUp());
  t_.ExpectEqual();
}

TEST_P(SnapshotClusterTest, WritesGoOnWhileASnapshotIsSentAndInstalled) {
  ASSERT_NO_FATAL_FAILURE(t_.LeaveOneBehind());
  // The index is slow to build, and more is written than a leader keeps as a rule.
  Lanes& lanes = t_.behind().lanes();
  lanes.Hold(lanes.copier(), true);
  t_.cluster().network().MendAll();
  ASSERT_NO_FATAL_FAILURE(t_.Write(60));
  lanes.Hold(lanes.copier(), false);
  ASSERT_TRUE(t_.cluster().CatchUp());
  EXPECT_EQ(t_.cluster().network().snapshots_delivered(), 1U) << "one helps";
  t_.ExpectEqual();
}

// Much more is written, during a transfer of minutes, than the leader keeps in memory.
void WriteMuchDuringATransfer(SnapshotCluster& t) {
  ASSERT_NO_FATAL_FAILURE(t.LeaveOneBehind());
  t.cluster().network().SetChunkTime(std::chrono::seconds(60));
  t.cluster().network().MendAll();
  for (int round = 0; round < 8; ++round) {
    ASSERT_NO_FATAL_FAILURE(t.Write(50));
    t.cluster().RunFor(std::chrono::seconds(5));
  }
  ASSERT_EQ(t.cluster().network().snapshots_delivered(), 0U) << "it is under way";
}

std::ptrdiff_t SegmentsOfLeader(SnapshotCluster& t) {
  const auto names = t.cluster().disk(t.leader_number()).List(SmallMember::kWalDir).value();
  return std::ranges::count_if(names,
                               [](const std::string& name) { return name.ends_with(".wal"); });
}

TEST(StoredLogTest, OneSnapshotHelpsHoweverMuchIsWrittenMeanwhile) {
  SnapshotCluster t(9, mvcc::SnapshotFormat::kOwn, [](LocalMemberOptions& options) {
    options.replica.catch_up.max_memory_bytes = 2000;
    options.raft.max_append_size_bytes = 1000;
  });
  ASSERT_NO_FATAL_FAILURE(WriteMuchDuringATransfer(t));
  const auto kept = SegmentsOfLeader(t);
  EXPECT_GT(kept, 10);
  ASSERT_TRUE(t.cluster().CatchUp(std::chrono::minutes(10)));
  EXPECT_EQ(t.cluster().network().snapshots_delivered(), 1U);
  t.ExpectEqual();
  // The segments go when they are not needed any more.
  t.cluster().RunFor(3 * CatchUpLog::kKeepsUp);
  ASSERT_NO_FATAL_FAILURE(t.Write(100));
  EXPECT_LT(SegmentsOfLeader(t), kept);
}

TEST(StoredLogTest, WithoutTheSegmentsTheSnapshotComesTooLate) {
  SnapshotCluster t(9, mvcc::SnapshotFormat::kOwn, [](LocalMemberOptions& options) {
    options.replica.catch_up = {.max_memory_bytes = 2000, .max_stored_bytes = 1};
  });
  ASSERT_NO_FATAL_FAILURE(WriteMuchDuringATransfer(t));
  EXPECT_LT(SegmentsOfLeader(t), 10);
  ASSERT_TRUE(t.cluster().CatchUp(std::chrono::minutes(10)));
  EXPECT_GT(t.cluster().network().snapshots_delivered(), 1U);
  t.ExpectEqual();
}

TEST_P(SnapshotClusterTest, ReadsDuringTheInstallationAreOldOrWait) {
  ASSERT_NO_FATAL_FAILURE(t_.LeaveOneBehind());
  const std::int64_t old_revision = t_.behind().store().revision();
  Lanes& lanes = t_.behind().lanes();
  lanes.Hold(lanes.copier(), true);  // the rebuild of a large index
  t_.cluster().network().MendAll();
  ASSERT_TRUE(
      t_.cluster().RunUntil([&] { return t_.cluster().network().snapshots_delivered() > 0; }));
  t_.cluster().RunFor(std::chrono::milliseconds(300));
  // Serializable.
  EXPECT_EQ(t_.behind().store().revision(), old_revision);
  t_.ExpectHistory(t_.behind());
  // Linearizable.
  bool answered = false;
  t_.cluster().replica(t_.behind_number()).ReadIndex([&](const Result<void>& result) {
    answered = true;
    EXPECT_TRUE(result.has_value());
    EXPECT_EQ(t_.behind().store().revision(), t_.written() + 1);
  });
  t_.cluster().RunFor(std::chrono::milliseconds(1000));
  EXPECT_FALSE(answered);
  lanes.Hold(lanes.copier(), false);
  ASSERT_TRUE(t_.cluster().RunUntil([&] { return answered; }));
  ASSERT_TRUE(t_.cluster().CatchUp());
  t_.ExpectEqual();
}

// ---- failpoints ----

class SnapshotPointsTest : public testing::Test {
 protected:
  // In the order in which a snapshot passes them.
  static constexpr const char* kNames[] = {"snapDBRenameBeforeDirSync", "raftBeforeSaveSnap",
                                           "raftAfterSaveSnap", "raftAfterWALRelease"};
  ~SnapshotPointsTest() override { failpoint::ClearAll(); }
  void SetUp() override {
    for (const char* name : kNames)
      ASSERT_TRUE(failpoint::Set(name, "sleep(0)").has_value()) << name;
    ASSERT_NO_FATAL_FAILURE(t_.LeaveOneBehind());
    ASSERT_THAT(Passed(), testing::IsEmpty()) << "by snapshots that members make for themselves";
  }
  std::vector<std::string> Passed() {
    std::vector<std::string> passed;
    for (const char* name : kNames)
      if (failpoint::Count(name).value_or(0) > 0) passed.emplace_back(name);
    return passed;
  }
  // Runs on until the snapshot waits for the held lane.
  void RunInto(Executor& lane) {
    t_.behind().lanes().Hold(lane, true);
    t_.cluster().network().MendAll();
    t_.cluster().RunFor(std::chrono::seconds(2));
  }
  // The snapshots that its log names.
  std::vector<std::string> MarkedSnapshots() {
    auto names = t_.cluster().disk(t_.behind_number()).List(SmallMember::kSnapDir).value();
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".snap"); });
    return names;
  }

  SnapshotCluster t_{5};
};

TEST_F(SnapshotPointsTest, TheFolderOfTheDatabaseComesBeforeTheLog) {
  const auto marked = MarkedSnapshots();
  RunInto(t_.behind().lanes().wal());
  EXPECT_THAT(Passed(), testing::ElementsAre("snapDBRenameBeforeDirSync"));
  EXPECT_THAT(t_.FilesOfSnapshots(), testing::SizeIs(1));
  EXPECT_EQ(MarkedSnapshots(), marked);
}

TEST_F(SnapshotPointsTest, TheLogComesBeforeTheInstallation) {
  const auto marked = MarkedSnapshots();
  const std::int64_t revision = t_.behind().store().revision();
  RunInto(t_.behind().lanes().copier());
  EXPECT_THAT(Passed(), testing::ElementsAre("snapDBRenameBeforeDirSync", "raftBeforeSaveSnap",
                                             "raftAfterSaveSnap"));
  EXPECT_GT(MarkedSnapshots(), marked);
  EXPECT_EQ(t_.behind().store().revision(), revision);
  t_.behind().lanes().Hold(t_.behind().lanes().copier(), false);
  ASSERT_TRUE(t_.cluster().CatchUp());
  EXPECT_THAT(Passed(), testing::ElementsAreArray(kNames));
  for (const char* name : kNames) EXPECT_EQ(failpoint::Count(name).value_or(0), 1U) << name;
  t_.ExpectEqual();
}

// The log does not name a file whose name may be gone after a power cut; the leader sends another.
TEST_F(SnapshotPointsTest, AFolderThatIsNotSyncedIsAFailedSnapshot) {
  ASSERT_TRUE(failpoint::Set("snapDBDirSyncError", "1*return(\"injected\")").has_value());
  const std::int64_t revision = t_.behind().store().revision();
  t_.cluster().network().MendAll();
  ASSERT_TRUE(t_.cluster().RunUntil(
      [&] { return failpoint::Count("snapDBDirSyncError").value_or(0) == 1; }));
  t_.cluster().RunFor(std::chrono::milliseconds(20));
  EXPECT_THAT(Passed(), testing::ElementsAre("snapDBRenameBeforeDirSync"));
  EXPECT_EQ(t_.behind().store().revision(), revision);
  EXPECT_EQ(t_.cluster().network().snapshots_delivered(), 0U);
  ASSERT_FALSE(t_.behind().fatal().has_value()) << t_.behind().fatal()->message;
  ASSERT_TRUE(t_.cluster().CatchUp());
  EXPECT_EQ(t_.cluster().network().snapshots_delivered(), 1U);
  EXPECT_THAT(Passed(), testing::ElementsAreArray(kNames));
  t_.ExpectEqual();
  EXPECT_TRUE(t_.FilesOfSnapshots().empty());
}

// The process ends after the log says that the snapshot is here, and before it is.
TEST_P(SnapshotClusterTest, AMemberThatEndsBeforeTheInstallationHasItAtItsNextStart) {
  ASSERT_NO_FATAL_FAILURE(t_.LeaveOneBehind());
  Lanes& lanes = t_.behind().lanes();
  lanes.Hold(lanes.copier(), true);
  t_.cluster().network().MendAll();
  ASSERT_TRUE(
      t_.cluster().RunUntil([&] { return t_.cluster().network().snapshots_delivered() > 0; }));
  t_.cluster().RunFor(std::chrono::milliseconds(300));
  ASSERT_THAT(t_.FilesOfSnapshots(), testing::SizeIs(1));
  t_.cluster().Crash(t_.behind_number(), SimFileSystem::Keep::kNothing);
  t_.cluster().Isolate(t_.behind_number());
  const auto restarted = t_.cluster().Start(t_.behind_number());
  ASSERT_TRUE(restarted.has_value()) << restarted.error().message;
  EXPECT_GT(t_.behind().store().revision(), 30) << "before it has spoken with anyone";
  EXPECT_TRUE(t_.FilesOfSnapshots().empty());
  t_.ExpectHistory(t_.behind());
  ASSERT_NO_FATAL_FAILURE(t_.FindAgain());
  t_.ExpectEqual();
}

TEST_P(SnapshotClusterTest, InTheMiddleOfCompactionsAndDefragmentationsOnBothSides) {
  ASSERT_NO_FATAL_FAILURE(t_.LeaveOneBehind());
  for (int round = 0; round < 4; ++round) {
    const auto compacted = t_.cluster().Propose(t_.leader_number(), RequestKind::kCompaction,
                                                CompactBody(t_.written() - 10 + round));
    ASSERT_TRUE(compacted.has_value()) << compacted.error().message;
    int defragmented = 0;
    const auto count = [&](const Result<void>& result) {
      EXPECT_TRUE(result.has_value());
      ++defragmented;
    };
    t_.leader().store().Defragment(count);
    t_.behind().store().Defragment(count);
    t_.cluster().network().MendAll();
    t_.cluster().RunFor(std::chrono::milliseconds(seed() * 7 % 50));
    t_.behind().store().Defragment(count);
    t_.leader().store().Defragment(count);
    ASSERT_NO_FATAL_FAILURE(t_.Write(3));
    ASSERT_TRUE(t_.cluster().CatchUp());
    ASSERT_TRUE(t_.cluster().RunUntil([&] { return defragmented == 4; }));
    t_.cluster().RunFor(std::chrono::seconds(1));
    t_.ExpectEqual();
    // The leader keeps its log for a follower that has just got a snapshot.
    t_.cluster().RunFor(3 * CatchUpLog::kKeepsUp);
    ASSERT_NO_FATAL_FAILURE(t_.LoseSight(30));
  }
  ASSERT_NO_FATAL_FAILURE(t_.FindAgain());
  EXPECT_GE(t_.cluster().network().snapshots_delivered(), 4U);
  t_.ExpectEqual();
}

raft::Message SnapMessage(SnapshotCluster& t, raft::Index index) {
  auto snapshot = std::make_shared<raft::Snapshot>();
  snapshot->metadata = {
      .conf_state = {.voters = {t.cluster().id(0), t.cluster().id(1), t.cluster().id(2)}},
      .index = index,
      .term = t.leader().local_member().replica().term()};
  return {.type = raft::MessageType::kSnap,
          .to = t.cluster().id(t.behind_number()),
          .from = t.cluster().id(t.leader_number()),
          .term = snapshot->metadata.term,
          .snapshot = std::move(snapshot)};
}

TEST_P(SnapshotClusterTest, RefusesWhatItCannotUse) {
  ASSERT_NO_FATAL_FAILURE(t_.LeaveOneBehind());
  LocalMember& local_member = t_.behind().local_member();
  const raft::Index committed = local_member.replica().commit_index();
  const auto code_of = [&](raft::Message message) {
    const auto begun = local_member.ReceiveSnapshot(std::move(message));
    return begun.has_value() ? Code::kOk : begun.error().code;
  };
  EXPECT_EQ(code_of(SnapMessage(t_, committed)), Code::kFailedPrecondition);
  raft::Message message = SnapMessage(t_, committed + 100);
  message.to = t_.cluster().id(t_.leader_number());
  EXPECT_EQ(code_of(message), Code::kInvalidArgument);
  message = SnapMessage(t_, committed + 100);
  message.snapshot = nullptr;
  EXPECT_EQ(code_of(message), Code::kInvalidArgument);
  message = SnapMessage(t_, committed + 100);
  message.type = raft::MessageType::kApp;
  EXPECT_EQ(code_of(message), Code::kInvalidArgument);
  {
    const auto first = local_member.ReceiveSnapshot(SnapMessage(t_, committed + 100));
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(code_of(SnapMessage(t_, committed + 101)), Code::kUnavailable);
    EXPECT_FALSE((*first)->Write("nonsense of sixteen bytes and more").has_value());
    EXPECT_FALSE((*first)->Finish().has_value());
  }
  EXPECT_EQ(code_of(SnapMessage(t_, committed + 101)), Code::kOk) << "the first one is gone";
  // Without its content, by the way of the small messages.
  local_member.Receive(SnapMessage(t_, committed + 100));
  t_.cluster().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(local_member.replica().commit_index(), committed);
  EXPECT_TRUE(t_.FilesOfSnapshots().empty());
  ASSERT_NO_FATAL_FAILURE(t_.FindAgain());
  t_.ExpectEqual();
}

TEST_P(SnapshotClusterTest, AContentOfAnotherIndexThanItsMessageIsRefused) {
  ASSERT_NO_FATAL_FAILURE(t_.LeaveOneBehind());
  auto content = t_.leader().store().OpenSnapshot().value();
  ASSERT_TRUE(content.source->Use(format()).has_value());
  // etcd's file may lag behind its message, but not be ahead of it.
  const raft::Index index{content.content.consistent_index};
  auto sink = t_.behind().local_member().ReceiveSnapshot(SnapMessage(
      t_, format() == mvcc::SnapshotFormat::kOwn ? index + 1 : raft::Index{index.value() - 1}));
  ASSERT_TRUE(sink.has_value());
  while (true) {
    const SharedBytes chunk = content.source->Next().value();
    if (chunk.empty()) break;
    ASSERT_TRUE((*sink)->Write(chunk.view()).has_value());
  }
  const auto finished = (*sink)->Finish();
  ASSERT_FALSE(finished.has_value());
  EXPECT_THAT(finished.error().message, HasSubstr("its message of index"));
  sink->reset();
  EXPECT_TRUE(t_.FilesOfSnapshots().empty());
}

// A leader that does not know of the first one's arrival yet, since the log's disk is slow.
TEST_P(SnapshotClusterTest, TheSameSnapshotAgainWhileItIsInstalledChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(t_.LeaveOneBehind());
  Lanes& lanes = t_.behind().lanes();
  lanes.Hold(lanes.copier(), true);
  t_.cluster().network().MendAll();
  ASSERT_TRUE(
      t_.cluster().RunUntil([&] { return t_.cluster().network().snapshots_delivered() > 0; }));
  t_.cluster().RunFor(std::chrono::milliseconds(300));
  ASSERT_THAT(t_.FilesOfSnapshots(), testing::SizeIs(1));
  LocalMember& local_member = t_.behind().local_member();
  const raft::Index index = local_member.replica().node().log().snapshot_index();
  ASSERT_GT(index, local_member.replica().applied_index());
  const auto again = local_member.ReceiveSnapshot(SnapMessage(t_, index));
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Code::kFailedPrecondition);
  t_.cluster().RunFor(std::chrono::milliseconds(300));
  EXPECT_THAT(t_.FilesOfSnapshots(), testing::SizeIs(1));
  lanes.Hold(lanes.copier(), false);
  ASSERT_TRUE(t_.cluster().CatchUp());
  t_.ExpectEqual();
}

// From an old term: Raft ignores it.
TEST_P(SnapshotClusterTest, ASnapshotThatRaftIgnoresLeavesNoFile) {
  ASSERT_NO_FATAL_FAILURE(t_.LeaveOneBehind());
  auto content = t_.leader().store().OpenSnapshot().value();
  ASSERT_TRUE(content.source->Use(format()).has_value());
  raft::Message message = SnapMessage(t_, raft::Index{content.content.consistent_index});
  message.term = 1;
  {
    auto sink = t_.behind().local_member().ReceiveSnapshot(std::move(message));
    ASSERT_TRUE(sink.has_value());
    while (true) {
      const SharedBytes chunk = content.source->Next().value();
      if (chunk.empty()) break;
      ASSERT_TRUE((*sink)->Write(chunk.view()).has_value());
    }
    ASSERT_TRUE((*sink)->Finish().has_value());
  }
  EXPECT_THAT(t_.FilesOfSnapshots(), testing::SizeIs(1));
  t_.cluster().RunFor(std::chrono::seconds(1));
  EXPECT_TRUE(t_.FilesOfSnapshots().empty());
  ASSERT_NO_FATAL_FAILURE(t_.FindAgain());
  t_.ExpectEqual();
}

INSTANTIATE_TEST_SUITE_P(Seeds, SnapshotClusterTest,
                         testing::Combine(testing::Range<std::uint64_t>(1, 9),
                                          testing::Values(mvcc::SnapshotFormat::kOwn,
                                                          mvcc::SnapshotFormat::kEtcd)),
                         NameOf);

class SnapshotCrash : public testing::TestWithParam<SeedAndFormat> {};

// From the first byte of the snapshot on, the power goes off at the n-th write of the follower's
// disk, for every n until it gets through without.
TEST_P(SnapshotCrash, APowerCutAtAnyWriteLeavesTheOldStateOrTheNewAndItGoesOn) {
  const auto [seed, format] = GetParam();
  const auto keep = SimFileSystem::kAllKeeps.at(seed % SimFileSystem::kAllKeeps.size());
  int old_states = 0;
  int new_states = 0;
  for (std::uint64_t nth = 1;; ++nth) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", write operation " + std::to_string(nth));
    SnapshotCluster t(seed, format);
    ASSERT_NO_FATAL_FAILURE(t.LeaveOneBehind(30));
    const std::size_t behind = t.behind_number();
    const std::int64_t old_revision = t.behind().store().revision();
    t.cluster().disk(behind).PowerOffAt(nth);
    t.cluster().network().MendAll();
    const bool through = t.cluster().RunUntil([&] {
      return t.cluster().disk(behind).counters().power_cuts > 0 ||
             t.behind().store().revision() == t.written() + 1;
    });
    ASSERT_TRUE(through);
    if (t.cluster().disk(behind).counters().power_cuts == 0) break;
    t.cluster().Crash(behind, keep);
    t.cluster().Isolate(behind);
    const auto restarted = t.cluster().Start(behind);
    ASSERT_TRUE(restarted.has_value()) << restarted.error().message;
    t.cluster().RunFor(std::chrono::milliseconds(50));
    ASSERT_FALSE(t.behind().fatal().has_value()) << t.behind().fatal()->message;
    (t.behind().store().revision() > old_revision ? new_states : old_states)++;
    ASSERT_NO_FATAL_FAILURE(t.ExpectHistory(t.behind()));
    ASSERT_NO_FATAL_FAILURE(t.FindAgain());
    ASSERT_NO_FATAL_FAILURE(t.Write(2));
    ASSERT_TRUE(t.cluster().CatchUp());
    ASSERT_NO_FATAL_FAILURE(t.ExpectEqual());
    ASSERT_TRUE(t.FilesOfSnapshots().empty());
  }
  EXPECT_GT(old_states, 10);
  EXPECT_GT(new_states, 3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SnapshotCrash,
                         testing::Combine(testing::Range<std::uint64_t>(1, 9),
                                          testing::Values(mvcc::SnapshotFormat::kOwn,
                                                          mvcc::SnapshotFormat::kEtcd)),
                         NameOf);

}  // namespace
}  // namespace kvorum::server
