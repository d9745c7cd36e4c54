// A member that publishes itself in a cluster: when it counts as published, and when it is ready.
#include "server/process/process/publication.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "server/process/settings/options.h"
#include "tests/server/member_parts.h"
#include "tests/server/replica/small_cluster.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ClusterPublicationTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.StartAll().has_value());
    leader_ = cluster_.WaitForLeader().value();
    member_ = (leader_ + 1) % 3;
    ASSERT_TRUE(
        cluster_.Propose(leader_, RequestKind::kClusterVersionSet, EncodeClusterVersion("3.7.0"))
            .has_value());
    ASSERT_TRUE(cluster_.CatchUp());
    options_.name = SmallCluster::NameOf(member_);
    options_.advertise_client_urls = "http://c:2379";
    MakeParts();
  }
  void MakeParts() {
    publication_.reset();
    parts_.reset();
    parts_ = std::make_unique<MemberParts>(
        cluster_.member(member_).local_member(), cluster_.network().PortOf(cluster_.id(member_)),
        cluster_.member(member_).lanes().io(), cluster_.member(member_).lanes().readers());
    publication_ =
        std::make_unique<Publication>(options_, parts_->services.proposer,
                                      cluster_.member(member_).lanes().io(), [this] { ++done_; });
  }
  // The time until it is ready.
  Duration TimeToReady() {
    const TimePoint begin = cluster_.scheduler().clock().Now();
    EXPECT_TRUE(cluster_.RunUntil([&] { return done_ > 0; }));
    return cluster_.scheduler().clock().Now() - begin;
  }
  void PublishInItsName() {
    const auto applied =
        cluster_.Propose(leader_, RequestKind::kMemberAttributesSet,
                         EncodeMemberAttributes({.member = cluster_.id(member_),
                                                 .name = options_.name,
                                                 .client_urls = {options_.advertise_client_urls}}));
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
  }

  // A start after a kill applies the log again.
  SmallCluster cluster_{3, 1, [](LocalMemberOptions& options) {
                          options.store.commit.batch_interval = seconds(60);
                          options.store.commit.batch_operations = 1'000;
                        }};
  std::size_t leader_ = 0;
  std::size_t member_ = 0;
  Options options_;
  std::unique_ptr<MemberParts> parts_;
  int done_ = 0;
  std::unique_ptr<Publication> publication_;
};

TEST_F(ClusterPublicationTest, ItIsReadyOnceItsNameIsApplied) {
  publication_->Start();
  EXPECT_LT(TimeToReady(), milliseconds(100)) << "its peers are up";
  const auto view = cluster_.member(member_).local_member().membership().View();
  EXPECT_EQ(view->members.at(cluster_.id(member_)).name, options_.name);
}

// The entry that it proposed was applied by others, and came to it within a snapshot: its waiter
// hears nothing, and would wait for the time-out of 7 s.
TEST_F(ClusterPublicationTest, ANameThatCameWithTheStateIsPublished) {
  cluster_.network().SetFilter(
      [](raft::Message& message) { return message.type == raft::MessageType::kProp; });
  publication_->Start();
  cluster_.RunFor(milliseconds(100));
  EXPECT_EQ(done_, 0);
  PublishInItsName();
  EXPECT_LT(TimeToReady(), milliseconds(500));
  cluster_.RunFor(seconds(20));
  EXPECT_EQ(done_, 1) << "the proposal's own end changes nothing";
}

// At a start the state knows it from before: that says nothing about the cluster of today.
TEST_F(ClusterPublicationTest, AKnownMemberWaitsForItsProposal) {
  PublishInItsName();
  ASSERT_TRUE(cluster_.CatchUp());
  cluster_.network().SetFilter(
      [](raft::Message& message) { return message.type == raft::MessageType::kProp; });
  publication_->Start();
  cluster_.RunFor(seconds(2));
  EXPECT_EQ(done_, 0);
  cluster_.network().SetFilter({});
  TimeToReady();
}

// It was killed before the database had its name, which its log has: what the log brings back says
// nothing about the cluster of today either.
TEST_F(ClusterPublicationTest, ANameInTheLogOfTheLastStartIsNotItsProposal) {
  PublishInItsName();
  ASSERT_TRUE(cluster_.CatchUp());
  publication_.reset();
  parts_.reset();
  ASSERT_TRUE(cluster_.Start(member_).has_value());
  const auto is_known = [&] {
    const auto view = cluster_.member(member_).local_member().membership().View();
    const auto self = view->members.find(cluster_.id(member_));
    return self != view->members.end() && self->second.name == options_.name;
  };
  ASSERT_FALSE(is_known());
  cluster_.network().SetFilter(
      [](raft::Message& message) { return message.type == raft::MessageType::kProp; });
  MakeParts();
  publication_->Start();
  cluster_.RunFor(seconds(2));
  EXPECT_TRUE(is_known());
  EXPECT_EQ(done_, 0);
  cluster_.network().SetFilter({});
  TimeToReady();
}

// The message with the proposal got lost, or the leader had no room for it: no message says so.
TEST_F(ClusterPublicationTest, AProposalThatGotLostIsForwardedAgain) {
  PublishInItsName();
  ASSERT_TRUE(cluster_.CatchUp());
  int lost = 0;
  cluster_.network().SetFilter([&](raft::Message& message) {
    return message.type == raft::MessageType::kProp && ++lost <= 1;
  });
  publication_->Start();
  EXPECT_LT(TimeToReady(), seconds(1));
  EXPECT_EQ(lost, 2);
}

// The leader died with it.
TEST_F(ClusterPublicationTest, AProposalIsForwardedToTheNextLeaderToo) {
  PublishInItsName();
  ASSERT_TRUE(cluster_.CatchUp());
  cluster_.network().SetFilter(
      [](raft::Message& message) { return message.type == raft::MessageType::kProp; });
  publication_->Start();
  cluster_.RunFor(milliseconds(50));
  cluster_.Kill(leader_);
  cluster_.network().SetFilter({});
  ASSERT_TRUE(cluster_.RunUntil([&] {
    const auto leader = cluster_.Leader();
    return leader.has_value() && *leader != leader_ &&
           cluster_.replica(member_).leader() == cluster_.id(*leader);
  }));
  EXPECT_EQ(done_, 0);
  // One of its peers is down, and it waits a moment for that.
  EXPECT_LT(TimeToReady(), milliseconds(450));
}

// A change of members that comes next needs peers that count as up. One that is down is not waited
// for.
TEST_F(ClusterPublicationTest, ItWaitsAMomentForItsPeers) {
  const std::size_t other = (leader_ + 2) % 3;
  cluster_.Kill(other);
  publication_->Start();
  const Duration took = TimeToReady();
  EXPECT_GE(took, milliseconds(300));
  EXPECT_LT(took, milliseconds(400));
}

TEST_F(ClusterPublicationTest, ItWaitsNoLongerThanForTheLastOfItsPeers) {
  const std::size_t other = (leader_ + 2) % 3;
  cluster_.Kill(other);
  publication_->Start();
  cluster_.RunFor(milliseconds(150));
  EXPECT_EQ(done_, 0);
  ASSERT_TRUE(cluster_.Start(other).has_value());
  EXPECT_LT(TimeToReady(), milliseconds(50));
}

}  // namespace
}  // namespace kvorum::server
