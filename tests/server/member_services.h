// Small members' services within a small cluster: calls of the Cluster and KV services at any of
// them, and peers' requests outside of the peer protocol.
#pragma once

#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/maintenance_encode.h"
#include "api/member_id.h"
#include "rpc/call/service.h"
#include "server/call/method_registrar.h"
#include "server/replica/recovery/joining.h"
#include "server/services/cluster/cluster_service.h"
#include "server/services/cluster/peer_http.h"
#include "server/services/kv/kv_service.h"
#include "server/services/lease/lease_service.h"
#include "server/services/maintenance/maintenance_service.h"
#include "tests/server/member_parts.h"
#include "tests/server/replica/small_cluster.h"

namespace kvorum::server {

// Answers as the peer ports of the members that are up would.
class SmallPeers final : public PeerRequester {
 public:
  void Watch(SmallCluster& cluster) { cluster_ = &cluster; }
  void AskAll(std::string_view, const std::vector<std::string>& urls, std::string_view path,
              Duration, const Take& take) override {
    for (const std::string& url : urls) {
      if (take(url, AnswerOf(url, path))) return;
    }
  }
  std::string Resolve(const std::string& url) override { return url; }

  std::string version = "3.7.0";  // of the cluster

 private:
  Result<PeerAnswer> AnswerOf(const std::string& url, std::string_view path) {
    for (std::size_t i = 0; cluster_ != nullptr && i < cluster_->size(); ++i) {
      if (SmallCluster::PeerUrlOf(i) != url || !cluster_->is_up(i)) continue;
      LocalMember& local_member = cluster_->member(i).local_member();
      PeerAnswer answer{.status = 200, .cluster_id = IdText(local_member.cluster_id()), .body = {}};
      answer.body = path == "/members"
                        ? EncodeMembersJson(*local_member.membership().View())
                        : R"({"etcdserver":"3.7.3","etcdcluster":")" + version + R"("})";
      return answer;
    }
    return Fail(Code::kUnavailable, url + ": connection refused");
  }

  SmallCluster* cluster_ = nullptr;
};

// The services of member i, as long as it is up.
class MemberServices {
 public:
  MemberServices(SmallCluster& cluster, std::size_t i)
      : cluster_(cluster),
        parts_(cluster.member(i).local_member(), cluster.network().PortOf(cluster.id(i)),
               cluster.member(i).lanes().io(), cluster.member(i).lanes().readers()),
        guard_(parts_, cluster.disk(i), SmallMember::kQuarantineFile,
               cluster.member(i).lanes().io()),
        maintenance_({.proposer = parts_.services.proposer,
                      .reads = parts_.services.reads,
                      .member = cluster.member(i).local_member(),
                      .quarantine = guard_.quarantine}),
        lease_(parts_.services.proposer, parts_.services.reads,
               {.leases = cluster.member(i).local_member().leases(),
                .expiry = cluster.member(i).local_member().lease_expiry(),
                .poster = poster_}) {
    MethodRegistrar methods(router_, guard_.call);
    cluster_service_.Register(methods);
    kv_.Register(methods);
    maintenance_.Register(methods);
    lease_.Register(methods);
  }
  MemberServices(const MemberServices&) = delete;
  MemberServices& operator=(const MemberServices&) = delete;

  MemberParts& parts() { return parts_; }
  const MemberGuard& guard() const { return guard_; }
  PluggedPoster& poster() { return poster_; }
  PeerHttpParts peer_parts(DefragmentTurns& turns) {
    return {.proposer = parts_.services.proposer,
            .reads = parts_.services.reads,
            .quarantine = guard_.quarantine,
            .cluster = cluster_service_,
            .leases = lease_.access(),
            .turns = turns};
  }
  ClusterService& service() { return cluster_service_; }
  LeaseService& lease() { return lease_; }
  const rpc::Router& router() const { return router_; }

  // Hands a request over; the answer comes when the cluster runs.
  std::shared_ptr<std::optional<Result<std::string>>> Send(std::string_view path,
                                                           std::string_view request) {
    auto answer = std::make_shared<std::optional<Result<std::string>>>();
    router_.Find(path)->unary(std::make_shared<rpc::CallContext>(), SharedBytes::Copy(request),
                              rpc::UnaryReply::ToFunction([answer](Result<ByteChain> reply) {
                                *answer = reply.has_value()
                                              ? Result<std::string>(Join(*reply))
                                              : std::unexpected(std::move(reply).error());
                              }));
    return answer;
  }
  template <class Response>
  Result<Response> Call(std::string_view path, const std::string& request) {
    const auto answer = Send(path, request);
    if (!cluster_.RunUntil([&] { return answer->has_value(); }))
      return Fail(Code::kUnknown, "no answer");
    if (!(*answer)->has_value()) return std::unexpected((*answer)->error());
    Response response;
    if (!response.ParseFromString(***answer)) return Fail(Code::kUnknown, "not its message");
    return response;
  }

 private:
  SmallCluster& cluster_;
  PluggedPoster poster_;
  MemberParts parts_;
  MemberGuard guard_;
  ClusterService cluster_service_{parts_.services.proposer, parts_.services.reads, nullptr};
  KvService kv_{parts_.services.proposer, parts_.services.reads};
  MaintenanceService maintenance_;
  LeaseService lease_;
  rpc::Router router_;
};

}  // namespace kvorum::server
