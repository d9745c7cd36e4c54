// The API's methods, as the protocol's own descriptors list them, against the router.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "proto/election.pb.h"
#include "proto/health.pb.h"
#include "proto/lock.pb.h"
#include "proto/rpc.pb.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

using google::protobuf::MethodDescriptor;

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

}  // namespace
}  // namespace kvorum::server
