// Random leaders, faults and restarts beside the log that was committed: each target is restored
// from the archive as the log has it.
//
// The faults: each call of a store may fail before its effect or behind it; a leader may be deposed
// and not know; another leader may do a whole step between any two of its calls; members restart
// and forget their marks; their logs are trimmed, also behind what is archived; the clock jumps
// forward. Loss is not survivable where every leader's log was trimmed before it was archived:
// there the archive has a gap.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include "archive/ship/base_shipper.h"
#include "archive/ship/log_shipper.h"
#include "base/rng.h"
#include "tests/archive/ship/archive_model.h"
#include "tests/archive/store/clocked_stop.h"
#include "tests/manual_clock.h"

namespace kvorum::archive {
namespace {

constexpr std::size_t kImageBytes = 300;

class ShipModel {
 public:
  explicit ShipModel(std::uint64_t seed) : rng_(seed), trims_(seed % 2 == 1) {
    for (std::size_t i = 0; i < kMembers; ++i) {
      members_[i] = std::make_unique<FakeMember>(log_, clock_, 9, i + 1);
      members_[i]->image_size_bytes = kImageBytes;
      Restart(i);
    }
  }

  void Run() {
    log_.Add(1 + rng_.Below(5), term_);
    for (int round = 0; round < 150; ++round) Round();
    Settle();
    Check();
  }

 private:
  static constexpr std::size_t kMembers = 3;

  void Restart(std::size_t i) {
    members_[i]->Restart();
    shippers_[i] = std::make_unique<LogShipper>(*members_[i], clock_, stop_, status_, false);
  }

  void Round() {
    const std::size_t i = rng_.Below(kMembers);
    switch (rng_.Below(10)) {
      case 0:  // it leads; the others may go on believing that they do
        members_[i]->Apply();
        members_[i]->Lead();
        log_.Add(1, ++term_);
        break;
      case 1:
        members_[i]->Lead(false);
        break;
      case 2:
        Restart(i);
        break;
      case 3:
        if (trims_ && rng_.OneIn(3))
          members_[i]->TrimBefore(raft::Index{1 + rng_.Below(members_[i]->applied().value() + 1)});
        break;
      case 4:
        MakeBase(i);
        break;
      case 5:
      case 6:
        log_.Add(rng_.Below(20), term_);
        break;
      default:
        members_[i]->Apply(members_[i]->applied() +
                           rng_.Below(log_.last() - members_[i]->applied() + 1));
        Step(i, 0);
    }
    clock_.Advance(std::chrono::milliseconds(rng_.Below(2'000)));
  }

  MemoryStore::Fault Disturb(std::size_t i, int depth) {
    if (is_calm_) return MemoryStore::Fault::kNot;
    if (depth == 0 && rng_.OneIn(10)) Step((i + 1 + rng_.Below(kMembers - 1)) % kMembers, 1);
    if (rng_.OneIn(20)) return MemoryStore::Fault::kBefore;
    return rng_.OneIn(20) ? MemoryStore::Fault::kBehind : MemoryStore::Fault::kNot;
  }

  void Step(std::size_t i, int depth) {
    MemoryStore store(bucket_, [this, i, depth](MemoryStore::Call, const std::string&) {
      return Disturb(i, depth);
    });
    const auto done = shippers_[i]->Step(store);
    if (!done.has_value()) {
      EXPECT_NE(done.error().kind, ShipErrorKind::kMember) << done.error().text;
      EXPECT_NE(done.error().kind, ShipErrorKind::kRefused) << done.error().text;
    }
  }

  void MakeBase(std::size_t i) {
    const auto line = shippers_[i]->line();
    if (!line) return;
    MemoryStore store(bucket_, [this](MemoryStore::Call, const std::string&) {
      return rng_.OneIn(10) && !is_calm_ ? MemoryStore::Fault::kBehind : MemoryStore::Fault::kNot;
    });
    BaseShipper bases(*members_[i], clock_, stop_, status_);
    static_cast<void>(bases.Ship(store, line->history.id, line->time_ms, line->least_base));
  }

  // One leader, no faults: everything is archived, and a base made.
  void Settle() {
    is_calm_ = true;
    for (auto& member : members_) member->Lead(false);
    const std::size_t leader = rng_.Below(kMembers);
    members_[leader]->Apply();
    members_[leader]->Lead();
    Step(leader, 0);
    MakeBase(leader);
    log_.Add(3, ++term_);
    members_[leader]->Apply();
    Step(leader, 0);
    EXPECT_EQ(status_.values().archived.index, log_.last());
  }

  void Check() {
    EXPECT_EQ(bucket_.overwritten, 0U);
    const Contents contents = ContentsOf(bucket_);
    ASSERT_EQ(contents.histories.size(), 1U);
    const History& history = contents.histories.begin()->second;
    ASSERT_TRUE(Follows(contents, ToLatest{}) == log_.last());
    raft::Index first = log_.last();
    for (const Base& base : history.bases) {
      if (base.has_manifest) first = std::min(first, base.name.index);
    }
    for (raft::Index index = first; index <= log_.last(); ++index) {
      const auto found = Follows(contents, ToIndex{index});
      EXPECT_EQ(found.value_or(index), index);
      EXPECT_TRUE(found.has_value() || !history.gaps.empty()) << "index " << index.value();
    }
    for (int i = 0; i < 50; ++i) {
      const std::int64_t revision = log_.RevisionAt(first + rng_.Below(log_.last() - first + 1));
      if (const auto found = Follows(contents, ToRevision{revision})) {
        EXPECT_EQ(log_.RevisionAt(*found), revision);
      } else {
        EXPECT_FALSE(history.gaps.empty());
      }
      const UnixMillis time_ms = static_cast<UnixMillis>(
          rng_.Below(static_cast<std::uint64_t>(clock_.WallNanos() / 1'000'000 + 1)));
      if (const auto found = Follows(contents, ToTime{time_ms})) CheckTime(*found, time_ms);
    }
  }

  // Nothing of the state was committed later.
  void CheckTime(raft::Index index, UnixMillis time_ms) {
    if (index > 0) {
      EXPECT_LE(log_.times_ms[index.value() - 1], time_ms) << index.value();
    }
  }

  std::optional<raft::Index> Follows(const Contents& contents, const Target& target) {
    const auto plan = MakePlan(contents, std::nullopt, target);
    if (!plan) return std::nullopt;
    const auto state = Follow(bucket_, *plan, log_, kImageBytes);
    if (!state) return std::nullopt;
    return state->last;
  }

  Rng rng_;
  const bool trims_;
  std::uint64_t term_ = 1;
  CommittedLog log_;
  ManualClock clock_;
  Bucket bucket_;
  ClockedStop stop_{clock_};
  ArchiveStatus status_;
  std::array<std::unique_ptr<FakeMember>, kMembers> members_;
  std::array<std::unique_ptr<LogShipper>, kMembers> shippers_;
  bool is_calm_ = false;
};

TEST(ShipModelTest, WhatIsRestoredIsWhatWasCommitted) {
  const char* seeds = std::getenv("KVORUM_ARCHIVE_SEEDS");
  const std::uint64_t count = seeds == nullptr ? 300 : std::strtoull(seeds, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ShipModel(seed).Run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace kvorum::archive
