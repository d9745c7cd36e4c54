#include "server/services/cluster/peer_http.h"

#include <string>
#include <utility>

#include "api/entries/history_json.h"
#include "api/member_id.h"
#include "base/log/logging.h"
#include "base/text/parse_number.h"
#include "rpc/http/http_error.h"
#include "server/call/quarantine.h"
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

rpc::HttpResponse WithClusterId(const ServiceContext& context, rpc::HttpResponse response) {
  response.headers.push_back({"X-Etcd-Cluster-Id", IdText(context.cluster_id)});
  return response;
}

// A follower sends its client's promotion here.
void ServePromote(ServiceContext& context, ClusterService& cluster, const rpc::HttpRequest& request,
                  rpc::HttpReply reply) {
  if (request.method != "POST") return reply.Send(rpc::WrongMethod("POST"));
  const std::string_view text = request.Path().substr(kPromotePrefix.size());
  const auto number = ParseNumber<std::uint64_t>(text);
  if (!number) {
    return reply.Send(WithClusterId(
        context, rpc::HttpError(404, "member " + std::string(text) + " not found in cluster")));
  }
  const raft::MemberId id{*number};
  const TimePoint deadline = context.replica->clock().Now() + context.limits.request_timeout;
  cluster.PromoteAsLeader(
      id, deadline,
      [&context, id,
       reply = std::move(reply)](Result<std::shared_ptr<const MembershipView>> members) mutable {
        if (members.has_value()) {
          return reply.Send(
              WithClusterId(context, rpc::HttpResponse::Json(200, EncodeMembersJson(**members))));
        }
        KV_WARN("failed to promote a member", {"member-id", IdText(id)},
                {"error", members.error().message});
        reply.Send(WithClusterId(context, rpc::HttpError(PromoteStatusOf(members.error()),
                                                         PromoteTextOf(members.error()))));
      });
}

// Asked by members that want to know how old a version may join.
void ServeDowngradeEnabled(ServiceContext& context, const rpc::HttpRequest& request,
                           rpc::HttpReply reply) {
  if (!MethodIsGet(request, reply)) return;
  context.batcher->Read(nullptr, [&context,
                                  reply = std::move(reply)](const Result<void>& confirmed) mutable {
    if (!confirmed.has_value()) {
      return reply.Send(WithClusterId(
          context, rpc::HttpError(500, "failed linearized read: " + confirmed.error().message)));
    }
    rpc::HttpResponse response = rpc::HttpResponse::Text(
        200, context.membership->View()->downgrade.enabled ? "true" : "false");
    response.content_type = "text/plain";
    reply.Send(WithClusterId(context, std::move(response)));
  });
}

// The points of the incremental hash, which the others compare with their own.
void ServeHistory(const ServiceContext& context, const rpc::HttpRequest& request,
                  rpc::HttpReply reply) {
  constexpr std::size_t kFewPoints = 64;
  if (!MethodIsGet(request, reply)) return;
  const bool is_all = request.Query().starts_with("points=");
  reply.Send(rpc::HttpResponse::Json(
      200,
      EncodeHistoryJson({.member = context.member_id,
                         .serves = context.quarantine == nullptr || !context.quarantine->stands(),
                         .history = context.store->history_sum().Newest(
                             is_all ? mvcc::HistorySum::kMaxPoints : kFewPoints)})));
}

// A member asks its leader for a new database.
void ServeReseed(ServiceContext& context, const rpc::HttpRequest& request, rpc::HttpReply reply) {
  if (request.Header("x-etcd-cluster-id") != IdText(context.cluster_id))
    return reply.Send(rpc::HttpError(412, "cluster ID mismatch"));
  const auto id = ParseMemberId(request.Path().substr(kReseedPrefix.size()));
  if (request.method != "POST" || !id.has_value() ||
      !context.membership->View()->members.contains(*id))
    return reply.Send(rpc::HttpError(400, "not a member to be re-seeded"));
  const auto answer = std::make_shared<rpc::HttpReply>(std::move(reply));
  SendFreshSnapshot(context, *id, [answer](const Result<void>& begun) {
    if (begun.has_value()) return answer->Send(rpc::HttpResponse::Text(200, ""));
    const bool is_final = begun.error().code == Code::kFailedPrecondition;
    answer->Send(rpc::HttpError(is_final ? 412 : 503, begun.error().message));
  });
}

}  // namespace

rpc::HttpMux PeerRoutes(ServiceContext& context, ClusterService& cluster, LeaseAccess& leases,
                        DefragmentTurns& turns) {
  rpc::HttpMux mux;
  HandleLeases(mux, leases);
  HandleDefragmentTurns(mux, context, turns);
  HandleHashKv(mux, context);
  mux.Handle("/downgrade/enabled",
             [&context](const rpc::HttpRequest& request, rpc::HttpReply reply) {
               ServeDowngradeEnabled(context, request, std::move(reply));
             });
  mux.Handle(std::string(kHistoryPath),
             [&context](const rpc::HttpRequest& request, rpc::HttpReply reply) {
               ServeHistory(context, request, std::move(reply));
             });
  mux.Handle("/version", [&context](rpc::HttpRequest request, rpc::HttpReply reply) {
    ServeVersion(context, VersionAsker::kPeer, request, std::move(reply));
  });
  mux.Handle("/members", [&context](const rpc::HttpRequest& request, rpc::HttpReply reply) {
    if (!MethodIsGet(request, reply)) return;
    reply.Send(WithClusterId(
        context, rpc::HttpResponse::Json(200, EncodeMembersJson(*context.membership->View()))));
  });
  mux.HandlePrefix(std::string(kReseedPrefix),
                   [&context](const rpc::HttpRequest& request, rpc::HttpReply reply) {
                     ServeReseed(context, request, std::move(reply));
                   });
  mux.HandlePrefix(std::string(kPromotePrefix),
                   [&context, &cluster](const rpc::HttpRequest& request, rpc::HttpReply reply) {
                     ServePromote(context, cluster, request, std::move(reply));
                   });
  return mux;
}

rpc::HttpHandler MakePeerHttpHandler(ServiceContext& context, ClusterService& cluster,
                                     LeaseAccess& leases, DefragmentTurns& turns) {
  return rpc::HttpMux::ToHandler(PeerRoutes(context, cluster, leases, turns));
}

}  // namespace kvorum::server
