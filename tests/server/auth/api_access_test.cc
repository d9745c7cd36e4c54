// The rows of the API against the protocol's descriptors, and every method against callers without
// a token, with a wrong one, with little and with all permissions.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "server/call/api.h"
#include "tests/server/auth/auth_fixture.h"
#include "tests/server/auth/proto_methods.h"

namespace kvorum::server {
namespace {

std::set<std::string> PathsOfTheProtos() {
  std::set<std::string> paths;
  for (const auto& [path, method] : MethodsOfTheProtos()) paths.insert(path);
  return paths;
}

TEST(ApiAccessTest, HasARowForEveryMethodAndNoOther) {
  std::set<std::string> rows;
  for (const ApiMethod& method : ApiMethods()) EXPECT_TRUE(rows.insert(method.Path()).second);
  EXPECT_EQ(rows, PathsOfTheProtos());
}

// For a method whose answer to an empty request shows whether it was admitted.
enum class Let : std::uint8_t { kEverybody, kWhoLoggedIn, kRoot };

const std::map<std::string, Let> kUnary = {
    {"/etcdserverpb.KV/Compact", Let::kRoot},
    {"/etcdserverpb.Lease/LeaseGrant", Let::kWhoLoggedIn},
    {"/etcdserverpb.Lease/LeaseRevoke", Let::kWhoLoggedIn},
    {"/etcdserverpb.Lease/LeaseTimeToLive", Let::kWhoLoggedIn},
    {"/etcdserverpb.Lease/LeaseLeases", Let::kWhoLoggedIn},
    {"/etcdserverpb.Cluster/MemberAdd", Let::kRoot},
    {"/etcdserverpb.Cluster/MemberRemove", Let::kRoot},
    {"/etcdserverpb.Cluster/MemberUpdate", Let::kRoot},
    {"/etcdserverpb.Cluster/MemberPromote", Let::kRoot},
    {"/etcdserverpb.Cluster/MemberList", Let::kWhoLoggedIn},
    {"/etcdserverpb.Maintenance/Alarm", Let::kWhoLoggedIn},  // GET
    {"/etcdserverpb.Maintenance/Status", Let::kWhoLoggedIn},
    {"/etcdserverpb.Maintenance/Defragment", Let::kRoot},
    {"/etcdserverpb.Maintenance/Hash", Let::kRoot},
    {"/etcdserverpb.Maintenance/HashKV", Let::kRoot},
    {"/etcdserverpb.Maintenance/MoveLeader", Let::kRoot},
    {"/etcdserverpb.Maintenance/Downgrade", Let::kRoot},
    {"/kvorumpb.Replica/Reseed", Let::kRoot},
    {"/etcdserverpb.Auth/AuthEnable", Let::kRoot},
    {"/etcdserverpb.Auth/AuthStatus", Let::kEverybody},
    {"/etcdserverpb.Auth/Authenticate", Let::kEverybody},
    {"/etcdserverpb.Auth/UserAdd", Let::kRoot},
    {"/etcdserverpb.Auth/UserList", Let::kRoot},
    {"/etcdserverpb.Auth/UserDelete", Let::kRoot},
    {"/etcdserverpb.Auth/UserChangePassword", Let::kRoot},
    {"/etcdserverpb.Auth/UserGrantRole", Let::kRoot},
    {"/etcdserverpb.Auth/UserRevokeRole", Let::kRoot},
    {"/etcdserverpb.Auth/RoleAdd", Let::kRoot},
    {"/etcdserverpb.Auth/RoleGet", Let::kRoot},
    {"/etcdserverpb.Auth/RoleList", Let::kRoot},
    {"/etcdserverpb.Auth/RoleDelete", Let::kRoot},
    {"/etcdserverpb.Auth/RoleGrantPermission", Let::kRoot},
    {"/etcdserverpb.Auth/RoleRevokePermission", Let::kRoot},
    {"/v3lockpb.Lock/Unlock", Let::kWhoLoggedIn},
    {"/v3electionpb.Election/Proclaim", Let::kWhoLoggedIn},
    {"/v3electionpb.Election/Resign", Let::kWhoLoggedIn},
    {"/etcdserverpb.Auth/AuthDisable", Let::kRoot},  // the last: it lets everybody in
};

// A request that gets past the method's own rules, whose errors every caller gets.
std::string RequestFor(std::string_view path) {
  if (!path.ends_with("/MemberAdd")) return {};
  etcdserverpb::MemberAddRequest request;
  request.add_peerurls("http://10.0.0.9:2380");
  request.set_islearner(true);  // a voter that never starts would take the majority away
  return request.SerializeAsString();
}

// The others: the content of their requests decides, or they are streams.
const std::set<std::string> kElsewhere = {
    // auth_service_test.cc, and RangeStream by auth_test.py
    "/etcdserverpb.KV/Range",
    "/etcdserverpb.KV/RangeStream",
    "/etcdserverpb.KV/Put",
    "/etcdserverpb.KV/DeleteRange",
    "/etcdserverpb.KV/Txn",
    "/etcdserverpb.Watch/Watch",
    "/etcdserverpb.Lease/LeaseKeepAlive",
    // below
    "/etcdserverpb.Auth/UserGet",
    // auth_test.py
    "/etcdserverpb.Maintenance/Snapshot",
    "/v3lockpb.Lock/Lock",
    "/v3electionpb.Election/Campaign",
    "/v3electionpb.Election/Leader",
    "/v3electionpb.Election/Observe",
    // for everybody
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/List",
    "/grpc.health.v1.Health/Watch",
};

TEST(ApiAccessTest, IsTestedInEveryRow) {
  std::set<std::string> tested = kElsewhere;
  for (const auto& [path, let] : kUnary) EXPECT_TRUE(tested.insert(path).second) << path;
  std::set<std::string> methods = PathsOfTheProtos();
  methods.insert("/kvorumpb.Replica/Reseed");  // ours
  EXPECT_EQ(tested, methods);
}

// A refusal at the door. The request's own faults are another matter: they show that it got in.
bool IsRefused(const Error& error) {
  return error == kErrUserEmpty || error == kErrInvalidAuthToken || error == kErrPermissionDenied ||
         error == kErrUserNotFound;
}

using ApiAccessCallsTest = AuthTest;

// CVE-2026-33413 (MemberList, Alarm, leases and compaction without a check): none is left out.
TEST_F(ApiAccessCallsTest, EveryMethodAsksWhoCalls) {
  const std::string wrong = alice_.substr(0, 15) + "!" + alice_.substr(16);
  for (const auto& [path, let] : kUnary) {
    if (path.ends_with("AuthDisable")) continue;
    const auto refused = [&](std::string_view token) {
      return ErrorOf(CallAs(token, path, RequestFor(path)));
    };
    const bool is_login = path.ends_with("/Authenticate");
    if (let == Let::kEverybody) {
      EXPECT_FALSE(IsRefused(refused(""))) << path;
    } else {
      EXPECT_EQ(refused(""), kErrUserEmpty) << path;
    }
    if (is_login) {
      EXPECT_FALSE(IsRefused(refused(wrong))) << path;
    } else {
      EXPECT_EQ(refused(wrong), kErrInvalidAuthToken) << path;
    }
    if (let == Let::kRoot) {
      EXPECT_EQ(refused(alice_), kErrPermissionDenied) << path;
    } else {
      EXPECT_FALSE(IsRefused(refused(alice_))) << path;
    }
    if (!path.ends_with("/UserDelete") && !path.ends_with("ChangePassword") &&
        !path.ends_with("GrantRole") &&
        !path.ends_with("RevokeRole")) {  // which say themselves that there is no such user
      EXPECT_FALSE(IsRefused(refused(root_)) && refused(root_) != kErrUserEmpty.ToError()) << path;
    }
  }
  EXPECT_EQ(ErrorOf(CallAs(alice_, "/etcdserverpb.Auth/AuthDisable", "")), kErrPermissionDenied);
  EXPECT_EQ(PutAs("", "a"), kErrUserEmpty);
  EXPECT_EQ(ErrorOf(CallAs(root_, "/etcdserverpb.Auth/AuthDisable", "")), kNone);
  EXPECT_EQ(PutAs("", "a"), kNone);
}

TEST_F(ApiAccessCallsTest, AlarmsAreReadByAllAndChangedByRoot) {
  etcdserverpb::AlarmRequest request;
  request.set_action(etcdserverpb::AlarmRequest::ACTIVATE);
  request.set_alarm(etcdserverpb::NOSPACE);
  EXPECT_EQ(AskAs(alice_, "/etcdserverpb.Maintenance/Alarm", request), kErrPermissionDenied);
  request.set_action(etcdserverpb::AlarmRequest::DEACTIVATE);
  EXPECT_EQ(AskAs(root_, "/etcdserverpb.Maintenance/Alarm", request), kNone);
}

TEST_F(ApiAccessCallsTest, WhoIsOneselfAndWhatOnesRolesMayIsToldToAll) {
  etcdserverpb::AuthUserGetRequest user;
  user.set_name("alice");
  EXPECT_EQ(AskAs(alice_, "UserGet", user), kNone);
  EXPECT_EQ(AskAs(bob_, "UserGet", user), kErrPermissionDenied);
  EXPECT_EQ(AskAs(root_, "UserGet", user), kNone);
  EXPECT_EQ(AskAs("", "UserGet", user), kErrUserEmpty);
  etcdserverpb::AuthRoleGetRequest role;
  role.set_role("writer");
  EXPECT_EQ(AskAs(alice_, "RoleGet", role), kNone);
  EXPECT_EQ(AskAs(bob_, "RoleGet", role), kErrPermissionDenied);
}

}  // namespace
}  // namespace kvorum::server
