// A member with users: root, alice, who may read and write keys with the prefix "a", and bob, who
// may read them. Requests are made in their names.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {

class AuthTest : public testing::Test {
 protected:
  AuthTest() { EXPECT_TRUE(served_.Start().has_value()); }

  // The caller shows this token; none: no particular user.
  static std::shared_ptr<rpc::CallContext> As(std::string_view token) {
    auto call = std::make_shared<rpc::CallContext>();
    if (!token.empty()) call->AddMetadata("token", token);
    return call;
  }
  Result<std::string> CallAs(std::string_view token, std::string_view path,
                             std::string_view request) {
    return served_.Call(path, request, As(token));
  }
  template <class Message>
  Error AskAs(std::string_view token, std::string_view method, const Message& message) {
    const std::string path =
        method.starts_with('/') ? std::string(method) : "/etcdserverpb.Auth/" + std::string(method);
    return ErrorOf(CallAs(token, path, message.SerializeAsString()));
  }

  Error AddUser(std::string_view token, std::string_view name, std::string_view password) {
    etcdserverpb::AuthUserAddRequest request;
    request.set_name(std::string(name));
    request.set_password(std::string(password));
    return AskAs(token, "UserAdd", request);
  }
  Error AddRole(std::string_view token, std::string_view name) {
    etcdserverpb::AuthRoleAddRequest request;
    request.set_name(std::string(name));
    return AskAs(token, "RoleAdd", request);
  }
  Error GrantRole(std::string_view token, std::string_view user, std::string_view role) {
    etcdserverpb::AuthUserGrantRoleRequest request;
    request.set_user(std::string(user));
    request.set_role(std::string(role));
    return AskAs(token, "UserGrantRole", request);
  }
  Error RevokeRole(std::string_view token, std::string_view user, std::string_view role) {
    etcdserverpb::AuthUserRevokeRoleRequest request;
    request.set_name(std::string(user));
    request.set_role(std::string(role));
    return AskAs(token, "UserRevokeRole", request);
  }
  Error Grant(std::string_view token, std::string_view role, authpb::Permission::Type type,
              std::string_view key, std::string_view range_end) {
    etcdserverpb::AuthRoleGrantPermissionRequest request;
    request.set_name(std::string(role));
    request.mutable_perm()->set_permtype(type);
    request.mutable_perm()->set_key(std::string(key));
    request.mutable_perm()->set_range_end(std::string(range_end));
    return AskAs(token, "RoleGrantPermission", request);
  }
  Error Enable(std::string_view token) {
    return AskAs(token, "AuthEnable", etcdserverpb::AuthEnableRequest());
  }
  Result<std::string> Login(std::string_view name, std::string_view password) {
    etcdserverpb::AuthenticateRequest request;
    request.set_name(std::string(name));
    request.set_password(std::string(password));
    KV_TRY(const std::string bytes,
           served_.Call("/etcdserverpb.Auth/Authenticate", request.SerializeAsString()));
    etcdserverpb::AuthenticateResponse response;
    EXPECT_TRUE(response.ParseFromString(bytes));
    return response.token();
  }

  // Users and roles, and auth turned on.
  void SetUp() override {
    EXPECT_EQ(AddUser("", "root", "secret"), kNone);
    EXPECT_EQ(AddRole("", "root"), kNone);
    EXPECT_EQ(GrantRole("", "root", "root"), kNone);
    EXPECT_EQ(AddUser("", "alice", "of alice"), kNone);
    EXPECT_EQ(AddUser("", "bob", "of bob"), kNone);
    EXPECT_EQ(AddRole("", "writer"), kNone);
    EXPECT_EQ(AddRole("", "reader"), kNone);
    EXPECT_EQ(Grant("", "writer", authpb::Permission::READWRITE, "a", "b"), kNone);
    EXPECT_EQ(Grant("", "reader", authpb::Permission::READ, "a", "b"), kNone);
    EXPECT_EQ(GrantRole("", "alice", "writer"), kNone);
    EXPECT_EQ(GrantRole("", "bob", "reader"), kNone);
    ASSERT_EQ(Enable(""), kNone);
    root_ = Login("root", "secret").value_or("");
    alice_ = Login("alice", "of alice").value_or("");
    bob_ = Login("bob", "of bob").value_or("");
    ASSERT_FALSE(root_.empty() || alice_.empty() || bob_.empty());
  }

  Error PutAs(std::string_view token, std::string_view key) {
    return ErrorOf(CallAs(token, "/etcdserverpb.KV/Put", PutBody(std::string(key), "value")));
  }
  Error RangeAs(std::string_view token, std::string_view key, std::string_view range_end = {}) {
    return ErrorOf(
        CallAs(token, "/etcdserverpb.KV/Range", RangeBody({.key = key, .range_end = range_end})));
  }

  static inline const Error kNone{Code::kOk, "no error"};

  ServedMember served_;
  std::string root_;
  std::string alice_;
  std::string bob_;
};

}  // namespace kvorum::server
