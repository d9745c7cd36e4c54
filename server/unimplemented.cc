#include "server/unimplemented.h"

#include <string>
#include <string_view>

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
    {"etcdserverpb.Auth", "AuthEnable"},
    {"etcdserverpb.Auth", "AuthDisable"},
    {"etcdserverpb.Auth", "AuthStatus"},
    {"etcdserverpb.Auth", "Authenticate"},
    {"etcdserverpb.Auth", "UserAdd"},
    {"etcdserverpb.Auth", "UserGet"},
    {"etcdserverpb.Auth", "UserList"},
    {"etcdserverpb.Auth", "UserDelete"},
    {"etcdserverpb.Auth", "UserChangePassword"},
    {"etcdserverpb.Auth", "UserGrantRole"},
    {"etcdserverpb.Auth", "UserRevokeRole"},
    {"etcdserverpb.Auth", "RoleAdd"},
    {"etcdserverpb.Auth", "RoleGet"},
    {"etcdserverpb.Auth", "RoleList"},
    {"etcdserverpb.Auth", "RoleDelete"},
    {"etcdserverpb.Auth", "RoleGrantPermission"},
    {"etcdserverpb.Auth", "RoleRevokePermission"},
};

}  // namespace

void RegisterUnimplemented(rpc::Router& router) {
  for (const ApiMethod& method : kMethods) {
    const Error error{Code::kUnimplemented,
                      "method " + std::string(method.name) + " not implemented"};
    if (method.kind == rpc::MethodKind::kUnary) {
      router.AddUnary(method.service, method.name,
                      [error](std::shared_ptr<rpc::CallContext>, SharedBytes,
                              rpc::UnaryReply reply) { reply.Fail(error); });
    } else {
      router.AddStream(
          method.service, method.name, method.kind,
          [error](std::shared_ptr<rpc::ServerStream> stream) { stream->Finish(error); });
    }
  }
}

}  // namespace kvorum::server
