#include "server/services/cluster/strict_reconfig.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/api_errors.h"

namespace kvorum::server {
namespace {

const TimePoint kNow = TimePoint{} + std::chrono::hours(1);
const TimePoint kLongAgo = kNow - 2 * kHealthInterval;

// Peers that have been connected since the times given.
class FixedTransport final : public Transport {
 public:
  void Send(std::vector<raft::Message>) override {}
  void SendSnapshot(raft::Message, std::unique_ptr<mvcc::SnapshotSource>) override {}
  void SetMembers(std::shared_ptr<const MembershipView>) override {}
  std::optional<TimePoint> ActiveSince(raft::MemberId peer) const override {
    const auto it = since.find(peer);
    return it == since.end() ? std::nullopt : std::optional(it->second);
  }
  std::map<raft::MemberId, TimePoint> since;
};

// The members 1 to `voters`, of which the last `unstarted` have not started yet, as seen by member
// 1, which has been connected to 2 up to `connected` for long enough.
struct Cluster {
  Cluster(std::size_t voters, std::size_t connected, std::size_t unstarted = 0) {
    for (std::size_t i = 1; i <= voters; ++i) {
      const raft::MemberId id{i};
      view.members[id] = {.id = id, .peer_urls = {}, .name = {}, .client_urls = {}};
      if (i <= voters - unstarted) view.members[id].name = "m" + std::to_string(i);
      if (i > 1 && i <= connected) transport.since[id] = kLongAgo;
    }
  }
  Connections connections() const { return {.self = 1, .transport = &transport, .now = kNow}; }
  std::string Add(bool is_learner = false) const {
    const Member added{
        .id = 77, .peer_urls = {}, .is_learner = is_learner, .name = {}, .client_urls = {}};
    return Outcome(CheckStrictAdd(view, added, connections()));
  }
  std::string Remove(raft::MemberId id) const {
    return Outcome(CheckStrictRemove(view, id, connections()));
  }
  std::string Promote() const { return Outcome(CheckStrictPromote(view)); }
  static std::string Outcome(const Result<void>& checked) {
    if (checked.has_value()) return "yes";
    if (checked.error() == kErrNotEnoughStarted.ToError()) return "not started";
    return checked.error() == kErrUnhealthy.ToError() ? "unhealthy" : checked.error().message;
  }

  MembershipView view;
  FixedTransport transport;
};

// The new member counts as absent: the connected members must be a quorum of the cluster with it. A
// single member may always add one, as its data may have just been restored.
TEST(StrictReconfigTest, AnAdditionNeedsAConnectedQuorumOfTheNewSize) {
  const struct {
    std::size_t voters;
    std::size_t connected;
    std::string expected;
  } cases[] = {
      {1, 1, "yes"},       {2, 1, "unhealthy"}, {2, 2, "yes"},       {3, 1, "unhealthy"},
      {3, 2, "unhealthy"}, {3, 3, "yes"},       {4, 2, "unhealthy"}, {4, 3, "yes"},
      {4, 4, "yes"},       {5, 3, "unhealthy"}, {5, 4, "yes"},       {5, 5, "yes"},
      {6, 3, "unhealthy"}, {6, 4, "yes"},       {7, 4, "unhealthy"}, {7, 5, "yes"},
  };
  for (const auto& [voters, connected, expected] : cases) {
    const Cluster cluster(voters, connected);
    EXPECT_EQ(cluster.Add(), expected) << voters << " voters, " << connected << " connected";
    EXPECT_EQ(cluster.Add(/*is_learner=*/true), expected) << voters << ", " << connected;
  }
}

TEST(StrictReconfigTest, AnAdditionNeedsAStartedQuorumOfTheNewSize) {
  EXPECT_EQ(Cluster(2, 2, 1).Add(), "not started");
  EXPECT_EQ(Cluster(3, 3, 1).Add(), "not started");
  EXPECT_EQ(Cluster(4, 4, 1).Add(), "yes");
  EXPECT_EQ(Cluster(5, 5, 2).Add(), "not started");
  EXPECT_EQ(Cluster(3, 3, 1).Add(/*is_learner=*/true), "yes") << "a learner has no vote";
}

TEST(StrictReconfigTest, AConnectionCountsOnceItHasLasted) {
  Cluster cluster(2, 1);
  cluster.transport.since[2] = kNow - kHealthInterval;
  EXPECT_EQ(cluster.Add(), "unhealthy");
  cluster.transport.since[2] = kNow - kHealthInterval - std::chrono::nanoseconds(1);
  EXPECT_EQ(cluster.Add(), "yes");
}

TEST(StrictReconfigTest, LearnersAreNoPartOfAQuorum) {
  Cluster cluster(1, 1);
  cluster.view.members[9] = {
      .id = 9, .peer_urls = {}, .is_learner = true, .name = {}, .client_urls = {}};
  EXPECT_EQ(cluster.Add(), "yes");
  EXPECT_EQ(cluster.Remove(9), "yes");
}

TEST(StrictReconfigTest, ARemovalLeavesAConnectedQuorum) {
  EXPECT_EQ(Cluster(3, 3).Remove(2), "yes");
  EXPECT_EQ(Cluster(3, 2).Remove(2), "unhealthy");
  EXPECT_EQ(Cluster(3, 2).Remove(3), "yes") << "it is down";
  EXPECT_EQ(Cluster(5, 4).Remove(2), "yes");
  EXPECT_EQ(Cluster(5, 3).Remove(2), "unhealthy");
  EXPECT_EQ(Cluster(5, 3).Remove(1), "unhealthy");
  EXPECT_EQ(Cluster(1, 1).Remove(1), "not started");
  EXPECT_EQ(Cluster(3, 3, 1).Remove(2), "not started");
}

TEST(StrictReconfigTest, APromotionCountsTheLearnerAsStarted) {
  EXPECT_EQ(Cluster(1, 1).Promote(), "yes");
  EXPECT_EQ(Cluster(2, 2, 1).Promote(), "yes");
  EXPECT_EQ(Cluster(3, 3, 2).Promote(), "not started");
}

}  // namespace
}  // namespace kvorum::server
