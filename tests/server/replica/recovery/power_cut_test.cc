// The power goes off at every write and sync of a member as it is in production: its log, its
// snapshots and LMDB, by their own calls of the C library (tests/disk/mirrored_calls.h), while it
// puts, deletes, compacts and defragments, and while it installs a leader's snapshot. Of what was
// not synced, in all of its files together, any part may survive (tests/disk/sim_file_system.h).
//
// After each cut, the member starts from what is left. The database is then exactly the state of
// its consistent index; once the log is applied, everything that the member has acknowledged is
// there, in the order in which it was proposed; and HashKV is that of the model at the same
// revision and compaction.
//
// KVORUM_IMAGES_PER_WRITE: the disks that are drawn for each cut, 2 by default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "raft/node.h"
#include "tests/disk/disk_digest.h"
#include "tests/disk/mirrored_calls.h"
#include "tests/mvcc/backend_worlds.h"
#include "tests/mvcc/store_model.h"
#include "tests/mvcc/store_requests.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using Keep = SimFileSystem::Keep;

constexpr std::array kAllKeeps = SimFileSystem::kAllKeeps;
const std::set<std::int64_t> kNoLeases;

// All changes in the order of their proposals, and the model's state after each.
class History {
 public:
  struct Change {
    RequestKind kind;
    std::string body;
  };

  std::size_t size() const { return after_.size() - 1; }
  const mvcc::StoreModel& After(std::size_t changes) const { return after_[changes]; }

  // The next change, which the caller proposes. Each is one entry of the log.
  Change Next(Rng& rng) {
    mvcc::StoreModel& model = after_.emplace_back(after_.back());
    const std::int64_t revision = model.revision();
    const std::string key = "key" + std::to_string(rng.Below(7));
    if (size() % 9 == 0 && revision - 3 > model.compact_revision()) {
      model.Compact(revision - 3);
      return {RequestKind::kCompaction, CompactBody(revision - 3)};
    }
    const std::string value =
        std::to_string(size()) + std::string(rng.OneIn(12) ? 5000 : rng.Below(300), 'x');
    switch (rng.Below(5)) {
      case 0:
        model.Delete(mvcc::Delete("key2", key));
        return {RequestKind::kDeleteRange, DeleteBody("key2", key)};
      case 1:
        model.Txn(mvcc::Txn(mvcc::List(mvcc::Put(key, value), mvcc::Put("other", value))));
        return {RequestKind::kTxn, PutTxnBody({key, "other"}, value)};
      default:
        model.Put(mvcc::Put(key, value));
        return {RequestKind::kPut, PutBody(key, value)};
    }
  }

  // The entry before the first change; nullopt until it is known.
  std::optional<raft::Index> base;
  // The member has said that it keeps the log up to here.
  raft::Index acknowledged = 0;

 private:
  std::vector<mvcc::StoreModel> after_{mvcc::StoreModel(kNoLeases)};
};

// The store's difference from the state after an entry; empty if there is none.
std::string DifferenceFrom(const History& history, mvcc::Store& store, raft::Index index) {
  if (!history.base.has_value()) return {};
  if (index > *history.base + history.size()) return "something was applied that nobody proposed";
  const std::size_t changes = index > *history.base ? index - *history.base : 0;
  const mvcc::StoreModel& model = history.After(changes);
  const std::string at = " after change " + std::to_string(changes);
  if (store.revision() != model.revision()) {
    return "revision " + std::to_string(store.revision()) + " instead of " +
           std::to_string(model.revision()) + at;
  }
  if (store.compact_revision() != model.compact_revision()) return "another compaction" + at;
  const auto hash = store.HashKv(0);
  if (!hash.has_value()) return "no HashKV: " + hash.error().message + at;
  if (hash->hash != model.Hash(model.compact_revision(), model.revision()))
    return "another HashKV" + at;
  store.CheckInvariants();
  return {};
}

// Brings a restarted member up to date with what was acknowledged; returns the last index that it
// has applied of the log that the cut left.
using CatchUp = std::function<Result<raft::Index>(SmallMember&)>;

class PowerCuts {
 public:
  PowerCuts(SimFileSystem& disk, std::uint64_t seed, CatchUp catch_up)
      : disk_(disk), catch_up_(std::move(catch_up)), rng_(seed * 1000), mirrored_(disk, root()) {}
  ~PowerCuts() { disk_.SetObserver(nullptr); }
  PowerCuts(const PowerCuts&) = delete;
  PowerCuts& operator=(const PowerCuts&) = delete;

  std::string root() const { return folder_ / "data"; }
  History& history() { return history_; }
  // From here on: `keeps` are what may become of data that was not synced.
  void Begin(std::vector<Keep> keeps) {
    keeps_ = std::move(keeps);
    disk_.SetObserver([this] { Cut(); });
  }
  void End() { disk_.SetObserver(nullptr); }

  // Different disks from which the member started, with more to show each time.
  std::size_t images() const { return images_; }
  // True if one of them had a file of such a name.
  bool Had(std::string_view suffix) const {
    return std::ranges::any_of(names_, [&](const auto& name) { return name.ends_with(suffix); });
  }
  // The first one; nothing is cut any more after it.
  const std::string& fault() const { return fault_; }

 private:
  static int ImagesPerWrite() {
    const char* const text = std::getenv("KVORUM_IMAGES_PER_WRITE");
    return text == nullptr ? 2 : std::atoi(text);
  }

  void Cut() {
    if (shown_ != std::pair(history_.size(), history_.acknowledged)) {
      shown_ = {history_.size(), history_.acknowledged};
      checked_.clear();
    }
    for (int i = 0; fault_.empty() && i < images_per_write_; ++i) {
      const Keep keep = keeps_[rng_.Below(keeps_.size())];
      const auto image = disk_.CrashImage(keep, rng_);
      if (!checked_.insert(DigestOf(*image)).second) continue;
      ++images_;
      fault_ = Restart(*image);
      if (!fault_.empty()) {
        fault_ += ", at write operation " + std::to_string(disk_.operations()) + ", keep " +
                  std::to_string(static_cast<int>(keep));
      }
    }
  }

  std::string Restart(SimFileSystem& image) {
    const std::filesystem::path scratch = folder_ / "image";
    std::filesystem::remove_all(scratch);
    std::filesystem::create_directories(scratch);
    CopyTo(scratch, image, root());
    SmallMember member(PosixFileSystem(), images_);
    member.UseLmdb(scratch);
    // Some starts hold little of the log, and learn from the database which part they need.
    if (images_ % 2 == 0) member.options().raft.catch_up_size_bytes = 300;
    if (const auto started = member.Start(); !started.has_value())
      return "it does not start: " + started.error().message;
    const raft::Index index{member.store().recovered().consistent_index};
    std::string difference = DifferenceFrom(history_, member.store(), index);
    if (!difference.empty()) return "the database differs: " + difference;
    const Result<raft::Index> applied = catch_up_(member);
    if (!applied.has_value()) return "it does not catch up: " + applied.error().message;
    if (*applied < history_.acknowledged) return "an acknowledged write is gone";
    difference = DifferenceFrom(history_, member.store(), *applied);
    return difference.empty() ? "" : "the log differs: " + difference;
  }

  void CopyTo(const std::filesystem::path& to, SimFileSystem& image, const std::string& from) {
    const auto names = image.List(from);
    if (!names.has_value()) return;
    for (const std::string& name : *names) {
      names_.insert(name);
      const std::string path = from + "/" + name;
      if (image.List(path).has_value()) {
        std::filesystem::create_directory(to / name);
        std::filesystem::permissions(to / name, std::filesystem::perms::owner_all);
        CopyTo(to / name, image, path);
      } else if (const auto content = ReadWholeFile(image, path, std::uint64_t{1} << 30)) {
        std::ofstream(to / name, std::ios::binary) << *content;
      }
    }
  }

  SimFileSystem& disk_;
  const CatchUp catch_up_;
  const int images_per_write_ = ImagesPerWrite();
  mvcc::TestFolder folder_;
  Rng rng_;
  MirroredCalls mirrored_;
  History history_;
  std::vector<Keep> keeps_;
  std::pair<std::size_t, raft::Index> shown_;
  std::set<std::uint64_t> checked_;  // digests, since more was proposed or acknowledged
  std::set<std::string> names_;      // of their files
  std::size_t images_ = 0;
  std::string fault_;
};

// A sole voter: its clients' answers are its acknowledgements.
class LoneMember {
 public:
  explicit LoneMember(std::uint64_t seed)
      : cuts_(disk_, seed, CommitAll), member_(PosixFileSystem(), seed), rng_(seed) {
    member_.UseLmdb(cuts_.root());
  }

  void Run(std::size_t changes) {
    const auto started = member_.Start();
    ASSERT_TRUE(started.has_value()) << started.error().message;
    ASSERT_TRUE(member_.CatchUp());
    cuts_.history().base = Applied();
    ASSERT_TRUE(member_.lanes().RunUntil([&] {
      while (cuts_.history().size() < std::min(changes, acknowledged_ + 4)) Propose();
      return acknowledged_ == changes || member_.fatal().has_value() || !cuts_.fault().empty();
    }));
    if (!cuts_.fault().empty()) return;
    member_.lanes().RunFor(std::chrono::seconds(1));  // the last commits and compactions
    ASSERT_FALSE(member_.fatal().has_value()) << member_.fatal()->message;
    ASSERT_EQ(Applied(), *cuts_.history().base + changes) << "each change is one entry";
  }

  SimFileSystem& disk() { return disk_; }
  PowerCuts& cuts() { return cuts_; }
  std::size_t defragmented() const { return defragmented_; }

 private:
  // It elects itself, which adds an entry, and commits its whole log.
  static Result<raft::Index> CommitAll(SmallMember& member) {
    if (!member.CatchUp()) return Fail(member.fatal().value_or(Error{}));
    return member.local_member().replica().applied_index() - 1;
  }

  raft::Index Applied() { return member_.local_member().replica().applied_index(); }

  void Propose() {
    const History::Change change = cuts_.history().Next(rng_);
    member_.Propose(change.kind, change.body, [this](const Result<ApplyResult::Value>& outcome) {
      EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
      cuts_.history().acknowledged = *cuts_.history().base + ++acknowledged_;
    });
    if (cuts_.history().size() % 20 == 0) {
      member_.store().Defragment(
          [this](const Result<void>& done) { defragmented_ += done.has_value() ? 1 : 0; });
    }
  }

  SimFileSystem disk_;
  PowerCuts cuts_;
  SmallMember member_;
  Rng rng_;
  std::size_t acknowledged_ = 0;
  std::size_t defragmented_ = 0;
};

class PowerCutTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PowerCutTest, OfALoneMemberLosesNothingAcknowledged) {
  LoneMember member(GetParam());
  member.cuts().Begin({kAllKeeps.begin(), kAllKeeps.end()});
  ASSERT_NO_FATAL_FAILURE(member.Run(100));
  EXPECT_EQ(member.cuts().fault(), "");
  RecordProperty("images", std::to_string(member.cuts().images()));
  EXPECT_GE(member.cuts().images(), 600U);
  EXPECT_GE(member.defragmented(), 2U);
  EXPECT_TRUE(member.cuts().Had("db.tmp")) << "no defragmentation was cut off";
}

// A follower that gets the database, since its leader's log begins behind its own. The two others
// are on disks that are whole.
class Follower {
 public:
  static constexpr std::size_t kNumber = 0;

  explicit Follower(std::uint64_t seed)
      : cluster_(3, seed),
        cuts_(cluster_.disk(kNumber), seed, [this](auto& member) { return HearOfLeader(member); }),
        rng_(seed) {
    cluster_.UseLmdb(kNumber, cuts_.root());
    cluster_.network().SetFilter([this](const raft::Message& message) {
      raft::Index& acknowledged = cuts_.history().acknowledged;
      if (message.from == cluster_.id(kNumber) && message.type == raft::MessageType::kAppResp &&
          !message.reject)
        acknowledged = std::max(acknowledged, message.index);
      return false;
    });
  }

  // Cuts are taken once it follows.
  void Run(std::vector<Keep> keeps) {
    ASSERT_TRUE(cluster_.Start(1).has_value());
    ASSERT_TRUE(cluster_.Start(2).has_value());
    leader_ = cluster_.WaitForLeader().value();
    ASSERT_TRUE(cluster_.Start(kNumber).has_value());
    ASSERT_TRUE(cluster_.ReadIndex(leader_).has_value());  // behind the first entry of its term
    ASSERT_TRUE(cluster_.CatchUp());
    cuts_.history().base = cluster_.replica(leader_).commit_index();
    cuts_.Begin(std::move(keeps));
    Write(8);
    ASSERT_TRUE(cluster_.CatchUp());
    cluster_.Isolate(kNumber);
    Write(40);
    cluster_.RunFor(std::chrono::milliseconds(500));
    cluster_.network().MendAll();
    ASSERT_TRUE(cluster_.CatchUp());
    Write(20);
    cluster_.RunFor(std::chrono::seconds(1));
    ASSERT_FALSE(cluster_.member(kNumber).fatal().has_value());
    ASSERT_EQ(cluster_.replica(leader_).commit_index(),
              *cuts_.history().base + cuts_.history().size());
  }

  SimFileSystem& disk() { return cluster_.disk(kNumber); }
  PowerCuts& cuts() { return cuts_; }
  std::size_t snapshots() { return cluster_.network().snapshots_delivered(); }

 private:
  // The leader would tell it that all is committed that the follower has said it has.
  Result<raft::Index> HearOfLeader(SmallMember& member) {
    const raft::Index acknowledged = cuts_.history().acknowledged;
    const Replica& replica = member.local_member().replica();
    if (acknowledged == 0) return replica.applied_index();
    member.local_member().Receive({.type = raft::MessageType::kHeartbeat,
                                   .to = cluster_.id(kNumber),
                                   .from = cluster_.id(leader_),
                                   .term = cluster_.replica(leader_).term(),
                                   .commit = acknowledged});
    member.lanes().RunUntil(
        [&] { return replica.applied_index() >= acknowledged || member.fatal().has_value(); },
        std::chrono::seconds(10));
    if (member.fatal().has_value()) return Fail(*member.fatal());
    return replica.applied_index();
  }

  void Write(int count) {
    for (int i = 0; i < count; ++i) {
      const History::Change change = cuts_.history().Next(rng_);
      const auto written = cluster_.Propose(leader_, change.kind, change.body);
      ASSERT_TRUE(written.has_value()) << written.error().message;
    }
  }

  SmallCluster cluster_;
  PowerCuts cuts_;
  Rng rng_;
  std::size_t leader_ = 0;
};

TEST_P(PowerCutTest, OfAFollowerThatInstallsASnapshotLosesNothingAcknowledged) {
  Follower follower(GetParam());
  ASSERT_NO_FATAL_FAILURE(follower.Run({kAllKeeps.begin(), kAllKeeps.end()}));
  EXPECT_EQ(follower.cuts().fault(), "");
  EXPECT_GE(follower.snapshots(), 1U);
  RecordProperty("images", std::to_string(follower.cuts().images()));
  EXPECT_GE(follower.cuts().images(), 200U);
  EXPECT_TRUE(follower.cuts().Had(".snap.db.part")) << "no snapshot was cut off";
  EXPECT_TRUE(follower.cuts().Had(".snap.db")) << "none was there and not installed";
}

INSTANTIATE_TEST_SUITE_P(Seeds, PowerCutTest, testing::Range<std::uint64_t>(1, 4));

// Syncs that a member leaves out, of which the tests above must find the loss.
struct LeftOut {
  const char* name;
  bool (*is)(const std::string& path);
  const char* fault;
};

class PowerCutCanary : public testing::TestWithParam<LeftOut> {};

TEST_P(PowerCutCanary, ALeftOutSyncIsFound) {
  LoneMember member(1);
  member.disk().LeaveOutSyncs(GetParam().is);
  member.cuts().Begin({Keep::kNothing});
  ASSERT_NO_FATAL_FAILURE(member.Run(100));
  EXPECT_THAT(member.cuts().fault(), testing::HasSubstr(GetParam().fault));
}

TEST(PowerCutFollowerCanary, ALeftOutSyncOfTheReceivedSnapshotIsFound) {
  Follower follower(1);
  follower.disk().LeaveOutSyncs([](const std::string& path) { return path.contains(".snap.db"); });
  ASSERT_NO_FATAL_FAILURE(follower.Run({Keep::kNothing}));
  EXPECT_THAT(follower.cuts().fault(), testing::HasSubstr("the file is truncated"));
}

// The log's marker may be there and the database's name not.
TEST(PowerCutFollowerCanary, ALeftOutSyncOfTheFolderOfTheReceivedSnapshotIsFound) {
  Follower follower(1);
  follower.disk().LeaveOutSyncs([](const std::string& path) { return path.ends_with("/snap"); });
  ASSERT_NO_FATAL_FAILURE(follower.Run({Keep::kNothing}));
  EXPECT_THAT(follower.cuts().fault(), testing::HasSubstr("follows a received snapshot at"));
}

INSTANTIATE_TEST_SUITE_P(
    , PowerCutCanary,
    testing::Values(
        LeftOut{"OfTheLog", [](const std::string& path) { return path.contains("/wal/"); },
                "the segment's head lacks a record"},
        LeftOut{"OfTheLogsNames", [](const std::string& path) { return path.ends_with("/wal"); },
                "an acknowledged write is gone"},
        LeftOut{"OfTheDatabase", [](const std::string& path) { return path.contains("/snap/db"); },
                "the file is truncated"},
        LeftOut{"OfTheDatabasesName",
                [](const std::string& path) { return path.ends_with("/snap"); },
                "begins with entry"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kvorum::server
