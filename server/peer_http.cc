#include "server/peer_http.h"

#include <string>
#include <utility>

#include "server/http_handlers.h"
#include "server/member_id.h"

namespace kvorum::server {

rpc::HttpHandler MakePeerHttpHandler(ServiceContext& context) {
  rpc::HttpMux mux;
  mux.Handle("/version", [&context](rpc::HttpRequest request, rpc::HttpReply reply) {
    ServeVersion(context, request, std::move(reply));
  });
  mux.Handle("/members", [&context](const rpc::HttpRequest& request, rpc::HttpReply reply) {
    if (!MethodIsGet(request, reply)) return;
    std::string body = "[";
    for (const auto& [id, member] : context.membership->View()->members) {
      if (body.size() > 1) body += ',';
      body += EncodeMemberJson(member);
    }
    rpc::HttpResponse response = rpc::HttpResponse::Json(200, body + "]\n");
    response.headers.push_back({"X-Etcd-Cluster-ID", IdText(context.cluster_id)});
    reply.Send(std::move(response));
  });
  return rpc::HttpMux::ToHandler(std::move(mux));
}

}  // namespace kvorum::server
