// The rules for a configuration change, and its effect on the members.
#include "server/state/member_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::Pair;

Member Voter(raft::MemberId id, std::string url) {
  Member member;
  member.id = id;
  member.peer_urls = {std::move(url)};
  return member;
}

Member Learner(raft::MemberId id, std::string url) {
  Member member = Voter(id, std::move(url));
  member.is_learner = true;
  return member;
}

// Voters 1 and 2, learner 3; 9 was removed.
MembershipView Three() {
  MembershipView view;
  view.members = {{raft::MemberId{1}, Voter(1, "http://a:1")},
                  {raft::MemberId{2}, Voter(2, "http://b:2")},
                  {raft::MemberId{3}, Learner(3, "http://c:3")}};
  view.removed = {9};
  return view;
}

// Without the learner.
MembershipView Two() {
  MembershipView view = Three();
  view.members.erase(3);
  return view;
}

std::string ChangeRefusal(const MembershipView& view, const MemberChange& change) {
  const auto checked = CheckMemberChange(view, change);
  return checked.has_value() ? "ok" : checked.error().message;
}

const std::string kNotFound(kErrMemberNotFound.message);
const std::string kUrlTaken(kErrPeerUrlExist.message);

TEST(MemberChangeTest, AnAdditionNeedsANewIdAndNewUrls) {
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Add(Voter(4, "http://d:4"))), "ok");
  EXPECT_EQ(ChangeRefusal(Two(), MemberChange::Add(Learner(4, "http://d:4"))), "ok");
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Add(Voter(2, "http://d:4"))),
            kErrMemberExist.message);
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Add(Learner(3, "http://d:4"))),
            kErrMemberExist.message);
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Add(Voter(4, "http://c:3"))), kUrlTaken);
  Member two_urls = Voter(4, "http://d:4");
  two_urls.peer_urls.emplace_back("http://a:1");
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Add(two_urls)), kUrlTaken);
}

TEST(MemberChangeTest, ARemovedIdNeverComesBack) {
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Add(Voter(9, "http://d:4"))), kNotFound);
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Remove(9)), kNotFound);
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Promote(9)), kNotFound);
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Update(9, {"http://d:4"})), kNotFound);
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Add(Voter(raft::kNone, "http://d:4"))), kNotFound);
}

TEST(MemberChangeTest, OnlyMembersAreRemovedAndNeverTheLastVoter) {
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Remove(2)), "ok");
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Remove(3)), "ok");
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Remove(4)), kNotFound);
  const MembershipView one = ApplyMemberChange(Three(), MemberChange::Remove(2));
  EXPECT_EQ(ChangeRefusal(one, MemberChange::Remove(1)), kErrNotEnoughStarted.message);
  EXPECT_EQ(ChangeRefusal(one, MemberChange::Remove(3)), "ok");
}

TEST(MemberChangeTest, OnlyLearnersArePromoted) {
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Promote(3)), "ok");
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Promote(1)), kErrMemberNotLearner.message);
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Promote(4)), kNotFound);
}

TEST(MemberChangeTest, AnUpdateTakesNoUrlOfAnother) {
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Update(2, {"http://d:4"})), "ok");
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Update(2, {"http://b:2", "http://d:4"})), "ok")
      << "its own may stay";
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Update(2, {"http://d:4", "http://a:1"})),
            kUrlTaken);
  EXPECT_EQ(ChangeRefusal(Three(), MemberChange::Update(4, {"http://d:4"})), kNotFound);
}

TEST(MemberChangeTest, ChangesOnlyWhatTheySay) {
  MembershipView start = Three();
  start.cluster_version = "3.7.0";
  start.members[3].name = "c";
  const MembershipView updated = ApplyMemberChange(start, MemberChange::Update(3, {"http://d:4"}));
  EXPECT_THAT(updated.members.at(3).peer_urls, ElementsAre("http://d:4"));
  EXPECT_TRUE(updated.members.at(3).is_learner) << "a learner stays one";
  EXPECT_EQ(updated.members.at(3).name, "c");
  const MembershipView promoted = ApplyMemberChange(start, MemberChange::Promote(3));
  EXPECT_FALSE(promoted.members.at(3).is_learner);
  EXPECT_EQ(promoted.members.at(3).name, "c");
  EXPECT_THAT(promoted.members.at(3).peer_urls, ElementsAre("http://c:3"));
  const MembershipView removed = ApplyMemberChange(start, MemberChange::Remove(1));
  EXPECT_EQ(removed.members.size(), 2);
  EXPECT_THAT(removed.removed, ElementsAre(raft::MemberId{1}, raft::MemberId{9}));
  EXPECT_EQ(removed.cluster_version, "3.7.0");
  const MembershipView added =
      ApplyMemberChange(start, MemberChange::Add(Learner(4, "http://d:4")));
  EXPECT_EQ(added.members.at(4), Learner(4, "http://d:4"));
}

TEST(MemberChangeTest, HasTheBytesThatTheLogHas) {
  const auto context = [](const MemberChange& change) {
    const raft::ConfChange encoded = EncodeMemberChange(77, change);
    EXPECT_EQ(encoded.id, 77);
    return std::pair(encoded.type, std::string(encoded.context.view()));
  };
  EXPECT_THAT(context(MemberChange::Add(Voter(4, "http://d:4"))),
              Pair(raft::ConfChangeType::kAddNode, R"({"id":4,"peerURLs":["http://d:4"]})"));
  EXPECT_THAT(context(MemberChange::Add(Learner(4, "http://d:4"))),
              Pair(raft::ConfChangeType::kAddLearnerNode,
                   R"({"id":4,"peerURLs":["http://d:4"],"isLearner":true})"));
  EXPECT_THAT(context(MemberChange::Promote(4)),
              Pair(raft::ConfChangeType::kAddNode, R"({"id":4,"peerURLs":null,"isPromote":true})"));
  EXPECT_THAT(context(MemberChange::Update(4, {"http://e:5"})),
              Pair(raft::ConfChangeType::kUpdateNode, R"({"id":4,"peerURLs":["http://e:5"]})"));
  EXPECT_THAT(context(MemberChange::Remove(4)), Pair(raft::ConfChangeType::kRemoveNode, ""));
}

TEST(MemberChangeTest, TheLimitOfLearnersTravelsWithTheChange) {
  MemberChange add = MemberChange::Add(Learner(4, "http://d:4"));
  add.max_learners = 1;
  const raft::ConfChange encoded = EncodeMemberChange(1, add);
  EXPECT_EQ(encoded.context.view(),
            R"({"id":4,"peerURLs":["http://d:4"],"isLearner":true,"maxLearners":1})");
  const MemberChange decoded = DecodeMemberChange(encoded).value();
  EXPECT_EQ(decoded.max_learners, 1);
  // 3 is a learner already.
  EXPECT_EQ(ChangeRefusal(Three(), decoded), kErrTooManyLearners.message);
  add.max_learners = 2;
  EXPECT_TRUE(CheckMemberChange(Three(), add).has_value());
  add.max_learners.reset();  // of a member of etcd: it goes by its own, which is 1
  EXPECT_EQ(ChangeRefusal(Three(), add), kErrTooManyLearners.message);
}

TEST(MemberChangeTest, ComesBackFromItsBytes) {
  for (const MemberChange& change :
       {MemberChange::Add(Voter(4, "http://d:4")), MemberChange::Add(Learner(4, "http://d:4")),
        MemberChange::Remove(4), MemberChange::Update(4, {"http://e:5"}),
        MemberChange::Promote(4)}) {
    const auto decoded = DecodeMemberChange(EncodeMemberChange(1, change));
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(decoded->type, change.type);
    EXPECT_EQ(decoded->id, change.id);
    EXPECT_EQ(decoded->member, change.member);
    EXPECT_EQ(decoded->is_promote, change.is_promote);
  }
}

TEST(MemberChangeTest, AContextThatIsNoneOrAnotherMembersIsDamage) {
  raft::ConfChange change = EncodeMemberChange(1, MemberChange::Add(Voter(4, "http://d:4")));
  change.node_id = 5;
  EXPECT_EQ(
      DecodeMemberChange(change).error(),
      (Error{Code::kDataLoss, "membership: the change is of member 5, its record of member 4"}));
  change.context = SharedBytes::Static("{");
  EXPECT_EQ(DecodeMemberChange(change).error().code, Code::kDataLoss);
}

TEST(MemberChangeTest, RaftCountsVotersAndLearners) {
  EXPECT_EQ(ConfStateOf(Three()), (raft::ConfState{.voters = {1, 2}, .learners = {3}}));
}

}  // namespace
}  // namespace kvorum::server
