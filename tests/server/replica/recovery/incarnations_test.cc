// The incarnation of a data directory: its text, its judgement, its file.
#include "server/replica/recovery/incarnations.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/damage.h"
#include "tests/disk/sim_file_system.h"
#include "tests/server/replica/lanes.h"

namespace kvorum::server {
namespace {

using enum IncarnationGuard::Told;

constexpr const char* kFile = "/data/member/incarnation";

TEST(IncarnationTest, ItsTextComesBackAsItWas) {
  const Incarnation incarnation{.id = 0xabc, .starts = 18, .recent = {1, 2, 3}};
  EXPECT_EQ(incarnation.Text(), "abc 12 1,2,3");
  EXPECT_EQ(Incarnation::Parse(incarnation.Text()), incarnation);
  Incarnation lacking = incarnation;
  lacking.lacks_data = true;
  EXPECT_EQ(lacking.Text(), "abc 12 1,2,3 lacking");
  EXPECT_EQ(Incarnation::Parse(lacking.Text()), lacking);
}

TEST(IncarnationTest, NonsenseIsNone) {
  for (const char* text :
       {"", " ", "abc", "abc 1", "abc 1 ", "0 1 1", "abc 0 1", "abc 1 1,2", "abc 1 1 other",
        "x 1 1", "abc 9 1,2,3,4,5,6,7,8,9", "abc 2 1,,2", "abc 1 1 lacking lacking"}) {
    EXPECT_EQ(Incarnation::Parse(text), std::nullopt) << text;
  }
}

TEST(IncarnationTest, AnotherDirectoryAndAnOlderCopyAreTold) {
  const SeenIncarnation seen{.id = 1, .starts = 5, .start = 50};
  const auto is_behind = [&](const Incarnation& told) { return seen.IsAheadOf(told); };
  EXPECT_FALSE(is_behind({.id = 1, .starts = 5, .recent = {50, 40}})) << "the same";
  EXPECT_FALSE(is_behind({.id = 1, .starts = 7, .recent = {70, 60, 50, 40}})) << "later";
  EXPECT_FALSE(is_behind({.id = 1, .starts = 20, .recent = {200, 190, 180}})) << "much later";
  EXPECT_TRUE(is_behind({.id = 2, .starts = 6, .recent = {60, 50}})) << "another directory";
  EXPECT_TRUE(is_behind({.id = 1, .starts = 4, .recent = {40, 30}})) << "an older copy";
  EXPECT_TRUE(is_behind({.id = 1, .starts = 5, .recent = {51, 40}})) << "started once";
  EXPECT_TRUE(is_behind({.id = 1, .starts = 7, .recent = {71, 61, 51, 40}})) << "started often";
}

class IncarnationsTest : public testing::Test {
 protected:
  IncarnationsTest() { EXPECT_TRUE(disk_.MakeDirectories("/data/member").has_value()); }

  std::unique_ptr<Incarnations> Open(std::uint64_t seed) {
    auto opened = Incarnations::Open(disk_, kFile, Rng(seed), lanes_.wal());
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    (*opened)->SetHooks({.on_own_loss = [this](raft::MemberId) { ++own_losses_; },
                         .on_peers_loss = [this](raft::MemberId) { ++peers_losses_; },
                         .are_majority =
                             [](const std::set<raft::MemberId>& peers) {
                               return peers.size() >= 2;  // of three
                             }});
    return *std::move(opened);
  }
  void Save() { lanes_.RunFor(std::chrono::seconds(3)); }
  std::string Content() { return ReadWholeFile(disk_, kFile, 1 << 16).value(); }

  SimFileSystem disk_;
  Lanes lanes_{1};
  int own_losses_ = 0;
  int peers_losses_ = 0;
};

TEST_F(IncarnationsTest, AllStartsOfADirectoryAreOneIncarnation) {
  const auto first = Incarnation::Parse(Open(1)->Own());
  const auto second = Incarnation::Parse(Open(2)->Own());
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->id, second->id);
  EXPECT_EQ(first->starts, 1);
  EXPECT_EQ(second->starts, 2);
  EXPECT_EQ(second->recent.back(), first->recent.front());
  for (int i = 0; i < 20; ++i) Open(static_cast<std::uint64_t>(10 + i));
  EXPECT_EQ(Incarnation::Parse(Open(99)->Own())->recent.size(), Incarnation::kRecentStarts);
}

TEST_F(IncarnationsTest, APeerThatComesBackWithLessIsNotAdmittedUntilItKnows) {
  auto mine = Open(1);
  EXPECT_TRUE(mine->Admits(2, "a 3 30,20,10", kByItsUrl));
  EXPECT_TRUE(mine->Admits(2, "a 4 40,30,20", kByItsUrl));
  Save();
  mine = Open(2);
  EXPECT_TRUE(mine->Admits(2, "a 4 40,30,20", kByItsUrl)) << "remembered over restarts";
  EXPECT_FALSE(mine->Admits(2, "a 3 30,20,10", kByItsUrl));
  EXPECT_FALSE(mine->Admits(2, "b 1 1", kByItsUrl));
  EXPECT_TRUE(mine->Admits(3, "b 1 1", kByItsUrl)) << "another member";
  EXPECT_EQ(peers_losses_, 0);
  EXPECT_TRUE(mine->Admits(2, "b 1 1 lacking", kByItsUrl));
  EXPECT_EQ(peers_losses_, 1);
  EXPECT_TRUE(mine->Admits(2, "b 1 1", kByItsUrl)) << "made good";
  EXPECT_FALSE(mine->Admits(2, "a 4 40,30,20", kByItsUrl))
      << "and the old directory comes too late";
}

// Anybody can send these headers to a peer port without certificates.
TEST_F(IncarnationsTest, WhatACallerTellsIsNotRemembered) {
  auto mine = Open(1);
  EXPECT_TRUE(mine->Admits(2, "b 7fffffff 1 lacking", kByACaller));
  EXPECT_TRUE(mine->Admits(2, "a 3 30,20,10", kByItsUrl)) << "nobody was known before";
  for (const char* told : {"b 7fffffff 1 lacking", "a 9 90,80 lacking", "a 9 90,80", "", "x"})
    EXPECT_TRUE(mine->Admits(2, told, kByACaller)) << told;
  EXPECT_EQ(peers_losses_, 0);
  Save();
  EXPECT_TRUE(Content().contains("peer 2 a 3 30\n")) << Content();
  EXPECT_TRUE(mine->Admits(2, "a 3 30,20,10", kByACaller)) << "the member itself, as before";
  EXPECT_TRUE(mine->Admits(2, "a 4 40,30,20", kByACaller));
  EXPECT_TRUE(mine->Admits(2, "a 4 40,30,20", kByItsUrl));
}

TEST_F(IncarnationsTest, ACallerThatHasLostDataIsNotAdmittedUntilItKnows) {
  auto mine = Open(1);
  EXPECT_TRUE(mine->Admits(2, "a 3 30,20,10", kByItsUrl));
  EXPECT_FALSE(mine->Admits(2, "b 1 1", kByACaller));
  EXPECT_TRUE(mine->Admits(2, "b 1 1 lacking", kByACaller));
  EXPECT_TRUE(mine->Admits(2, "b 1 1", kByACaller))
      << "made good, though its URL cannot be reached";
  EXPECT_TRUE(mine->Admits(2, "b 2 2,1", kByACaller)) << "started again";
  EXPECT_FALSE(mine->Admits(2, "c 1 1", kByACaller)) << "lost again";
  EXPECT_TRUE(mine->Admits(2, "b 1 1 lacking", kByItsUrl));
  EXPECT_FALSE(mine->Admits(2, "a 3 30,20,10", kByACaller));
}

TEST_F(IncarnationsTest, AMemberOfAnotherProgramTellsNone) {
  auto mine = Open(1);
  EXPECT_TRUE(mine->Admits(2, "a 3 30,20,10", kByItsUrl));
  EXPECT_TRUE(mine->Admits(2, "nonsense", kByItsUrl)) << "and changes nothing";
  EXPECT_FALSE(mine->Admits(2, "b 1 1", kByItsUrl));
  EXPECT_TRUE(mine->Admits(2, "", kByItsUrl));
  EXPECT_TRUE(mine->Admits(2, "b 1 1", kByItsUrl));
}

TEST_F(IncarnationsTest, WhoLacksDataSaysSoOnceThatIsOnDisk) {
  auto mine = Open(1);
  mine->ToldOfLoss(2, "a 1 1");
  EXPECT_EQ(own_losses_, 1);
  mine->SetLostData(7);
  EXPECT_FALSE(Incarnation::Parse(mine->Own())->lacks_data);
  Save();
  EXPECT_TRUE(Incarnation::Parse(mine->Own())->lacks_data);
  mine = Open(2);
  EXPECT_EQ(mine->lost_data(), 7);
  EXPECT_TRUE(Incarnation::Parse(mine->Own())->lacks_data);
  mine->SetLostData(0);
  Save();
  mine = Open(3);
  EXPECT_EQ(mine->lost_data(), 0);
  EXPECT_FALSE(Incarnation::Parse(mine->Own())->lacks_data);
}

// Two disks are replaced one after the other, each made good: the second copy remembers the first
// member as it was before.
TEST_F(IncarnationsTest, AnAccuserThatLacksDataItselfDoesNotCount) {
  auto mine = Open(1);
  EXPECT_TRUE(mine->Admits(2, "a 3 30,20,10", kByItsUrl));
  mine->ToldOfLoss(2, "a 2 20,10");
  mine->ToldOfLoss(2, "a 2 20,10 lacking");
  mine->ToldOfLoss(3, "c 1 1 lacking");
  EXPECT_EQ(own_losses_, 0);
  mine->ToldOfLoss(3, "c 1 1");
  mine->ToldOfLoss(2, "a 3 30,20,10");
  EXPECT_EQ(own_losses_, 2);
}

// All others were replaced since the copy was made, and made good: it takes each for one that lacks
// data, and hears from each that it does.
TEST_F(IncarnationsTest, OfTwoThatAccuseEachOtherTheOneThatAMajorityAccusesHasLostData) {
  auto copy = Open(1);
  EXPECT_TRUE(copy->Admits(2, "a 3 30,20,10", kByItsUrl));
  EXPECT_TRUE(copy->Admits(3, "b 3 31,21,11", kByItsUrl));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(copy->Admits(2, "c 1 1", kByItsUrl));
    copy->ToldOfLoss(2, "c 1 1");
  }
  EXPECT_EQ(own_losses_, 0);
  EXPECT_FALSE(copy->Admits(3, "d 1 1", kByItsUrl));
  copy->ToldOfLoss(3, "d 1 1");
  EXPECT_EQ(own_losses_, 1);
}

TEST_F(IncarnationsTest, AnAccuserThatWasMadeGoodSinceIsNoneAnyMore) {
  auto mine = Open(1);
  EXPECT_TRUE(mine->Admits(2, "a 3 30,20,10", kByItsUrl));
  EXPECT_TRUE(mine->Admits(3, "b 3 31,21,11", kByItsUrl));
  mine->ToldOfLoss(2, "c 1 1");
  EXPECT_TRUE(mine->Admits(2, "c 1 1 lacking", kByItsUrl));
  mine->ToldOfLoss(3, "d 1 1");
  EXPECT_EQ(own_losses_, 0);
}

TEST_F(IncarnationsTest, WhoLacksDataForgetsWhatItRememberedOfOthers) {
  auto mine = Open(1);
  EXPECT_TRUE(mine->Admits(2, "a 3 30,20,10", kByItsUrl));
  EXPECT_FALSE(mine->Admits(2, "b 1 1", kByItsUrl));
  mine->SetLostData(7);
  EXPECT_TRUE(mine->Admits(2, "b 1 1", kByItsUrl)) << "made good while this member was away";
  mine->SetLostData(9);
  EXPECT_FALSE(mine->Admits(2, "a 3 30,20,10", kByItsUrl)) << "seen since";
  Save();
  EXPECT_TRUE(Content().contains("lost 9\npeer 2 b 1 1\n")) << Content();
}

// An older copy from a time when the member lacked data, too: no member accuses it, since it says
// so, and it would hear no member that was made good since.
TEST_F(IncarnationsTest, WhoStartsWithoutItsDataForgetsWhatItRememberedOfOthers) {
  auto mine = Open(1);
  mine->SetLostData(7);
  EXPECT_TRUE(mine->Admits(2, "a 3 30,20,10", kByItsUrl));
  Save();
  mine = Open(2);
  EXPECT_EQ(mine->lost_data(), 7);
  EXPECT_TRUE(mine->Admits(2, "b 1 1", kByItsUrl));
}

TEST_F(IncarnationsTest, TheFileIsAsItIs) {
  auto mine = Open(1);
  mine->SetLostData(16);
  EXPECT_TRUE(mine->Admits(0x1f, "a 3 30,20,10", kByItsUrl));
  Save();
  Incarnation own = *Incarnation::Parse(mine->Own());
  own.lacks_data = false;
  EXPECT_EQ(Content(), "kvorum incarnation 1\nown " + own.Text() + "\nlost 10\npeer 1f a 3 30\n");
}

TEST_F(IncarnationsTest, ADamagedFileIsAnotherDirectory) {
  const auto first = Incarnation::Parse(Open(1)->Own());
  const std::string content = Content();
  ForEachCut(content, [&](std::string_view cut) {
    ASSERT_TRUE(WriteFileAtomically(disk_, kFile, cut).has_value());
    const auto drawn = Incarnation::Parse(Open(2 + cut.size())->Own());
    ASSERT_TRUE(drawn.has_value());
    EXPECT_EQ(drawn->starts == 1, drawn->id != first->id);
  });
}

TEST_F(IncarnationsTest, MembersThatLeftAreForgotten) {
  auto mine = Open(1);
  for (std::uint64_t id = 1; id <= 200; ++id) mine->Admits(raft::MemberId{id}, "a 1 1", kByItsUrl);
  Save();
  EXPECT_LT(Content().size(), 64 * 40 + 200);
}

}  // namespace
}  // namespace kvorum::server
