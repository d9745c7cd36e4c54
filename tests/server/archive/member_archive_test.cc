// A member as its archive sees it: members put together of log and database, over leader changes,
// restarts, snapshots and a log that goes.
#include "server/archive/member_archive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"
#include "wal/wal.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kAll = std::size_t{1} << 30;

// A wait makes the members run.
class SteppingStop final : public archive::StopSignal {
 public:
  explicit SteppingStop(Scheduler& scheduler) : scheduler_(scheduler) {}
  bool WaitFor(Duration time) override {
    if (!stopped()) scheduler_.RunFor(time);
    return stopped();
  }

 private:
  Scheduler& scheduler_;
};

class MemberArchiveTest : public testing::Test {
 protected:
  void Begin(std::size_t size, std::uint64_t seed, std::uint64_t max_log_bytes = 1 << 20) {
    max_log_bytes_ = max_log_bytes;
    cluster_ = std::make_unique<SmallCluster>(size, seed, [this](LocalMemberOptions& options) {
      const auto number = static_cast<std::size_t>(options.name.back() - '0');
      notes_.at(number) =
          std::make_unique<MemberNotes>(cluster_->scheduler().clock(), max_log_bytes_);
      notes_.at(number)->AddTo(options);
      options.force_new_cluster = force_;
      options.on_departure = [this](raft::Index last, std::int64_t revision) -> Result<void> {
        departures_.emplace_back(last, revision);
        return {};
      };
    });
    stop_ = std::make_unique<SteppingStop>(cluster_->scheduler());
    for (std::size_t i = 0; i < size; ++i) Start(i);
    ASSERT_TRUE(cluster_->WaitForLeader().has_value());
  }
  void TearDown() override {
    for (auto& archive : archives_) archive.reset();
    cluster_.reset();
  }
  void Start(std::size_t i) {
    archives_.at(i).reset();
    const auto started = cluster_->Start(i, [&](LocalMember& member) {
      auto opened = MemberArchive::Open({.fs = cluster_->disk(i),
                                         .member = member,
                                         .notes = *notes_.at(i),
                                         .clock = cluster_->scheduler().clock(),
                                         .stop = *stop_,
                                         .wal_dir = SmallMember::kWalDir},
                                        std::nullopt);
      ASSERT_TRUE(opened.has_value()) << opened.error().message;
      archives_.at(i) = std::move(*opened);
    });
    ASSERT_TRUE(started.has_value()) << started.error().message;
  }
  void Put(int count) {
    for (int i = 0; i < count; ++i) {
      const auto leader = cluster_->WaitForLeader();
      ASSERT_TRUE(leader.has_value());
      const auto written = cluster_->Propose(
          *leader, RequestKind::kPut,
          PutBody("key" + std::to_string(i % 7), std::to_string(++puts_) + std::string(100, 'v')));
      ASSERT_TRUE(written.has_value()) << written.error().message;
    }
  }
  raft::Index Applied(std::size_t i) { return cluster_->replica(i).applied_index(); }
  // All entries from `from` on, in pieces of this size.
  std::vector<raft::Entry> ReadFrom(std::size_t i, raft::Index from, std::size_t size_bytes) {
    std::vector<raft::Entry> all;
    while (from <= Applied(i)) {
      auto read = archives_.at(i)->Read(from, Applied(i), size_bytes);
      EXPECT_TRUE(read.has_value()) << read.error().message;
      if (!read.has_value() || read->empty()) break;
      for (raft::Entry& entry : *read) {
        EXPECT_EQ(entry.index, from);
        ++from;
        all.push_back(std::move(entry));
      }
    }
    return all;
  }

  bool force_ = false;
  std::uint64_t max_log_bytes_ = 0;
  int puts_ = 0;
  std::vector<std::pair<raft::Index, std::int64_t>> departures_;
  std::array<std::unique_ptr<MemberNotes>, 3> notes_;  // destroyed after the members
  std::unique_ptr<SmallCluster> cluster_;
  std::unique_ptr<SteppingStop> stop_;
  std::array<std::unique_ptr<MemberArchive>, 3> archives_;
};

TEST_F(MemberArchiveTest, SaysWhoTheMemberIs) {
  Begin(1, 1);
  const LocalMember& member = cluster_->member(0).local_member();
  const auto& identity = archives_[0]->identity();
  EXPECT_EQ(identity.cluster_id, member.cluster_id());
  EXPECT_EQ(identity.member_id, member.member_id().value());
  const auto metadata = wal::DecodeMetadata(identity.wal_metadata);
  ASSERT_TRUE(metadata.has_value());
  EXPECT_EQ(metadata->cluster_id, member.cluster_id());
  EXPECT_TRUE(archives_[0]->IsLeader());
}

TEST_F(MemberArchiveTest, OneOfThreeLeads) {
  Begin(3, 2);
  const auto leader = cluster_->WaitForLeader();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(archives_[i]->IsLeader(), i == *leader);
}

// With entries in the logs that were never committed, and were replaced.
TEST_F(MemberArchiveTest, EveryMemberReadsTheSameCommittedEntries) {
  for (std::uint64_t seed = 10; seed < 16; ++seed) {
    ASSERT_NO_FATAL_FAILURE(Begin(3, seed));
    for (int round = 0; round < 5; ++round) {
      ASSERT_NO_FATAL_FAILURE(Put(20));
      const std::size_t leader = *cluster_->WaitForLeader();
      // Its next entries reach no other member.
      cluster_->Isolate(leader);
      for (int i = 0; i < 4; ++i) {
        cluster_->member(leader).Propose(RequestKind::kPut, PutBody("lost", std::to_string(i)),
                                         [](const Result<ApplyResult::Value>&) {});
      }
      cluster_->RunFor(milliseconds(200));
      if (round % 2 == 0) static_cast<void>(archives_[leader]->FirstIndex());
      ASSERT_TRUE(cluster_->RunUntil(
          [&] { return cluster_->Leader().has_value() && *cluster_->Leader() != leader; }));
      cluster_->network().MendAll();
      ASSERT_TRUE(cluster_->WaitForLeader().has_value());
    }
    ASSERT_NO_FATAL_FAILURE(Put(5));
    ASSERT_TRUE(cluster_->CatchUp());
    const auto expected = ReadFrom(0, *archives_[0]->FirstIndex(), 500);
    ASSERT_FALSE(expected.empty());
    for (std::size_t i = 0; i < 3; ++i) {
      const raft::Index first = *archives_[i]->FirstIndex();
      const auto read = ReadFrom(i, first, i == 1 ? kAll : 700);
      ASSERT_FALSE(read.empty());
      const raft::Index from = std::max(first, expected.front().index);
      const raft::Index to = std::min(read.back().index, expected.back().index);
      ASSERT_LE(from, to);
      for (raft::Index index = from; index <= to; ++index)
        ASSERT_EQ(read[index - first], expected[index - expected.front().index]);
    }
    TearDown();
  }
}

TEST_F(MemberArchiveTest, PartsOfWhatWasReadAreReadAgain) {
  Begin(1, 12);
  ASSERT_NO_FATAL_FAILURE(Put(30));
  const auto all = ReadFrom(0, 1, kAll);
  ASSERT_GT(all.size(), 30U);
  for (const std::uint64_t from : {5U, 1U, 20U, 12U}) {
    const auto read = archives_[0]->Read(raft::Index{from}, 25, kAll);
    ASSERT_TRUE(read.has_value());
    EXPECT_TRUE(std::ranges::equal(*read, std::span(all).subspan(from - 1, 25 - from + 1))) << from;
    const auto one = archives_[0]->Read(raft::Index{from}, raft::Index{from}, kAll);
    ASSERT_TRUE(one.has_value());
    EXPECT_EQ(one->size(), 1U);
  }
}

TEST_F(MemberArchiveTest, TheLogStaysUntilItIsSaidWhatIsNeeded) {
  Begin(1, 3);
  ASSERT_NO_FATAL_FAILURE(Put(200));
  EXPECT_EQ(archives_[0]->FirstIndex().value(), 1U);
  archives_[0]->KeepBehind(100);
  ASSERT_NO_FATAL_FAILURE(Put(50));
  cluster_->RunFor(seconds(1));
  const raft::Index first = archives_[0]->FirstIndex().value();
  EXPECT_GT(first, 50U);
  EXPECT_LE(first, 101U);
  EXPECT_EQ(ReadFrom(0, 101, 1'000).size(), Applied(0).value() - 100);
  EXPECT_EQ(archives_[0]->Read(1, 10, kAll).error().code, Code::kNotFound);
  archives_[0]->KeepBehind(0);
  ASSERT_NO_FATAL_FAILURE(Put(50));
  cluster_->RunFor(seconds(1));
  EXPECT_GT(archives_[0]->FirstIndex().value(), 200U);
}

TEST_F(MemberArchiveTest, OfALogThatGrowsPastItsBoundTheOldestPartGoes) {
  Begin(1, 4, 40'000);
  ASSERT_NO_FATAL_FAILURE(Put(600));
  const raft::Index first = archives_[0]->FirstIndex().value();
  EXPECT_GT(first, 200U);
  EXPECT_LT(first, 550U);
  EXPECT_EQ(archives_[0]->Read(10, 20, kAll).error().code, Code::kNotFound);
  EXPECT_EQ(ReadFrom(0, first, 1'000).size(), Applied(0) - first + 1);
}

TEST_F(MemberArchiveTest, AfterARestartTheLogIsStillThere) {
  Begin(1, 5);
  ASSERT_NO_FATAL_FAILURE(Put(200));
  const auto before = ReadFrom(0, 1, kAll);
  cluster_->Kill(0);
  Start(0);
  ASSERT_TRUE(cluster_->WaitForLeader().has_value());
  ASSERT_NO_FATAL_FAILURE(Put(100));
  const auto after = ReadFrom(0, 1, 2'000);
  ASSERT_GE(after.size(), before.size() + 100);
  EXPECT_TRUE(std::ranges::equal(std::span(after).first(before.size()), before));
}

TEST_F(MemberArchiveTest, MarksLeadFromTheStartToTheLastEntry) {
  Begin(1, 6);
  ASSERT_NO_FATAL_FAILURE(Put(30));
  const auto newest = archives_[0]->NewestMark();
  EXPECT_EQ(newest.index, Applied(0));
  EXPECT_EQ(newest.revision, cluster_->member(0).store().revision());
  const auto marks = archives_[0]->MarksBehind(0, 1'000);
  EXPECT_EQ(marks.back(), newest);
  EXPECT_TRUE(std::ranges::is_sorted(marks, {}, &archive::TimeMark::index));
  EXPECT_TRUE(std::ranges::is_sorted(marks, {}, &archive::TimeMark::revision));

  cluster_->Kill(0);
  Start(0);
  const auto begun = archives_[0]->NewestMark();
  EXPECT_GE(begun.revision, 1);
  ASSERT_TRUE(cluster_->WaitForLeader().has_value());
  ASSERT_NO_FATAL_FAILURE(Put(1));
  EXPECT_EQ(archives_[0]->NewestMark().revision, newest.revision + 1);
}

TEST_F(MemberArchiveTest, BehindAReceivedSnapshotTheLogBeginsAgain) {
  Begin(3, 7);
  const std::size_t leader = *cluster_->WaitForLeader();
  const std::size_t cut_off = (leader + 1) % 3;
  for (auto& archive : archives_) archive->KeepBehind(0);
  cluster_->Isolate(cut_off);
  ASSERT_NO_FATAL_FAILURE({
    for (int i = 0; i < 300; ++i) {
      const auto now = cluster_->Leader();
      ASSERT_TRUE(
          cluster_->Propose(*now, RequestKind::kPut, PutBody("k", std::to_string(i))).has_value());
    }
  });
  cluster_->network().MendAll();
  ASSERT_TRUE(cluster_->CatchUp());
  ASSERT_NO_FATAL_FAILURE(Put(5));
  ASSERT_TRUE(cluster_->CatchUp());
  const raft::Index first = archives_[cut_off]->FirstIndex().value();
  EXPECT_GT(first, 200U) << "it got a snapshot";
  const auto read = ReadFrom(cut_off, first, kAll);
  const auto expected = ReadFrom(leader, first, kAll);
  EXPECT_EQ(read, expected);
  EXPECT_EQ(archives_[cut_off]->Read(10, 20, kAll).error().code, Code::kNotFound);
}

TEST_F(MemberArchiveTest, AnImageHasEverythingThatWasApplied) {
  Begin(1, 8);
  ASSERT_NO_FATAL_FAILURE(Put(40));
  const raft::Index applied = Applied(0);
  auto image = archives_[0]->OpenImage();
  ASSERT_TRUE(image.has_value()) << image.error().message;
  EXPECT_GE((*image)->index(), applied);
  EXPECT_EQ((*image)->revision(), cluster_->member(0).store().revision());
  EXPECT_EQ((*image)->term(), cluster_->replica(0).term());
  ASSERT_NO_FATAL_FAILURE(Put(10));
  std::string bytes;
  while (true) {
    const auto part = (*image)->Next();
    ASSERT_TRUE(part.has_value()) << part.error().message;
    if (part->empty()) break;
    bytes += part->view();
    ASSERT_TRUE((*image)->Look().has_value());
  }
  EXPECT_EQ(bytes.size() % 4096, 0U) << "pages of etcd's file";
  EXPECT_NE(bytes.find("40" + std::string(100, 'v')), std::string::npos);
  EXPECT_EQ(bytes.find("41" + std::string(100, 'v')), std::string::npos) << "written later";
}

TEST_F(MemberArchiveTest, AnImageIsNotWaitedForOnceTheMemberStops) {
  Begin(1, 9);
  ASSERT_NO_FATAL_FAILURE(Put(5));
  cluster_->member(0).lanes().Hold(cluster_->member(0).lanes().backend(), true);
  stop_->Stop();
  const auto image = archives_[0]->OpenImage();
  ASSERT_FALSE(image.has_value());
  EXPECT_EQ(image.error().code, Code::kUnavailable);
}

TEST_F(MemberArchiveTest, AForcedClusterSaysWhereItLeftTheOldOne) {
  Begin(3, 20);
  ASSERT_NO_FATAL_FAILURE(Put(20));
  ASSERT_TRUE(cluster_->CatchUp());
  cluster_->RunFor(seconds(1));
  const raft::Index left = Applied(0);
  const std::int64_t revision = cluster_->member(0).store().revision();
  EXPECT_TRUE(departures_.empty());
  for (std::size_t i = 0; i < 3; ++i) cluster_->Kill(i);
  force_ = true;
  Start(0);
  ASSERT_EQ(departures_.size(), 1U);
  EXPECT_EQ(departures_[0].first, left);
  EXPECT_LE(departures_[0].second, revision);
  EXPECT_GE(departures_[0].second, 1);
  ASSERT_TRUE(cluster_->RunUntil([&] { return archives_[0]->IsLeader(); }));
  cluster_->RunFor(seconds(1));
  // The flag may stay.
  cluster_->Kill(0);
  Start(0);
  EXPECT_EQ(departures_.size(), 1U);
}

}  // namespace
}  // namespace kvorum::server
