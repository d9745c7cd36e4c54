// The API's methods, as the protocol's own descriptors list them, against the router.
#include <gtest/gtest.h>

#include "server/call/api.h"
#include "tests/server/auth/proto_methods.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

using google::protobuf::MethodDescriptor;

rpc::MethodKind KindOf(const MethodDescriptor& method) {
  if (method.client_streaming()) {
    return method.server_streaming() ? rpc::MethodKind::kBidiStream
                                     : rpc::MethodKind::kClientStream;
  }
  return method.server_streaming() ? rpc::MethodKind::kServerStream : rpc::MethodKind::kUnary;
}

TEST(ApiMethodsTest, EveryOneIsRegisteredInItsKind) {
  ServedMember served;
  ASSERT_TRUE(served.Open().has_value());
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

TEST(ApiMethodsTest, ProposalsOfAuthAreTracedAsSuchAndItsReadsAreNot) {
  for (const ApiMethod& method : ApiMethods()) {
    if (method.service != "etcdserverpb.Auth") continue;
    const bool is_read = method.name.ends_with("Get") || method.name.ends_with("List") ||
                         method.name == "AuthStatus";
    EXPECT_EQ(method.span, is_read ? CallSpan::kPlain : CallSpan::kProposal) << method.name;
  }
  EXPECT_EQ(SpanOf("/etcdserverpb.Maintenance/Alarm"), CallSpan::kProposal);
  EXPECT_EQ(SpanOf("/etcdserverpb.Maintenance/Status"), CallSpan::kPlain);
  EXPECT_EQ(SpanOf("/etcdserverpb.KV/Txn"), CallSpan::kTxn);
  EXPECT_EQ(SpanOf("/etcdserverpb.KV/Tx"), CallSpan::kPlain);
  EXPECT_EQ(SpanOf(""), CallSpan::kPlain);
}

TEST(ApiMethodsTest, EachIsFoundByItsPath) {
  for (const ApiMethod& method : ApiMethods()) EXPECT_EQ(FindApiMethod(method.Path()), &method);
}

}  // namespace
}  // namespace kvorum::server
