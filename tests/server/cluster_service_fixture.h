// Small clusters whose members are asked to change the cluster, and the requests for it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/rpc.pb.h"
#include "tests/server/member_services.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {

using AddResponse = etcdserverpb::MemberAddResponse;

inline constexpr std::string_view kAdd = "/etcdserverpb.Cluster/MemberAdd";
inline constexpr std::string_view kRemove = "/etcdserverpb.Cluster/MemberRemove";
inline constexpr std::string_view kUpdate = "/etcdserverpb.Cluster/MemberUpdate";
inline constexpr std::string_view kPromote = "/etcdserverpb.Cluster/MemberPromote";
inline constexpr std::string_view kList = "/etcdserverpb.Cluster/MemberList";
inline constexpr std::string_view kMoveLeader = "/etcdserverpb.Maintenance/MoveLeader";

inline std::string AddBody(std::vector<std::string> urls, bool is_learner = false) {
  etcdserverpb::MemberAddRequest request;
  request.mutable_peerurls()->Assign(urls.begin(), urls.end());
  request.set_islearner(is_learner);
  return request.SerializeAsString();
}

inline std::string IdBody(raft::MemberId id, std::vector<std::string> urls = {}) {
  etcdserverpb::MemberUpdateRequest request;
  request.set_id(id.value());
  request.mutable_peerurls()->Assign(urls.begin(), urls.end());
  return request.SerializeAsString();
}

template <class T>
Error StatusOf(const Result<T>& result) {
  return result.has_value() ? Error{Code::kOk, "no error"} : result.error();
}

template <class T>
std::string ErrorText(const Result<T>& result) {
  return result.has_value() ? "ok" : result.error().message;
}

// A cluster whose members are started: they have published themselves, and know each other for
// longer than the strict checks ask.
class ClusterServiceTest : public testing::Test {
 protected:
  void Begin(std::size_t size) {
    cluster_ = std::make_unique<SmallCluster>(size, 1, [this](LocalMemberOptions& options) {
      options.peers = &peers_;
      options.replica.snapshot_count = 10'000;  // a member that joins gets the log
      options.on_removed = [this, name = options.name] { removed_.push_back(name); };
    });
    peers_.Watch(*cluster_);
    ASSERT_TRUE(cluster_->StartAll().has_value());
    ASSERT_TRUE(cluster_->WaitForLeader().has_value());
    for (std::size_t i = 0; i < size; ++i) Publish(i);
    cluster_->RunFor(std::chrono::seconds(10));
  }
  void Publish(std::size_t i) {
    const auto applied = cluster_->Propose(
        i, RequestKind::kMemberAttributesSet,
        EncodeMemberAttributes({.member = cluster_->id(i),
                                .name = SmallCluster::NameOf(i),
                                .client_urls = {"http://c" + std::to_string(i) + ":2379"}}));
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
  }
  MemberServices& ServicesOf(std::size_t i) {
    auto& services = services_[i];
    if (services == nullptr) services = std::make_unique<MemberServices>(*cluster_, i);
    return *services;
  }
  // Without the checks of connections: in this network followers do not hear of each other.
  MemberServices& TrustingServices(std::size_t i) {
    ServicesOf(i).parts().limits.strict_reconfig_check = false;
    return ServicesOf(i);
  }
  std::size_t Leader() { return cluster_->WaitForLeader().value(); }
  std::size_t Follower() { return (Leader() + 1) % cluster_->size(); }
  const MembershipView& View(std::size_t i) {
    views_.push_back(cluster_->member(i).local_member().membership().View());
    return *views_.back();
  }
  // Starts the machine of a member that was added last; its number.
  std::size_t StartAdded(const AddResponse& added) {
    std::string initial;
    const std::size_t number = cluster_->size();
    for (std::size_t i = 0; i <= number; ++i) {
      initial += (i == 0 ? "" : ",") + SmallCluster::NameOf(i) + "=" + SmallCluster::PeerUrlOf(i);
    }
    cluster_->AddMachine(raft::MemberId{added.member().id()}, initial, true);
    const auto started = cluster_->Start(number);
    EXPECT_TRUE(started.has_value()) << started.error().message;
    return number;
  }

  SmallPeers peers_;
  std::vector<std::string> removed_;
  std::unique_ptr<SmallCluster> cluster_;
  std::vector<std::shared_ptr<const MembershipView>> views_;
  std::map<std::size_t, std::unique_ptr<MemberServices>> services_;
};

}  // namespace kvorum::server
