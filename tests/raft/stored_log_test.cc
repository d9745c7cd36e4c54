// Entries that have left the leader's memory and are read from storage for a follower.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "raft/bootstrap.h"
#include "raft/node.h"
#include "tests/raft/cluster.h"

namespace kvorum::raft {
namespace {

class StoredLogTest : public testing::Test {
 protected:
  // Member 1 leads; 3 hears nothing of the first writes, which 1 no longer has in memory, but all
  // behind `stored` on its disk.
  void LeaveBehind(Index stored) {
    std::vector<FirstMember> members(3);
    for (std::size_t i = 0; i < members.size(); ++i)
      members[i] = {.id = MemberId{i + 1}, .context = SharedBytes::Static("{}")};
    Bootstrap bootstrap = MakeBootstrap(members);
    for (const FirstMember& first : members) {
      cluster_.Add({.id = first.id,
                    .seed = first.id.value(),
                    .max_append_size_bytes = 200,
                    .catch_up_entries = 0,
                    .catch_up_size_bytes = 0},
                   {.hard_state = bootstrap.hard_state, .entries = bootstrap.entries});
    }
    Work();
    node(1).Campaign();
    Work();
    node(1).KeepStored(stored);
    is_cut_off_ = true;
    for (int i = 0; i < 30; ++i) Write();
    member(1).Checkpoint();
    is_cut_off_ = false;
  }
  void Write() {
    std::vector<SharedBytes> batch = {SharedBytes::Own("write " + std::to_string(++written_))};
    ASSERT_EQ(node(1).Propose(batch).accepted, 1);
    Work();
  }
  Member& member(std::uint64_t id) { return cluster_.member(MemberId{id}); }
  Node& node(std::uint64_t id) { return member(id).node(); }
  void Tick(int times) {
    for (int i = 0; i < times; ++i) {
      for (auto& [id, member] : cluster_.members()) member.node().Tick();
      Work();
    }
  }
  void Work() {
    for (bool is_busy = true; is_busy;) {
      is_busy = false;
      for (auto& [id, member] : cluster_.members()) {
        while (member.node().HasReady()) {
          is_busy = true;
          Ready ready = member.TakeReady();
          for (Fetch& fetch : ready.fetches) Answer(fetch);
        }
        if (member.HasWrites()) member.Persist();
        member.ApplyAll();
      }
      for (const Message& message : std::exchange(cluster_.network(), {})) {
        if (is_cut_off_ && (message.from == 3 || message.to == 3)) continue;
        is_busy = true;
        snapshots_ += message.type == MessageType::kSnap ? 1 : 0;
        cluster_.Deliver(message);
        if (message.type == MessageType::kSnap)
          cluster_.member(message.from).node().ReportSnapshot(message.to, true);
      }
    }
  }
  // Answers like the driver, two entries at a time.
  void Answer(const Fetch& fetch) {
    EXPECT_EQ(fetch.peer, 3);
    EXPECT_FALSE(fetch.terms.empty());
    ++fetches_;
    std::vector<Entry> entries;
    for (Index index = fetch.from; index <= fetch.to && entries.size() < 2 && !is_storage_bad_;
         ++index)
      entries.push_back(cluster_.history().at(index.value() - 1));
    node(1).Fetched(fetch.peer, fetch.from, entries);
  }
  bool HasEverything() { return node(3).log().applied() == node(1).log().last_index(); }

  Cluster cluster_;
  bool is_cut_off_ = false;
  bool is_storage_bad_ = false;
  int written_ = 0;
  int snapshots_ = 0;
  int fetches_ = 0;
};

TEST_F(StoredLogTest, AFollowerGoesOnFromStorage) {
  LeaveBehind(3);
  ASSERT_GT(node(1).log().snapshot_index().value(), 30);
  Tick(10);
  EXPECT_TRUE(HasEverything());
  EXPECT_EQ(snapshots_, 0);
  EXPECT_GT(fetches_, 5);
  Write();
  EXPECT_TRUE(HasEverything());
}

TEST_F(StoredLogTest, WithoutItThereIsASnapshot) {
  LeaveBehind(0);
  Tick(10);
  EXPECT_TRUE(HasEverything());
  EXPECT_EQ(snapshots_, 1);
  EXPECT_EQ(fetches_, 0);
}

TEST_F(StoredLogTest, WhatBeginsTooLateHelpsNobody) {
  LeaveBehind(20);
  Tick(10);
  EXPECT_TRUE(HasEverything());
  EXPECT_EQ(snapshots_, 1);
}

TEST_F(StoredLogTest, WhatCannotBeReadIsASnapshotToo) {
  LeaveBehind(3);
  is_storage_bad_ = true;
  Tick(10);
  EXPECT_TRUE(HasEverything());
  EXPECT_EQ(snapshots_, 1);
  EXPECT_EQ(fetches_, 1);
}

TEST_F(StoredLogTest, AnAnswerThatIsNotWantedChangesNothing) {
  LeaveBehind(3);
  node(1).Fetched(3, 7, {});
  node(2).Fetched(3, 7, {});
  node(1).Fetched(9, 7, {});
  Tick(10);
  EXPECT_TRUE(HasEverything());
  EXPECT_EQ(snapshots_, 0);
}

TEST(StoredTermsTest, AreKnownFromWhereTheyAreKept) {
  std::vector<Entry> entries;
  for (Index index = 1; index <= 20; ++index)
    entries.push_back({.term = Term{(index.value() + 4) / 5}, .index = index});
  Log log(0, 0, std::move(entries));
  log.CommitTo(20);
  log.SetApplying(20);
  log.SetApplied(20);
  log.Compact(3, 0, 0);
  log.KeepStored(2);
  log.Compact(18, 0, 0);
  log.CheckInvariants();
  EXPECT_EQ(log.TermAt(2), std::nullopt);
  for (Index index = 3; index <= 20; ++index)
    EXPECT_EQ(log.TermAt(index), Term{(index.value() + 4) / 5}) << index.value();
  EXPECT_EQ(log.continues_from(), 3);
  log.KeepStored(12);
  log.CheckInvariants();
  EXPECT_EQ(log.TermAt(11), std::nullopt);
  EXPECT_EQ(log.TermAt(12), Term{3});
  log.KeepStored(0);
  EXPECT_EQ(log.TermAt(17), std::nullopt);
  EXPECT_EQ(log.TermAt(18), Term{4});
}

}  // namespace
}  // namespace kvorum::raft
