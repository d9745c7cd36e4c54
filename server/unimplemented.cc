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
    {"v3lockpb.Lock", "Lock"},
    {"v3lockpb.Lock", "Unlock"},
    {"v3electionpb.Election", "Campaign"},
    {"v3electionpb.Election", "Proclaim"},
    {"v3electionpb.Election", "Leader"},
    {"v3electionpb.Election", "Resign"},
    {"v3electionpb.Election", "Observe", rpc::MethodKind::kServerStream},
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
