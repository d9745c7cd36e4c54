#include "server/services/unimplemented.h"

#include <string>
#include <string_view>

#include "server/call/interceptors.h"

namespace kvorum::server {
namespace {

struct ApiMethod {
  std::string_view service;
  std::string_view name;
  rpc::MethodKind kind = rpc::MethodKind::kUnary;
};

constexpr ApiMethod kMethods[] = {
    {"etcdserverpb.Maintenance", "Snapshot", rpc::MethodKind::kServerStream},
    {"etcdserverpb.Maintenance", "Downgrade"},
};

}  // namespace

void RegisterUnimplemented(rpc::Router& router, const ServiceContext& context) {
  for (const ApiMethod& method : kMethods) {
    const Error error{Code::kUnimplemented,
                      "method " + std::string(method.name) + " not implemented"};
    if (method.kind == rpc::MethodKind::kUnary) {
      router.AddUnary(method.service, method.name,
                      Intercepted(context, AccessRuleOf(method.service, method.name),
                                  [error](std::shared_ptr<rpc::CallContext>, SharedBytes,
                                          rpc::UnaryReply reply) { reply.Fail(error); }));
    } else {
      AddStream(router, context, method.service, method.name, method.kind,
                [error](std::shared_ptr<rpc::ServerStream> stream) { stream->Finish(error); });
    }
  }
}

}  // namespace kvorum::server
