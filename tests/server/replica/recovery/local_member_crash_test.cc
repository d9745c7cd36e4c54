// A member under a power cut at every write and sync of its log, its snapshots and its backend, and
// with disk errors at every one of them.
//
// Fault model: tests/disk/sim_file_system.h. Whichever of the unsynced writes are kept, lost, torn
// or turned to garbage, a restart must find every acknowledged write at its revision, nothing that
// was never requested, and go on.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "tests/disk/disk_digest.h"
#include "tests/server/replica/small_member.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

// Every change of the workload makes exactly one revision, so the n-th one proposed is at revision
// n + 1, against which a restart is checked.
struct Change {
  std::vector<std::string> keys;
  std::string value;  // empty: deleted
};

struct WorkloadHistory {
  std::vector<Change> proposed;
  std::size_t acknowledged = 0;         // of `proposed`, from the front
  std::int64_t compacted_revision = 0;  // acknowledged
  std::int64_t may_be_compacted = 0;    // asked for
};

class Workload {
 public:
  Workload(SmallMember& member, std::uint64_t seed) : member_(member), rng_(seed) {}

  // Keeps a few changes in flight until all are acknowledged; false if the member stopped
  // answering.
  bool Run(std::size_t changes) {
    return member_.lanes().RunUntil([&] {
      while (history_.proposed.size() < changes &&
             history_.proposed.size() < history_.acknowledged + 4)
        ProposeNext();
      return history_.acknowledged == changes || failed_ || member_.fatal().has_value();
    });
  }
  const WorkloadHistory& history() const { return history_; }
  bool failed() const { return failed_; }

 private:
  void ProposeNext() {
    const std::size_t number = history_.proposed.size();
    const std::string key = "key" + std::to_string(rng_.Below(5));
    const std::string value = "value" + std::to_string(number) + std::string(rng_.Below(300), 'x');
    if (number % 9 == 8 && history_.acknowledged > 4) ProposeCompaction();
    switch (rng_.Below(4)) {
      case 0:
        return Propose(RequestKind::kTxn, {.keys = {key, "other"}, .value = value},
                       PutTxnBody({key, "other"}, value));
      case 1:
        if (!live_.empty()) {
          const std::string victim = *live_.begin();
          live_.erase(victim);
          return Propose(RequestKind::kDeleteRange, {.keys = {victim}, .value = {}},
                         DeleteBody(victim));
        }
        [[fallthrough]];
      default:
        return Propose(RequestKind::kPut, {.keys = {key}, .value = value}, PutBody(key, value));
    }
  }

  void Propose(RequestKind kind, Change change, const std::string& body) {
    if (!change.value.empty()) live_.insert(change.keys.begin(), change.keys.end());
    history_.proposed.push_back(std::move(change));
    member_.Propose(kind, body, [this](const Result<ApplyResult::Value>& outcome) {
      if (!outcome.has_value()) {
        failed_ = true;
        return;
      }
      ++history_.acknowledged;
    });
  }

  void ProposeCompaction() {
    const auto revision = static_cast<std::int64_t>(history_.acknowledged) - 2;
    if (revision <= history_.may_be_compacted) return;
    history_.may_be_compacted = revision;
    member_.Propose(RequestKind::kCompaction, CompactBody(revision),
                    [this, revision](const Result<ApplyResult::Value>& outcome) {
                      if (outcome.has_value()) history_.compacted_revision = revision;
                    });
  }

  SmallMember& member_;
  Rng rng_;
  WorkloadHistory history_;
  std::set<std::string> live_;
  bool failed_ = false;
};

// Restarts a member on the disk and holds it against the history.
void CheckRestart(FileSystem& disk, const WorkloadHistory& history, std::uint64_t seed) {
  SmallMember member(disk, seed);
  // Some starts hold little of the log, and learn from the database which part they need.
  if (seed % 2 == 0) member.options().raft.catch_up_size_bytes = 300;
  const auto started = member.Start();
  ASSERT_TRUE(started.has_value()) << started.error().message;
  ASSERT_TRUE(member.CatchUp()) << member.fatal().value_or(Error{}).message;

  mvcc::Store& store = member.store();
  const auto changes = static_cast<std::size_t>(store.revision() - 1);
  ASSERT_GE(changes, history.acknowledged) << "an acknowledged write is gone";
  ASSERT_LE(changes, history.proposed.size()) << "a write was applied twice or out of nothing";
  ASSERT_GE(store.compact_revision(),
            history.compacted_revision == 0 ? -1 : history.compacted_revision);
  ASSERT_LE(store.compact_revision(), history.may_be_compacted);
  for (std::size_t i = 0; i < changes; ++i) {
    const auto revision = static_cast<std::int64_t>(i) + 2;
    if (revision < store.compact_revision()) continue;
    const Change& change = history.proposed[i];
    for (const std::string& key : change.keys) {
      const auto value = member.Get(key, revision);
      ASSERT_TRUE(value.has_value()) << value.error().message << " at revision " << revision;
      ASSERT_EQ(value->value_or(""), change.value) << key << " at revision " << revision;
    }
  }
  member.local_member().CheckInvariants();

  bool answered = false;
  member.Propose(
      RequestKind::kPut, PutBody("after", "the crash"),
      [&](const Result<ApplyResult::Value>& outcome) { answered = outcome.has_value(); });
  ASSERT_TRUE(member.lanes().RunUntil([&] { return answered || member.fatal().has_value(); }));
  ASSERT_TRUE(answered);
}

class LocalMemberCrash : public testing::TestWithParam<std::uint64_t> {
 protected:
  // The draws of survivors among the writes that are not durable yet: none, all, random pieces.
  static constexpr int kDraws = 24;
  static SimFileSystem::Keep KeepOf(int draw) {
    using Keep = SimFileSystem::Keep;
    if (draw < 2) return draw == 0 ? Keep::kNothing : Keep::kAll;
    return draw % 2 == 0 ? Keep::kRandom : Keep::kGarbage;
  }
};

TEST_P(LocalMemberCrash, APowerCutAtAnyWriteLosesNothingAcknowledged) {
  const std::uint64_t seed = GetParam();
  constexpr std::size_t kChanges = 60;
  SimFileSystem disk;
  SmallMember member(disk, seed);
  const Workload* workload = nullptr;
  Rng crashes(seed * 1000);
  std::set<std::uint64_t> states;   // digests: the same disk counts once
  std::set<std::uint64_t> checked;  // since more must be there than before
  std::pair<std::size_t, std::int64_t> must_show;
  disk.SetObserver([&] {
    if (testing::Test::HasFatalFailure()) return;
    const WorkloadHistory history = workload != nullptr ? workload->history() : WorkloadHistory{};
    const std::pair shown(history.acknowledged, history.compacted_revision);
    if (shown != std::exchange(must_show, shown)) checked.clear();
    for (int draw = 0; draw < kDraws; ++draw) {
      const SimFileSystem::Keep keep = KeepOf(draw);
      const auto image = disk.CrashImage(keep, crashes);
      const std::uint64_t digest = DigestOf(*image);
      states.insert(digest);
      if (!checked.insert(digest).second) continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + ", write operation " +
                   std::to_string(disk.operations()) + ", keep " +
                   std::to_string(static_cast<int>(keep)));
      CheckRestart(*image, history, seed + states.size());
      if (testing::Test::HasFatalFailure()) return;
    }
  });
  ASSERT_TRUE(member.Start().has_value());
  Workload running(member, seed);
  workload = &running;
  ASSERT_TRUE(running.Run(kChanges));
  ASSERT_FALSE(member.fatal().has_value()) << member.fatal()->message;
  member.lanes().RunFor(std::chrono::seconds(1));  // the last commits, compactions and snapshots
  disk.SetObserver(nullptr);
  RecordProperty("crash_states", std::to_string(states.size()));
  EXPECT_GE(states.size(), 800U) << "too few different disks were tried";
  const WorkloadHistory& history = running.history();
  EXPECT_EQ(history.acknowledged, kChanges);
  EXPECT_GT(history.compacted_revision, 0);
}

// Sanitizers look at the code that a crash leads through, which every seed does; they take 4 s a
// seed.
#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t kCrashSeeds = 6;
#else
constexpr std::uint64_t kCrashSeeds = 25;
#endif
INSTANTIATE_TEST_SUITE_P(Seeds, LocalMemberCrash,
                         testing::Range<std::uint64_t>(1, kCrashSeeds + 1));

class LocalMemberDiskError : public testing::TestWithParam<std::uint64_t> {};

TEST_P(LocalMemberDiskError, AnErrorOfTheDiskEndsTheMemberAndLosesNothingAcknowledged) {
  const std::uint64_t seed = GetParam();
  std::uint64_t ended = 0;
  for (std::uint64_t nth = 1; nth < 120; ++nth) {
    SimFileSystem disk;
    WorkloadHistory history;
    {
      SmallMember member(disk, seed);
      ASSERT_TRUE(member.Start().has_value());
      Workload workload(member, seed);
      disk.FailAt(nth, SimFileSystem::Fault::kIoError);
      workload.Run(40);
      history = workload.history();
      if (member.fatal().has_value()) ++ended;
    }
    disk.Kill();
    disk.ClearFaults();
    Rng rng(nth);
    const auto image = disk.CrashImage(SimFileSystem::Keep::kRandom, rng);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", error at write operation " +
                 std::to_string(nth));
    CheckRestart(*image, history, seed);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(ended, 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LocalMemberDiskError, testing::Range<std::uint64_t>(1, 4));

// A flipped bit in durable data is reported at the start, or has no consequence; it is never
// served.
TEST(LocalMemberBitRot, AFlippedBitIsDetectedOrHarmless) {
  SimFileSystem disk;
  WorkloadHistory history;
  {
    SmallMember member(disk, 7);
    ASSERT_TRUE(member.Start().has_value());
    Workload workload(member, 7);
    ASSERT_TRUE(workload.Run(30));
    history = workload.history();
    bool stopped = false;
    member.local_member().Stop([&] { stopped = true; });
    ASSERT_TRUE(member.lanes().RunUntil([&] { return stopped; }));
  }
  disk.Kill();
  std::vector<std::string> files = {SmallMember::kDatabase};
  const auto names = disk.List(SmallMember::kWalDir);
  ASSERT_TRUE(names.has_value());
  for (const std::string& name : *names) {
    if (name.ends_with(".wal")) files.push_back(std::string(SmallMember::kWalDir) + "/" + name);
  }
  std::uint64_t refused = 0;
  Rng rng(11);
  for (const std::string& file : files) {
    for (int i = 0; i < 400; ++i) {
      const auto image = disk.CrashImage(SimFileSystem::Keep::kAll, rng);
      const auto offset = rng.Below(6000);
      if (!image->Corrupt(file, offset, static_cast<std::uint8_t>(1U << rng.Below(8)))) continue;
      SmallMember probe(*image, 1);
      const auto started = probe.Start();
      if (!started.has_value()) {
        ++refused;
        EXPECT_EQ(started.error().code, Code::kDataLoss) << started.error().message;
        continue;
      }
      SCOPED_TRACE(file + " offset " + std::to_string(offset));
      if (!probe.CatchUp()) continue;
      for (std::size_t change = 0; change < history.acknowledged; ++change) {
        const auto revision = static_cast<std::int64_t>(change) + 2;
        if (revision < probe.store().compact_revision()) continue;
        const auto value = probe.Get(history.proposed[change].keys[0], revision);
        if (value.has_value()) {
          EXPECT_EQ(value->value_or(""), history.proposed[change].value);
        } else {
          EXPECT_EQ(value.error().code, Code::kDataLoss);
        }
      }
    }
  }
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace kvorum::server
