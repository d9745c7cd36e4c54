#include "server/gateway/gateway.h"

#include <memory>
#include <string>

#include "base/letter_case.h"
#include "base/text/percent.h"
#include "rpc/http/http_error.h"
#include "rpc/http1/websocket_handshake.h"
#include "server/call/access.h"
#include "server/call/interceptors.h"
#include "server/call/reads.h"
#include "server/gateway/http_errors.h"
#include "server/gateway/routes.h"
#include "server/gateway/stream_call.h"
#include "server/gateway/unary_call.h"
#include "server/gateway/websocket.h"

namespace kvorum::server::gateway {
namespace {

constexpr std::string_view kPrefix = "/v3/";
constexpr std::string_view kOldPrefix = "/v3beta/";

// Routes have no escapes.
std::string RoutePath(std::string_view escaped) {
  std::string path = PercentDecode(escaped);
  if (path.starts_with(kOldPrefix)) path.replace(0, kOldPrefix.size(), kPrefix);
  return path;
}

// A form may name another method than its own; its body is read as the form then.
void OverrideMethod(rpc::HttpRequest& request) {
  const auto override_method = request.Header("x-http-method-override");
  if (!override_method || override_method->empty() || request.method != "POST" ||
      request.Header("content-type") != "application/x-www-form-urlencoded")
    return;
  request.method = UpperCase(std::string(*override_method));
  request.body = {};
}

}  // namespace

void Gateway::AddRoutes(rpc::HttpMux& mux) const {
  const auto serve = [this](rpc::HttpRequest request, rpc::HttpReply reply) {
    Serve(std::move(request), std::move(reply));
  };
  mux.HandlePrefix(std::string(kPrefix), serve);
  mux.HandlePrefix(std::string(kOldPrefix), serve);
  // Without its slash it is not a path of ours and is not redirected.
  mux.Handle(std::string(kOldPrefix.substr(0, kOldPrefix.size() - 1)),
             [](const rpc::HttpRequest&, rpc::HttpReply reply) {
               reply.Send(rpc::HttpError(404, "404 page not found"));
             });
}

bool Gateway::RefusesCertificate(const rpc::HttpRequest& request, rpc::HttpReply& reply) const {
  const bool names_user = parts_.certificates_name_users && request.certificate_name.has_value() &&
                          !request.certificate_name->empty() && !parts_.reads->access.is_off();
  if (!names_user) return false;
  reply.Send(rpc::HttpError(
      400,
      "CommonName of client sending a request against gateway will be ignored and not used as "
      "expected"));
  return true;
}

bool Gateway::ReadsOpenBody(std::string_view method, std::string_view path) {
  if (method != "POST") return false;
  const Route* const route = FindRoute(RoutePath(path));
  return route != nullptr && route->reads_open_body;
}

bool Gateway::ReadsBody(std::string_view method, std::string_view path) {
  return method == "POST" && FindRoute(RoutePath(path)) != nullptr;
}

void Gateway::Serve(rpc::HttpRequest request, rpc::HttpReply reply) const {
  if (RefusesCertificate(request, reply)) return;
  if (!rpc::IsWebSocketRequest(request)) return Call(std::move(request), std::move(reply));
  auto within = OpenWebSocket(std::move(request), std::move(reply));
  if (within.has_value()) Call(std::move(within->first), std::move(within->second));
}

void Gateway::Call(rpc::HttpRequest request, rpc::HttpReply reply) const {
  OverrideMethod(request);
  const Route* const route = FindRoute(RoutePath(request.Path()));
  if (route == nullptr) return reply.Send(ErrorResponse({Code::kNotFound, "Not Found"}));
  if (request.method != "POST")
    return reply.Send(ErrorResponse({Code::kUnimplemented, "Method Not Allowed"}));
  const rpc::Router::Method* const method = parts_.router().Find(route->method);
  if (method == nullptr) return reply.Send(ErrorResponse({Code::kNotFound, "Not Found"}));
  if (method->info.kind == rpc::MethodKind::kUnary) {
    std::make_shared<UnaryCall>(parts_, *route, *method, std::move(request), std::move(reply))
        ->Begin();
  } else {
    std::make_shared<StreamCall>(parts_, *route, *method, std::move(request), std::move(reply))
        ->Begin();
  }
}

}  // namespace kvorum::server::gateway
