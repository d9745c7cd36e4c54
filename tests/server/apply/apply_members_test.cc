// Configuration changes, the members' attributes and the cluster version, applied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "server/apply/applier.h"
#include "tests/server/apply/applier_fixture.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(ApplierTest, AConfigurationChangeIsStoredAndTold) {
  ApplyAll({ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven())});
  EXPECT_EQ(membership_->View()->members.at(7), MemberSeven());
  EXPECT_THAT(conf_changes_, ElementsAre(testing::Pair(raft::Index{1}, raft::MemberId{7})));
  EXPECT_EQ(Bucket(mvcc::Bucket::kMembers),
            (std::map<std::string, std::string>{{"7", R"({"id":7,"peerURLs":["http://a:1"]})"}}));
  Restart();
  EXPECT_EQ(store->recovered().conf_state, R"({"voters":[7],"auto_leave":false})");
}

TEST_F(ApplierTest, ALearnerIsNoVoterAndARemovedMemberIsRemembered) {
  Member learner = MemberSeven();
  learner.is_learner = true;
  ApplyAll({ConfEntry(raft::ConfChangeType::kAddLearnerNode, learner)});
  EXPECT_EQ(Bucket(mvcc::Bucket::kMeta)[std::string(mvcc::meta_key::kConfState)],
            R"({"voters":[],"learners":[7],"auto_leave":false})");
  ApplyAll({ConfEntry(raft::ConfChangeType::kRemoveNode, learner)});
  EXPECT_THAT(membership_->View()->members, IsEmpty());
  EXPECT_THAT(membership_->View()->removed, ElementsAre(raft::MemberId{7}));
  EXPECT_THAT(Bucket(mvcc::Bucket::kMembers), IsEmpty());
  EXPECT_EQ(Bucket(mvcc::Bucket::kMembersRemoved),
            (std::map<std::string, std::string>{{"7", "removed"}}));
}

// The node starts with the configuration that the backend holds.
TEST_F(ApplierTest, AReplayedChangeChangesNothing) {
  const raft::Entry entry = ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven());
  ApplyAll({entry});
  Settle();
  Restart();
  conf_changes_.clear();
  ApplyAll({entry});
  EXPECT_THAT(conf_changes_, IsEmpty());
  EXPECT_THAT(membership_->View()->members, IsEmpty()) << "start-up loads them from the bucket";
  EXPECT_EQ(applier_->applied_index(), 1);
}

TEST_F(ApplierTest, AChangeIsAnsweredWithTheMembersBehindIt) {
  const raft::Entry entry = ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven());
  const auto outcome = Wait(1);
  ApplyAll({entry});
  ASSERT_TRUE(outcome->has_value());
  ASSERT_TRUE((*outcome)->value.has_value());
  EXPECT_EQ(std::get<MembershipResult>(*(*outcome)->value).view->members.at(7), MemberSeven());
}

TEST_F(ApplierTest, ARefusedChangeIsNoChangeForRaftAndForTheBuckets) {
  ApplyAll({ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven())});
  const auto members = Bucket(mvcc::Bucket::kMembers);
  conf_changes_.clear();
  Member other = MemberSeven();
  other.id = 8;
  const auto outcome = Wait(1);
  const raft::Entry same_url = ConfEntry(raft::ConfChangeType::kAddNode, other);
  ApplyAll({same_url});
  ASSERT_TRUE(outcome->has_value());
  EXPECT_EQ((*outcome)->value.error(), kErrPeerUrlExist.ToError());
  EXPECT_THAT(conf_changes_, IsEmpty());
  EXPECT_EQ(Bucket(mvcc::Bucket::kMembers), members);
  EXPECT_EQ(Bucket(mvcc::Bucket::kMeta)[std::string(mvcc::meta_key::kConfState)],
            R"({"voters":[7],"auto_leave":false})");
  EXPECT_EQ(applier_->applied_index(), same_url.index) << "the entry itself counts";
  Restart();
  EXPECT_EQ(store->recovered().consistent_index, same_url.index);
}

TEST_F(ApplierTest, AttributesAreStoredForMembersOnly) {
  ApplyAll({ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven())});
  EXPECT_EQ(
      Outcome(RequestKind::kMemberAttributesSet,
              EncodeMemberAttributes({.member = 7, .name = "n", .client_urls = {"http://c:3"}})),
      "ok");
  EXPECT_EQ(Outcome(RequestKind::kMemberAttributesSet,
                    EncodeMemberAttributes({.member = 8, .name = "x", .client_urls = {}})),
            "ok");
  EXPECT_EQ(
      Bucket(mvcc::Bucket::kMembers),
      (std::map<std::string, std::string>{
          {"7", R"({"id":7,"peerURLs":["http://a:1"],"name":"n","clientURLs":["http://c:3"]})"}}));
}

TEST_F(ApplierTest, TheClusterVersionIsStored) {
  EXPECT_EQ(Outcome(RequestKind::kClusterVersionSet, EncodeClusterVersion("3.7.0")), "ok");
  EXPECT_EQ(membership_->View()->cluster_version, "3.7.0");
  EXPECT_EQ(Bucket(mvcc::Bucket::kCluster),
            (std::map<std::string, std::string>{{"clusterVersion", "3.7.0"}}));
}

TEST_F(ApplierTest, ADowngradeIsStoredUntilItsEnd) {
  const DowngradeInfo downgrade{.enabled = true, .target_version = "3.6.0"};
  EXPECT_EQ(Outcome(RequestKind::kDowngradeInfoSet, EncodeDowngradeEntry(downgrade)), "ok");
  EXPECT_EQ(membership_->View()->downgrade, downgrade);
  EXPECT_EQ(Bucket(mvcc::Bucket::kCluster),
            (std::map<std::string, std::string>{
                {"downgrade", R"({"target-version":"3.6.0","enabled":true})"}}));
  EXPECT_EQ(Outcome(RequestKind::kDowngradeInfoSet,
                    EncodeDowngradeEntry({.enabled = false, .target_version = "3.6.0"})),
            "ok");
  EXPECT_EQ(membership_->View()->downgrade, DowngradeInfo{});
  EXPECT_EQ(Bucket(mvcc::Bucket::kCluster),
            (std::map<std::string, std::string>{
                {"downgrade", R"({"target-version":"","enabled":false})"}}));
}

}  // namespace
}  // namespace kvorum::server
