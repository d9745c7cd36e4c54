// The API's methods, as the protocol's own descriptors list them, against the router.
#include "server/services/unimplemented.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "proto/election.pb.h"
#include "proto/health.pb.h"
#include "proto/lock.pb.h"
#include "proto/rpc.pb.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

using google::protobuf::MethodDescriptor;

const std::set<std::string> kServed = {
    "/etcdserverpb.Auth/AuthDisable",
    "/etcdserverpb.Auth/AuthEnable",
    "/etcdserverpb.Auth/AuthStatus",
    "/etcdserverpb.Auth/Authenticate",
    "/etcdserverpb.Auth/RoleAdd",
    "/etcdserverpb.Auth/RoleDelete",
    "/etcdserverpb.Auth/RoleGet",
    "/etcdserverpb.Auth/RoleGrantPermission",
    "/etcdserverpb.Auth/RoleList",
    "/etcdserverpb.Auth/RoleRevokePermission",
    "/etcdserverpb.Auth/UserAdd",
    "/etcdserverpb.Auth/UserChangePassword",
    "/etcdserverpb.Auth/UserDelete",
    "/etcdserverpb.Auth/UserGet",
    "/etcdserverpb.Auth/UserGrantRole",
    "/etcdserverpb.Auth/UserList",
    "/etcdserverpb.Auth/UserRevokeRole",
    "/etcdserverpb.Cluster/MemberAdd",
    "/etcdserverpb.Cluster/MemberList",
    "/etcdserverpb.Cluster/MemberPromote",
    "/etcdserverpb.Cluster/MemberRemove",
    "/etcdserverpb.Cluster/MemberUpdate",
    "/etcdserverpb.KV/Compact",
    "/etcdserverpb.KV/DeleteRange",
    "/etcdserverpb.KV/Put",
    "/etcdserverpb.KV/Range",
    "/etcdserverpb.KV/RangeStream",
    "/etcdserverpb.KV/Txn",
    "/etcdserverpb.Lease/LeaseGrant",
    "/etcdserverpb.Lease/LeaseKeepAlive",
    "/etcdserverpb.Lease/LeaseLeases",
    "/etcdserverpb.Lease/LeaseRevoke",
    "/etcdserverpb.Lease/LeaseTimeToLive",
    "/etcdserverpb.Maintenance/Alarm",
    "/etcdserverpb.Maintenance/Defragment",
    "/etcdserverpb.Maintenance/Hash",
    "/etcdserverpb.Maintenance/HashKV",
    "/etcdserverpb.Maintenance/MoveLeader",
    "/etcdserverpb.Maintenance/Status",
    "/etcdserverpb.Watch/Watch",
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/List",
    "/grpc.health.v1.Health/Watch",
    "/v3electionpb.Election/Campaign",
    "/v3electionpb.Election/Leader",
    "/v3electionpb.Election/Observe",
    "/v3electionpb.Election/Proclaim",
    "/v3electionpb.Election/Resign",
    "/v3lockpb.Lock/Lock",
    "/v3lockpb.Lock/Unlock",
};

std::map<std::string, const MethodDescriptor*> MethodsOfTheProtos() {
  std::map<std::string, const MethodDescriptor*> methods;
  for (const auto* file : {etcdserverpb::RangeRequest::descriptor()->file(),
                           v3lockpb::LockRequest::descriptor()->file(),
                           v3electionpb::LeaderRequest::descriptor()->file(),
                           grpc::health::v1::HealthCheckRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const MethodDescriptor* method = file->service(s)->method(m);
        methods["/" + file->service(s)->full_name() + "/" + method->name()] = method;
      }
    }
  }
  return methods;
}

rpc::MethodKind KindOf(const MethodDescriptor& method) {
  if (method.client_streaming()) {
    return method.server_streaming() ? rpc::MethodKind::kBidiStream
                                     : rpc::MethodKind::kClientStream;
  }
  return method.server_streaming() ? rpc::MethodKind::kServerStream : rpc::MethodKind::kUnary;
}

TEST(ApiMethodsTest, EveryOneIsRegisteredInItsKind) {
  const ServedMember served;
  const auto methods = MethodsOfTheProtos();
  EXPECT_EQ(methods.size(), 52);
  for (const auto& [path, descriptor] : methods) {
    const rpc::Router::Method* method = served.router().Find(path);
    ASSERT_NE(method, nullptr) << path;
    EXPECT_EQ(method->info.kind, KindOf(*descriptor)) << path;
  }
  // Ours has no messages but empty ones, and so no definition.
  for (const auto& method : served.router().methods()) {
    EXPECT_TRUE(methods.contains(method->info.path) ||
                method->info.path == "/kvorumpb.Replica/Reseed")
        << method->info.path;
  }
}

TEST(ApiMethodsTest, WhatIsNotServedSaysSo) {
  ServedMember served;
  ASSERT_TRUE(served.Start().has_value());
  for (const auto& [path, descriptor] : MethodsOfTheProtos()) {
    if (kServed.contains(path) || served.router().Find(path) == nullptr) continue;
    const Error expected{Code::kUnimplemented, "method " + descriptor->name() + " not implemented"};
    if (KindOf(*descriptor) == rpc::MethodKind::kUnary) {
      EXPECT_EQ(ErrorOf(served.Call(path, "")), expected) << path;
      continue;
    }
    const auto stream = served.OpenStream(path, "");
    ASSERT_TRUE(served.RunUntilFinished(*stream)) << path;
    EXPECT_EQ(stream->status(), expected) << path;
  }
}

}  // namespace
}  // namespace kvorum::server
