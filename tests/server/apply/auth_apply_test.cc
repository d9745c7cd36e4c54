// Log entries in users' names, whichever member admitted them: their permissions are checked again
// where they are applied, by the rules of etcd's members.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/auth_messages.h"
#include "api/lease_messages.h"
#include "auth/password.h"
#include "tests/auth/password_hash.h"
#include "tests/server/auth/auth_fixture.h"

namespace kvorum::server {
namespace {

class AuthApplyTest : public AuthTest {
 protected:
  // Proposes it as a member does that has let it in at this auth revision.
  Error ApplyAt(std::uint64_t revision, RequestKind kind, const std::string& body,
                std::string_view user) {
    std::optional<Error> outcome;
    served_.member().Propose(
        kind, body,
        [&outcome](const Result<ApplyResult::Value>& value) { outcome = ErrorOf(value); },
        {.username = user, .revision = revision});
    EXPECT_TRUE(served_.lanes().RunUntil([&] { return outcome.has_value(); }));
    return outcome.value_or(Error{Code::kUnknown, "no outcome"});
  }
  Error Apply(RequestKind kind, const std::string& body, std::string_view user) {
    return ApplyAt(Revision(), kind, body, user);
  }
  std::uint64_t Revision() { return served_.access().state()->revision(); }
  lease::LeaseId LeaseWithKey(std::string_view key) {
    const auto granted =
        CallAs(root_, "/etcdserverpb.Lease/LeaseGrant", EncodeLeaseGrant({.ttl_s = 60}));
    etcdserverpb::LeaseGrantResponse response;
    EXPECT_TRUE(granted.has_value() && response.ParseFromString(*granted));
    if (key.empty()) return response.id();
    std::string body = PutBody(key, "v");
    wire::AppendInt(body, 3, response.id());
    EXPECT_EQ(ErrorOf(CallAs(root_, "/etcdserverpb.KV/Put", body)), kNone);
    return response.id();
  }
};

TEST_F(AuthApplyTest, KeysAreForWhomTheyAreGranted) {
  EXPECT_EQ(Apply(RequestKind::kPut, PutBody("a", "v"), "alice"), kNone);
  EXPECT_EQ(Apply(RequestKind::kPut, PutBody("b", "v"), "alice"), kErrPermissionDenied);
  EXPECT_EQ(Apply(RequestKind::kPut, PutBody("a", "v"), "bob"), kErrPermissionDenied);
  EXPECT_EQ(Apply(RequestKind::kDeleteRange, DeleteBody("b"), "alice"), kErrPermissionDenied);
  EXPECT_EQ(Apply(RequestKind::kDeleteRange, DeleteBody("a", "c"), "alice"), kErrPermissionDenied);
  const std::string foreign = OpBody(2, PutBody("b", "v"));
  const std::string nested = OpBody(4, TxnBody({}, {foreign}));
  for (const std::string& txn : {TxnBody({foreign}), TxnBody({}, {foreign}), TxnBody({nested})})
    EXPECT_EQ(Apply(RequestKind::kTxn, txn, "alice"), kErrPermissionDenied);
  EXPECT_EQ(Apply(RequestKind::kTxn, TxnBody({OpBody(2, PutBody("a", "v"))}), "alice"), kNone);
  EXPECT_EQ(Apply(RequestKind::kPut, PutBody("a", "v"), "nobody"), kErrPermissionDenied);
}

// For any entry and any caller: a rule that differs from that of etcd's members would give
// different data.
TEST_F(AuthApplyTest, ARevisionThatIsNotTheNewestIsRefused) {
  const std::uint64_t before = Revision();
  EXPECT_EQ(AddRole(root_, "of nobody"), kNone);
  const std::string txn = TxnBody({OpBody(2, PutBody("a", "v"))});
  for (const std::string_view user : {"root", "alice"}) {
    EXPECT_EQ(ApplyAt(before, RequestKind::kPut, PutBody("a", "v"), user), kErrAuthOldRevision);
    EXPECT_EQ(ApplyAt(before, RequestKind::kDeleteRange, DeleteBody("a"), user),
              kErrAuthOldRevision);
    EXPECT_EQ(ApplyAt(before, RequestKind::kTxn, txn, user), kErrAuthOldRevision);
    EXPECT_EQ(ApplyAt(0, RequestKind::kPut, PutBody("a", "v"), user), kErrUserEmpty);
    EXPECT_EQ(ApplyAt(Revision(), RequestKind::kPut, PutBody("a", "v"), user), kNone);
  }
}

TEST_F(AuthApplyTest, LeasesAreRevokedByWhoMayWriteTheirKeys) {
  const std::uint64_t before = Revision();
  EXPECT_EQ(AddRole(root_, "of nobody"), kNone);
  const lease::LeaseId foreign = LeaseWithKey("b");
  const lease::LeaseId own = LeaseWithKey("a");
  const lease::LeaseId empty = LeaseWithKey("");
  const auto kind = RequestKind::kLeaseRevoke;
  EXPECT_EQ(Apply(kind, EncodeLeaseId(foreign), "alice"), kErrPermissionDenied);
  EXPECT_EQ(Apply(kind, EncodeLeaseId(foreign), "bob"), kErrPermissionDenied);
  EXPECT_EQ(Apply(kind, EncodeLeaseId(own), "bob"), kErrPermissionDenied) << "reads only";
  EXPECT_EQ(ApplyAt(before, kind, EncodeLeaseId(own), "alice"), kErrAuthOldRevision);
  EXPECT_EQ(ApplyAt(0, kind, EncodeLeaseId(own), ""), kErrUserEmpty);
  EXPECT_EQ(Apply(kind, EncodeLeaseId(own), "alice"), kNone);
  EXPECT_EQ(Apply(kind, EncodeLeaseId(empty), "bob"), kNone);
  EXPECT_EQ(ApplyAt(before, kind, EncodeLeaseId(foreign), "root"), kNone);
}

TEST_F(AuthApplyTest, UsersAndRolesAreRootsToChange) {
  etcdserverpb::AuthRoleAddRequest role;
  role.set_name("new");
  const std::string body = role.SerializeAsString();
  EXPECT_EQ(Apply(RequestKind::kRoleAdd, body, "alice"), kErrPermissionDenied);
  EXPECT_EQ(Apply(RequestKind::kRoleAdd, body, ""), kErrUserEmpty);
  EXPECT_EQ(Apply(RequestKind::kRoleAdd, body, "nobody"), kErrUserNotFound);
  EXPECT_EQ(Apply(RequestKind::kAuthDisable, "", "alice"), kErrPermissionDenied);
  EXPECT_EQ(Apply(RequestKind::kRoleAdd, body, "root"), kNone);
}

TEST_F(AuthApplyTest, ALoginIsOfAUserThatHasAPassword) {
  etcdserverpb::AuthUserAddRequest add;
  add.set_name("by-certificate");
  add.mutable_options()->set_no_password(true);
  EXPECT_EQ(AskAs(root_, "UserAdd", add), kNone);
  const auto login = [&](std::string_view name) {
    return Apply(RequestKind::kAuthenticate,
                 EncodeLoginEntry({.name = name, .token_prefix = "abcdefghijklmnop"}), "");
  };
  EXPECT_EQ(login("nobody"), kErrAuthFailed);
  EXPECT_EQ(login("by-certificate"), kErrAuthFailed);
  EXPECT_EQ(login("alice"), kNone);
  EXPECT_EQ(Apply(RequestKind::kAuthDisable, "", "root"), kNone);
  EXPECT_EQ(login("alice"), kErrAuthNotEnabled);
}

// Verified against a password that is replaced before the login's place of the log.
TEST_F(AuthApplyTest, ALoginThatIsOvertakenByANewPasswordIsVerifiedOnceMore) {
  etcdserverpb::AuthUserChangePasswordRequest change;
  change.set_name("alice");
  change.set_hashedpassword(
      auth::EncodeHash(auth::HashPassword("new", auth::kMinBcryptCost, {}).value()));
  etcdserverpb::AuthenticateRequest login;
  login.set_name("alice");
  login.set_password("of alice");
  Lanes& lanes = served_.lanes();
  lanes.Hold(lanes.readers(), true);  // where passwords are verified
  const auto answer = served_.Send("/etcdserverpb.Auth/Authenticate", login.SerializeAsString());
  lanes.RunFor(std::chrono::milliseconds(100));
  ASSERT_EQ(answer->times, 0);
  EXPECT_EQ(Apply(RequestKind::kUserChangePassword, change.SerializeAsString(), "root"), kNone);
  lanes.Hold(lanes.readers(), false);
  EXPECT_EQ(ErrorOf(served_.Await(*answer)), kErrAuthFailed);
  EXPECT_TRUE(Login("alice", "new").has_value());
}

}  // namespace
}  // namespace kvorum::server
