// The JSON gateway: the API's calls as POST requests under /v3/ and /v3beta/, with the JSON of
// protobuf, as etcd's grpc-gateway serves them (docs/operations/gateway.md).
//
// A request's JSON becomes its message's bytes, and the same guarded handler is called as over
// gRPC; the answer's bytes become JSON. Thread-safe once mounted.
#pragma once

#include <string_view>
#include <utility>

#include "rpc/http/http.h"
#include "server/gateway/gateway_call.h"

namespace kvorum::server::gateway {

class Gateway {
 public:
  explicit Gateway(GatewayParts parts) : parts_(std::move(parts)) {}

  // The gateway outlives the mux.
  void AddRoutes(rpc::HttpMux& mux) const;

  // True for calls that handle the messages of their body while it comes (rpc::Options).
  static bool ReadsOpenBody(std::string_view method, std::string_view path);
  // False for what is not one of its calls.
  static bool ReadsBody(std::string_view method, std::string_view path);

 private:
  void Serve(rpc::HttpRequest request, rpc::HttpReply reply) const;
  void Call(rpc::HttpRequest request, rpc::HttpReply reply) const;
  // True, and answered, for a client whose certificate names a user.
  bool RefusesCertificate(const rpc::HttpRequest& request, rpc::HttpReply& reply) const;

  const GatewayParts parts_;
};

}  // namespace kvorum::server::gateway
