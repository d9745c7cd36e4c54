#include "server/services/cluster/peer_http.h"

#include <string>
#include <utility>

#include "api/entries/history_json.h"
#include "api/member_id.h"
#include "base/log/logging.h"
#include "base/text/parse_number.h"
#include "rpc/http/http_error.h"
#include "server/call/cluster_header.h"
#include "server/call/quarantine.h"
#include "server/call/reads.h"
#include "server/call/request_batcher.h"
#include "server/replica/drive/replica.h"
#include "server/replica/recovery/joining.h"
#include "server/services/cluster/promote_forwarder.h"
#include "server/services/lease/lease_http.h"
#include "server/services/maintenance/defragment_turn_http.h"
#include "server/services/maintenance/hash_http.h"
#include "server/services/maintenance/http_handlers.h"
#include "server/services/maintenance/reseed.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kPromotePrefix = "/members/promote/";

// A follower sends its client's promotion here.
void ServePromote(const PeerHttpParts& parts, const rpc::HttpRequest& request,
                  rpc::HttpReply reply) {
  if (request.method != "POST") return reply.Send(rpc::WrongMethod("POST"));
  const std::string_view text = request.Path().substr(kPromotePrefix.size());
  const auto number = ParseNumber<std::uint64_t>(text);
  if (!number) {
    return reply.Send(WithClusterId(
        parts.reads.cluster,
        rpc::HttpError(404, "member " + std::string(text) + " not found in cluster")));
  }
  const raft::MemberId id{*number};
  const TimePoint deadline = parts.reads.cluster.Now() + parts.reads.limits.request_timeout;
  parts.cluster.PromoteAsLeader(
      id, deadline,
      [parts, id,
       reply = std::move(reply)](Result<std::shared_ptr<const MembershipView>> members) mutable {
        if (members.has_value()) {
          return reply.Send(WithClusterId(
              parts.reads.cluster, rpc::HttpResponse::Json(200, EncodeMembersJson(**members))));
        }
        KV_WARN("failed to promote a member", {"member-id", IdText(id)},
                {"error", members.error().message});
        reply.Send(WithClusterId(
            parts.reads.cluster,
            rpc::HttpError(PromoteStatusOf(members.error()), PromoteTextOf(members.error()))));
      });
}

// Asked by members that want to know how old a version may join.
void ServeDowngradeEnabled(const PeerHttpParts& parts, const rpc::HttpRequest& request,
                           rpc::HttpReply reply) {
  if (!MethodIsGet(request, reply)) return;
  parts.reads.batcher.Read(
      nullptr, [parts, reply = std::move(reply)](const Result<void>& confirmed) mutable {
        if (!confirmed.has_value()) {
          return reply.Send(WithClusterId(
              parts.reads.cluster,
              rpc::HttpError(500, "failed linearized read: " + confirmed.error().message)));
        }
        rpc::HttpResponse response = rpc::HttpResponse::Text(
            200, parts.reads.cluster.membership.View()->downgrade.enabled ? "true" : "false");
        response.content_type = "text/plain";
        reply.Send(WithClusterId(parts.reads.cluster, std::move(response)));
      });
}

// The points of the incremental hash, which the others compare with their own.
void ServeHistory(const PeerHttpParts& parts, const rpc::HttpRequest& request,
                  rpc::HttpReply reply) {
  constexpr std::size_t kFewPoints = 64;
  if (!MethodIsGet(request, reply)) return;
  const ClusterFacts& cluster = parts.reads.cluster;
  if (IsOtherCluster(request, cluster.cluster_id))
    return reply.Send(WithClusterId(cluster, rpc::HttpError(412, "cluster ID mismatch")));
  const bool is_all = request.Query().starts_with("points=");
  const MemberHistory own{.member = cluster.member_id,
                          .serves = !parts.quarantine.stands(),
                          .history = parts.reads.store.history_sum().Newest(
                              is_all ? mvcc::HistorySum::kMaxPoints : kFewPoints)};
  reply.Send(WithClusterId(cluster, rpc::HttpResponse::Json(200, EncodeHistoryJson(own))));
}

// A member asks its leader for a new database.
void ServeReseed(const PeerHttpParts& parts, const rpc::HttpRequest& request,
                 rpc::HttpReply reply) {
  if (request.Header("x-etcd-cluster-id") != IdText(parts.reads.cluster.cluster_id))
    return reply.Send(rpc::HttpError(412, "cluster ID mismatch"));
  const auto id = ParseMemberId(request.Path().substr(kReseedPrefix.size()));
  if (request.method != "POST" || !id.has_value() ||
      !parts.reads.cluster.membership.View()->members.contains(*id))
    return reply.Send(rpc::HttpError(400, "not a member to be re-seeded"));
  const auto answer = std::make_shared<rpc::HttpReply>(std::move(reply));
  SendFreshSnapshot(parts.proposer, parts.quarantine, *id, [answer](const Result<void>& begun) {
    if (begun.has_value()) return answer->Send(rpc::HttpResponse::Text(200, ""));
    const bool is_final = begun.error().code == Code::kFailedPrecondition;
    answer->Send(rpc::HttpError(is_final ? 412 : 503, begun.error().message));
  });
}

}  // namespace

rpc::HttpMux PeerRoutes(const PeerHttpParts& parts) {
  rpc::HttpMux mux;
  HandleLeases(mux, parts.leases);
  HandleDefragmentTurns(mux, parts.reads.cluster, parts.turns);
  HandleHashKv(mux, parts.reads);
  mux.Handle("/downgrade/enabled", [parts](const rpc::HttpRequest& request, rpc::HttpReply reply) {
    ServeDowngradeEnabled(parts, request, std::move(reply));
  });
  mux.Handle(std::string(kHistoryPath),
             [parts](const rpc::HttpRequest& request, rpc::HttpReply reply) {
               ServeHistory(parts, request, std::move(reply));
             });
  mux.Handle("/version", [parts](rpc::HttpRequest request, rpc::HttpReply reply) {
    ServeVersion(parts.reads.cluster.membership, VersionAsker::kPeer, request, std::move(reply));
  });
  mux.Handle("/members", [parts](const rpc::HttpRequest& request, rpc::HttpReply reply) {
    if (!MethodIsGet(request, reply)) return;
    reply.Send(WithClusterId(
        parts.reads.cluster,
        rpc::HttpResponse::Json(200, EncodeMembersJson(*parts.reads.cluster.membership.View()))));
  });
  mux.HandlePrefix(std::string(kReseedPrefix),
                   [parts](const rpc::HttpRequest& request, rpc::HttpReply reply) {
                     ServeReseed(parts, request, std::move(reply));
                   });
  mux.HandlePrefix(std::string(kPromotePrefix),
                   [parts](const rpc::HttpRequest& request, rpc::HttpReply reply) {
                     ServePromote(parts, request, std::move(reply));
                   });
  return mux;
}

rpc::HttpHandler MakePeerHttpHandler(const PeerHttpParts& parts) {
  return rpc::HttpMux::ToHandler(PeerRoutes(parts));
}

}  // namespace kvorum::server
