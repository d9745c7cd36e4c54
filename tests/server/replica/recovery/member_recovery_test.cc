// The assembly of a member: the log it begins with, the database that belongs to it, and the
// members it knows before its log has named them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/entries/conf_state_json.h"
#include "api/member_id.h"
#include "base/log/logging.h"
#include "datadir/snapshot_files.h"
#include "server/peer/transport/peer_request.h"
#include "server/replica/recovery/backend_recovery.h"
#include "server/replica/recovery/joining.h"
#include "server/replica/recovery/known_peers.h"
#include "server/replica/recovery/local_member_options.h"
#include "server/replica/recovery/log_recovery.h"
#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kInitialCluster = "a=http://10.0.0.1:2380,b=http://10.0.0.2:2380";

LocalMemberOptions OptionsNamed(const std::string& name = "a") {
  SetLogLevel(LogLevel::kError);
  LocalMemberOptions options;
  options.name = name;
  options.initial_cluster = kInitialCluster;
  options.initial_cluster_token = "token";
  options.wal_dir = "/wal";
  options.snap_dir = "/snap";
  options.wal.segment_size_bytes = 4096;
  options.wal.reserve_size_bytes = 0;
  return options;
}

// ---- the log ----

class LogRecoveryTest : public ::testing::Test {
 protected:
  LogRecoveryTest() { EXPECT_TRUE(fs_.MakeDirectories("/snap").has_value()); }

  Result<RecoveredLog> Recover(const LocalMemberOptions& options = OptionsNamed()) {
    return RecoverLog(
        fs_, [this](const std::string& path) { return mvcc::OpenMemoryBackend(fs_, path); },
        options);
  }
  std::string ErrorOf(const Result<RecoveredLog>& log) {
    return log.has_value() ? "" : log.error().message;
  }

  SimFileSystem fs_;
};

TEST_F(LogRecoveryTest, ANewClustersLogBeginsWithItsMembers) {
  const auto log = Recover();
  ASSERT_TRUE(log.has_value()) << log.error().message;
  EXPECT_EQ(log->restart.entries.size(), 2U);
  EXPECT_EQ(log->restart.hard_state.commit, 2U);
  EXPECT_EQ(log->remotes.size(), 2U);
  EXPECT_EQ(log->snapshot_index, 0U);
}

TEST_F(LogRecoveryTest, ARestartFindsTheSameMemberAndEntries) {
  const wal::Metadata first = Recover()->metadata;
  const auto again = Recover();
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->metadata, first);
  EXPECT_EQ(again->restart.entries.size(), 2U);
  EXPECT_THAT(again->remotes, IsEmpty()) << "the entries tell";
}

TEST_F(LogRecoveryTest, AMemberThatTheInitialClusterLacksIsRefused) {
  EXPECT_THAT(ErrorOf(Recover(OptionsNamed("c"))), HasSubstr("couldn't find local name \"c\""));
}

// The process ended between the log's making and its first entries.
TEST_F(LogRecoveryTest, ALogWithoutEntriesBeginsAgain) {
  const wal::Metadata ours = Recover()->metadata;
  SimFileSystem fresh;
  ASSERT_TRUE(fresh.MakeDirectories("/snap").has_value());
  ASSERT_TRUE(wal::Create(fresh, "/wal", ours, OptionsNamed().wal).has_value());
  const auto log = RecoverLog(
      fresh, [&](const std::string& path) { return mvcc::OpenMemoryBackend(fresh, path); },
      OptionsNamed());
  ASSERT_TRUE(log.has_value()) << log.error().message;
  EXPECT_EQ(log->restart.entries.size(), 2U);
}

TEST_F(LogRecoveryTest, ALogWithoutEntriesOfAnotherMemberIsRefusedUnlessItJoins) {
  ASSERT_TRUE(
      wal::Create(fs_, "/wal", {.node_id = 5, .cluster_id = 6}, OptionsNamed().wal).has_value());
  EXPECT_THAT(ErrorOf(Recover()), HasSubstr("was begun for another member or cluster"));
  LocalMemberOptions joining = OptionsNamed();
  joining.join_existing = true;
  const auto log = Recover(joining);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  EXPECT_THAT(log->restart.entries, IsEmpty());
  EXPECT_EQ(log->metadata.node_id, 5U);
}

TEST_F(LogRecoveryTest, WhoJoinsMustHaveSomebodyToAsk) {
  LocalMemberOptions joining = OptionsNamed();
  joining.join_existing = true;
  EXPECT_THAT(ErrorOf(Recover(joining)), HasSubstr("cannot fetch cluster info from peer urls"));
  EXPECT_FALSE(wal::Exists(fs_, "/wal").value()) << "nothing is left behind";
}

TEST(LogAndBackendTest, TheBackendLiesBetweenTheLogsSnapshotAndItsEnd) {
  RecoveredLog log;
  log.snapshot_index = 10;
  log.restart.snapshot_index = 10;
  EXPECT_TRUE(CheckFitsBackend(log, 10).has_value());
  log.restart.entries = {{.term = 1, .index = 11}, {.term = 1, .index = 12}};
  EXPECT_TRUE(CheckFitsBackend(log, 12).has_value());
  const auto old = CheckFitsBackend(log, 9);
  ASSERT_FALSE(old.has_value());
  EXPECT_EQ(old.error().code, Code::kDataLoss);
  EXPECT_THAT(old.error().message, HasSubstr("replaced by an old copy"));
  const auto ahead = CheckFitsBackend(log, 13);
  ASSERT_FALSE(ahead.has_value());
  EXPECT_THAT(ahead.error().message, HasSubstr("the log ends at index 12"));
}

TEST(LogAndBackendTest, RaftBeginsWhereTheBackendIs) {
  raft::Restart restart{.applied = 10, .conf_state = {.voters = {1}}};
  const std::string conf_state = EncodeConfStateJson({.voters = {1, 2}});
  const auto at = [&](std::uint64_t index, const std::string& conf) {
    return StartAtBackend(
        restart, {.consistent_index = index, .term = 1, .conf_state = conf, .storage_version = {}});
  };
  ASSERT_TRUE(at(9, "not looked at").has_value());
  EXPECT_EQ(restart.applied, 10U);
  EXPECT_FALSE(at(11, "no configuration").has_value());
  ASSERT_TRUE(at(12, conf_state).has_value());
  EXPECT_EQ(restart.applied, 12U);
  EXPECT_EQ(restart.conf_state.voters.size(), 2U);
}

// ---- the database ----

class BackendRecoveryTest : public ::testing::Test {
 protected:
  BackendRecoveryTest() {
    SetLogLevel(LogLevel::kError);
    EXPECT_TRUE(fs_.MakeDirectories("/snap").has_value());
  }

  void Make(const std::string& path) {
    ASSERT_TRUE(fs_.Open(path, SimFileSystem::OpenMode::kCreate).has_value());
  }
  Result<std::unique_ptr<mvcc::Backend>> Open(raft::Index snapshot_index) {
    return OpenMemberBackend(
        fs_,
        [this](const std::string& path) {
          opened_.push_back(path);
          return mvcc::OpenMemoryBackend(fs_, path);
        },
        "/snap", "/quarantined", snapshot_index);
  }
  bool IsThere(const std::string& path) { return fs_.Exists(path).value(); }

  SimFileSystem fs_;
  std::vector<std::string> opened_;
};

TEST_F(BackendRecoveryTest, WithoutADatabaseNothingIsApplied) {
  const auto never = [](const std::string&) -> Result<std::unique_ptr<mvcc::Backend>> {
    return Fail(Code::kUnknown, "opened");
  };
  EXPECT_EQ(AppliedIndex(fs_, never, "/snap"), 0U);
}

TEST_F(BackendRecoveryTest, AReceivedSnapshotThatTheLogHasAMarkerOfTakesTheDatabasesPlace) {
  Make(datadir::ReceivedSnapshotPath("/snap", 20));
  const auto opened = Open(20);  // empty as it is here, it is not a database
  EXPECT_FALSE(opened.has_value());
  EXPECT_THAT(opened_, ElementsAre("/snap/db"));
  EXPECT_TRUE(IsThere("/snap/db"));
  EXPECT_FALSE(IsThere(datadir::ReceivedSnapshotPath("/snap", 20)));
}

TEST_F(BackendRecoveryTest, WhatElseIsLeftOfReceivedOnesIsRemoved) {
  Make(datadir::ReceivedSnapshotPath("/snap", 30));
  ASSERT_TRUE(Open(20).has_value());
  EXPECT_THAT(opened_, ElementsAre("/snap/db"));
  EXPECT_FALSE(IsThere(datadir::ReceivedSnapshotPath("/snap", 30)));
}

TEST_F(BackendRecoveryTest, ADatabaseThatCannotBeReplacedIsNotOpened) {
  Make(datadir::ReceivedSnapshotPath("/snap", 20));
  fs_.FailPath(SimFileSystem::Operation::kRename, "/snap/", SimFileSystem::Fault::kIoError);
  EXPECT_FALSE(Open(20).has_value());
  EXPECT_THAT(opened_, IsEmpty());
}

// ---- known members ----

// Answers /members, or nothing.
struct Others final : PeerRequester {
  void AskAll(std::string_view, const std::vector<std::string>& urls, std::string_view, Duration,
              const Take& take) override {
    for (const std::string& url : urls) {
      asked.push_back(url);
      if (!view.has_value()) {
        take(url, Fail(Code::kUnavailable, "connection refused"));
        continue;
      }
      if (take(url, PeerAnswer{.status = 200,
                               .cluster_id = IdText(cluster_id),
                               .body = EncodeMembersJson(*view)}))
        return;
    }
  }
  std::string Resolve(const std::string& url) override { return url; }

  std::optional<MembershipView> view;
  std::uint64_t cluster_id = 6;
  std::vector<std::string> asked;
};

class KnownPeersTest : public ::testing::Test {
 protected:
  static constexpr raft::MemberId kSelf = 1;

  static MembershipView ViewOf(std::vector<raft::MemberId> ids) {
    MembershipView view;
    for (const raft::MemberId id : ids)
      view.members[id] = {.id = id,
                          .peer_urls = {"http://10.0.0." + std::to_string(id.value()) + ":2380"},
                          .name = {},
                          .client_urls = {}};
    return view;
  }
  static std::vector<Member> MembersOf(std::vector<raft::MemberId> ids) {
    std::vector<Member> members;
    for (auto& [id, member] : ViewOf(std::move(ids)).members) members.push_back(member);
    return members;
  }
  static std::vector<raft::MemberId> Seen(const KnownPeers& peers, MembershipView view,
                                          raft::Index applied = 0) {
    std::vector<raft::MemberId> ids;
    const auto seen = peers.View(std::make_shared<const MembershipView>(std::move(view)), applied);
    for (const auto& [id, member] : seen->members) ids.push_back(id);
    return ids;
  }
  LocalMemberOptions Joining() {
    LocalMemberOptions options = OptionsNamed();
    options.join_existing = true;
    options.peers = &others_;
    return options;
  }

  Others others_;
};

TEST_F(KnownPeersTest, AMemberKnowsWhomItsStateHasAndWhomItWasToldOf) {
  EXPECT_EQ(Seen(KnownPeers(kSelf, {}), ViewOf({1, 2})), std::vector<raft::MemberId>({1, 2}));
  EXPECT_EQ(Seen(KnownPeers(kSelf, MembersOf({2, 3})), ViewOf({1, 2})),
            std::vector<raft::MemberId>({1, 2, 3}));
}

TEST_F(KnownPeersTest, WhoWasRemovedIsKnownNoMore) {
  MembershipView view = ViewOf({1, 2});
  view.removed = {3};
  EXPECT_EQ(Seen(KnownPeers(kSelf, MembersOf({2, 3})), view), std::vector<raft::MemberId>({1, 2}));
}

TEST_F(KnownPeersTest, WhereNothingIsAddedTheStatesOwnViewIsShared) {
  const auto view = std::make_shared<const MembershipView>(ViewOf({1, 2}));
  EXPECT_EQ(KnownPeers(kSelf, {}).View(view, 0), view);
}

// The others may still run: they must be ignored.
TEST_F(KnownPeersTest, AForcedClusterKnowsNobodyUntilTheOthersRemovalIsApplied) {
  KnownPeers peers(kSelf, {});
  peers.ForceAlone(30);
  EXPECT_EQ(Seen(peers, ViewOf({1, 2, 3}), 29), std::vector{raft::MemberId(1)});
  EXPECT_EQ(Seen(peers, ViewOf({1, 4}), 30), std::vector<raft::MemberId>({1, 4}));
}

TEST_F(KnownPeersTest, AMemberThatWasRemovedDoesNotRun) {
  MembershipView view = ViewOf({2});
  view.removed = {kSelf};
  const auto checked = KnownPeers(kSelf, {}).Check(view, 6, OptionsNamed());
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(checked.error().message, HasSubstr("permanently removed"));
}

TEST_F(KnownPeersTest, AMemberThatItsOwnStateKnowsAsksNobody) {
  EXPECT_TRUE(KnownPeers(kSelf, {}).Check(ViewOf({1}), 6, Joining()).has_value());
  EXPECT_TRUE(KnownPeers(kSelf, MembersOf({2})).Check(ViewOf({}), 6, Joining()).has_value());
  EXPECT_TRUE(KnownPeers(kSelf, {}).Check(ViewOf({}), 6, OptionsNamed()).has_value());
  EXPECT_THAT(others_.asked, IsEmpty());
}

TEST_F(KnownPeersTest, OneThatHasJoinedAndHeardNothingYetAsksWhoTheOthersAre) {
  others_.view = ViewOf({2, 3});
  KnownPeers peers(kSelf, {});
  ASSERT_TRUE(peers.Check(ViewOf({}), 6, Joining()).has_value());
  EXPECT_THAT(others_.asked, ElementsAre("http://10.0.0.2:2380"));
  EXPECT_EQ(Seen(peers, ViewOf({})), std::vector<raft::MemberId>({2, 3}));
}

TEST_F(KnownPeersTest, OthersThatCannotBeReachedAreNoReasonNotToRun) {
  KnownPeers peers(kSelf, {});
  EXPECT_TRUE(peers.Check(ViewOf({}), 6, Joining()).has_value());
  EXPECT_THAT(Seen(peers, ViewOf({})), IsEmpty());
}

TEST_F(KnownPeersTest, OthersOfAnotherClusterAreOne) {
  others_.view = ViewOf({2, 3});
  others_.cluster_id = 7;
  const auto checked = KnownPeers(kSelf, {}).Check(ViewOf({}), 6, Joining());
  ASSERT_FALSE(checked.has_value());
  EXPECT_THAT(checked.error().message, HasSubstr("cluster ID mismatch"));
}

}  // namespace
}  // namespace kvorum::server
