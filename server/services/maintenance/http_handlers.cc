#include "server/services/maintenance/http_handlers.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "api/storage_version.h"
#include "api/version.h"
#include "rpc/http/http_error.h"
#include "server/services/maintenance/health.h"
#include "server/state/membership.h"

namespace kvorum::server {

bool MethodIsGet(const rpc::HttpRequest& request, rpc::HttpReply& reply) {
  if (request.method == "GET") return true;
  reply.Send(rpc::WrongMethod("GET"));
  return false;
}

void ServeVersion(const Membership& membership, VersionAsker asker, const rpc::HttpRequest& request,
                  rpc::HttpReply reply) {
  if (!MethodIsGet(request, reply)) return;
  const std::string cluster = membership.View()->cluster_version;
  nlohmann::ordered_json body = {{"etcdserver", kApiVersion},
                                 {"etcdcluster", cluster.empty() ? "not_decided" : cluster},
                                 {"storage", StorageVersionIn(cluster)}};
  if (asker == VersionAsker::kPeer) body[kIsKvorum] = true;
  reply.Send(rpc::HttpResponse::Json(
      200, body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)));
}

rpc::HttpMux ClientRoutes(const Membership& membership, Health& health) {
  rpc::HttpMux mux;
  health.AddRoutes(mux);
  mux.Handle("/version", [&membership](rpc::HttpRequest request, rpc::HttpReply reply) {
    ServeVersion(membership, VersionAsker::kClient, request, std::move(reply));
  });
  return mux;
}

}  // namespace kvorum::server
