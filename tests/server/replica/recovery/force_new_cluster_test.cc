// A cluster of one made of the data of one of several.
#include "server/replica/recovery/force_new_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/maintenance_encode.h"
#include "server/state/member_change.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Member MemberOf(raft::MemberId id, bool is_learner = false) {
  Member member;
  member.id = id;
  member.peer_urls = {"http://h" + std::to_string(id.value()) + ":1"};
  member.is_learner = is_learner;
  return member;
}

MembershipView ViewWith(std::vector<Member> members) {
  MembershipView view;
  for (Member& member : members) view.members.emplace(member.id, std::move(member));
  return view;
}

raft::Entry ChangeEntry(raft::Index index, const MemberChange& change) {
  return {.term = 2,
          .index = index,
          .type = raft::EntryType::kConfChange,
          .data = SharedBytes::Own(raft::Encode(EncodeMemberChange(1, change)))};
}

// The changes in words, in order.
std::vector<std::string> Changes(const Result<std::vector<raft::Entry>>& entries) {
  std::vector<std::string> words;
  if (!entries.has_value()) return {entries.error().message};
  for (const raft::Entry& entry : *entries) {
    const auto change = DecodeMemberChange(raft::DecodeConfChange(entry.data).value()).value();
    const std::string verb = change.type == raft::ConfChangeType::kRemoveNode ? "remove"
                             : change.is_promote                              ? "promote"
                                                                              : "add";
    words.push_back(std::to_string(entry.index.value()) + "@" + std::to_string(entry.term.value()) +
                    " " + verb + " " + std::to_string(change.id.value()));
  }
  return words;
}

TEST(ForcedChangesTest, RemoveEverybodyElse) {
  EXPECT_THAT(Changes(MakeForcedChanges(
                  {.applied_view = ViewWith({MemberOf(1), MemberOf(2), MemberOf(3, true)}),
                   .applied = 7,
                   .committed = 9,
                   .term = 4,
                   .self = 2})),
              ElementsAre("10@4 remove 1", "11@4 remove 3"));
}

TEST(ForcedChangesTest, AreNoneForAMemberThatIsAlone) {
  EXPECT_THAT(
      Changes(MakeForcedChanges(
          {.applied_view = ViewWith({MemberOf(2)}), .applied = 7, .committed = 9, .self = 2})),
      IsEmpty());
}

TEST(ForcedChangesTest, MakeAVoterOfALearnerFirst) {
  EXPECT_THAT(Changes(MakeForcedChanges({.applied_view = ViewWith({MemberOf(1), MemberOf(2, true)}),
                                         .applied = 3,
                                         .committed = 3,
                                         .term = 1,
                                         .self = 2})),
              ElementsAre("4@1 promote 2", "5@1 remove 1"));
}

TEST(ForcedChangesTest, AddAMemberThatItsOwnLogDoesNotKnow) {
  const auto entries = MakeForcedChanges({.applied_view = ViewWith({MemberOf(1)}),
                                          .applied = 3,
                                          .committed = 3,
                                          .term = 1,
                                          .self = 2,
                                          .own_peer_urls = {"http://me:1"}});
  EXPECT_THAT(Changes(entries), ElementsAre("4@1 add 2", "5@1 remove 1"));
}

TEST(ForcedChangesTest, SeeWhatIsCommittedAndNotApplied) {
  const std::vector<raft::Entry> entries = {
      ChangeEntry(4, MemberChange::Add(MemberOf(9))),  // applied: in the view, or refused
      ChangeEntry(5, MemberChange::Remove(1)),
      ChangeEntry(6, MemberChange::Add(MemberOf(3))),
      ChangeEntry(7, MemberChange::Add(MemberOf(3))),  // refused when it is applied
      {.term = 2, .index = 8, .type = raft::EntryType::kNormal, .data = {}},
  };
  EXPECT_THAT(Changes(MakeForcedChanges({.applied_view = ViewWith({MemberOf(1), MemberOf(2)}),
                                         .applied = 4,
                                         .entries = entries,
                                         .committed = 8,
                                         .term = 2,
                                         .self = 2})),
              ElementsAre("9@2 remove 3"));
}

TEST(ForcedChangesTest, BringNoRemovedMemberBack) {
  MembershipView view = ViewWith({MemberOf(1)});
  view.removed = {2};
  EXPECT_THAT(
      Changes(MakeForcedChanges({.applied_view = view, .applied = 3, .committed = 3, .self = 2})),
      ElementsAre("--force-new-cluster: the member has been permanently removed from the "
                  "cluster"));
}

// The newest entries may have been acknowledged before this member heard that they are committed.
TEST(ForcedCommitTest, IsTheEndOfTheLog) {
  std::vector<raft::Entry> entries = {{.term = 2, .index = 4}, {.term = 2, .index = 5}};
  entries.push_back(ChangeEntry(6, MemberChange::Remove(2)));
  EXPECT_EQ(ForcedCommit(entries, 4, 1).value(), 6U);
  EXPECT_EQ(ForcedCommit(entries, 6, 1).value(), 6U);
  EXPECT_EQ(ForcedCommit({}, 3, 1).value(), 3U);
}

TEST(ForcedCommitTest, EndsBeforeTheMembersOwnRemovalUnlessThatIsKnownToBeCommitted) {
  std::vector<raft::Entry> entries = {{.term = 2, .index = 4}};
  entries.push_back(ChangeEntry(5, MemberChange::Remove(1)));
  entries.push_back({.term = 2, .index = 6});
  EXPECT_EQ(ForcedCommit(entries, 3, 1).value(), 4U);
  EXPECT_EQ(ForcedCommit(entries, 5, 1).value(), 6U);
}

// --- whole members -----------------------------------------------------------------------------

class ForceNewClusterTest : public testing::Test {
 protected:
  void Begin(std::uint64_t seed) {
    force_ = false;
    cluster_ = std::make_unique<SmallCluster>(3, seed, [this](LocalMemberOptions& options) {
      options.force_new_cluster = force_;
      const auto number = static_cast<std::size_t>(options.name.back() - '0');
      options.advertise_peer_urls = {SmallCluster::PeerUrlOf(number)};
    });
    ASSERT_TRUE(cluster_->StartAll().has_value());
    const auto leader = cluster_->WaitForLeader();
    ASSERT_TRUE(leader.has_value());
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(cluster_->Propose(*leader, RequestKind::kPut, PutBody("key", std::to_string(i)))
                      .has_value());
    }
    ASSERT_TRUE(cluster_->CatchUp());
    cluster_->RunFor(std::chrono::seconds(1));
    value_ = "4";
    // An entry that only member 0 has is in its log and is not committed: it may have been.
    for (std::size_t i = 1; i < 3; ++i) cluster_->Kill(i);
    if (*leader == 0) {
      cluster_->member(0).Propose(RequestKind::kPut, PutBody("key", "last"),
                                  [](const Result<ApplyResult::Value>&) {});
      value_ = "last";
      cluster_->RunFor(std::chrono::milliseconds(50));
    }
    cluster_->Kill(0);
  }
  void ExpectAlone() {
    ASSERT_TRUE(cluster_->RunUntil([&] {
      return cluster_->replica(0).leader() == cluster_->id(0);
    })) << "it leads without the others";
    ASSERT_TRUE(cluster_->Propose(0, RequestKind::kPut, PutBody("after", "1")).has_value());
    const auto view = cluster_->member(0).local_member().membership().View();
    EXPECT_EQ(view->members.size(), 1);
    EXPECT_TRUE(view->members.contains(cluster_->id(0)));
    EXPECT_EQ(view->removed.size(), 2);
    EXPECT_EQ(cluster_->member(0).Get("key", 0).value(), value_) << "all that is in its log";
  }

  bool force_ = false;
  std::string value_;
  std::unique_ptr<SmallCluster> cluster_;
};

// Member 0 and one other acknowledge it, and member 0 has not heard of the commit when both end.
TEST_F(ForceNewClusterTest, WhatWasAcknowledgedLastIsNotLost) {
  for (std::uint64_t seed = 50; seed <= 56; ++seed) {
    ASSERT_NO_FATAL_FAILURE(Begin(seed));
    for (std::size_t i = 0; i < 2; ++i) ASSERT_TRUE(cluster_->Start(i).has_value());
    const auto leader = cluster_->WaitForLeader();
    ASSERT_TRUE(leader.has_value());
    ASSERT_TRUE(
        cluster_->Propose(*leader, RequestKind::kPut, PutBody("key", "newest")).has_value());
    cluster_->Kill(1);
    cluster_->Kill(0);
    value_ = "newest";
    force_ = true;
    ASSERT_TRUE(cluster_->Start(0).has_value());
    ASSERT_NO_FATAL_FAILURE(ExpectAlone()) << "seed " << seed;
  }
}

TEST_F(ForceNewClusterTest, OneOfThreeGoesOnAlone) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    ASSERT_NO_FATAL_FAILURE(Begin(seed));
    force_ = true;
    ASSERT_TRUE(cluster_->Start(0).has_value());
    ASSERT_NO_FATAL_FAILURE(ExpectAlone());
    // The flag may stay, and may go.
    ASSERT_TRUE(cluster_->Start(0).has_value());
    ASSERT_NO_FATAL_FAILURE(ExpectAlone());
    force_ = false;
    ASSERT_TRUE(cluster_->Start(0).has_value());
    ASSERT_NO_FATAL_FAILURE(ExpectAlone());
    // An old member that comes back is not a member any more.
    ASSERT_TRUE(cluster_->Start(1).has_value());
    ASSERT_TRUE(cluster_->Start(2).has_value());
    cluster_->RunFor(std::chrono::seconds(5));
    ASSERT_NO_FATAL_FAILURE(ExpectAlone());
  }
}

// Killed, or without power, at any moment of the forced start: it is begun again, and ends alone.
TEST_F(ForceNewClusterTest, ACrashAtAnyPointOfItIsSurvived) {
  for (const SimFileSystem::Keep keep : SimFileSystem::kAllKeeps) {
    for (int ms = 0; ms < 40; ms += 4) {
      ASSERT_NO_FATAL_FAILURE(Begin(100 + static_cast<std::uint64_t>(ms)));
      force_ = true;
      ASSERT_TRUE(cluster_->Start(0).has_value());
      cluster_->RunFor(std::chrono::milliseconds(ms));
      cluster_->Crash(0, keep);
      ASSERT_TRUE(cluster_->Start(0).has_value());
      ASSERT_NO_FATAL_FAILURE(ExpectAlone()) << ms;
    }
  }
}

}  // namespace
}  // namespace kvorum::server
