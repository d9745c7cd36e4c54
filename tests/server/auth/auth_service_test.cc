// The Auth service of one member, and its users' permissions on keys.
#include "server/services/auth/auth_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/lease_messages.h"
#include "base/api_errors.h"
#include "server/call/member_patches.h"
#include "server/state/leases.h"
#include "tests/server/auth/auth_fixture.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/live_stream.h"

namespace kvorum::server {
namespace {

class AuthServiceTest : public AuthTest {
 protected:
  Error TxnAs(std::string_view token, const std::string& body) {
    return ErrorOf(CallAs(token, kTxnPath, body));
  }
  lease::LeaseId LeaseOf(std::string_view token, std::string_view key) {
    const auto granted =
        CallAs(token, "/etcdserverpb.Lease/LeaseGrant", EncodeLeaseGrant({.ttl_s = 60}));
    etcdserverpb::LeaseGrantResponse response;
    EXPECT_TRUE(granted.has_value() && response.ParseFromString(*granted));
    EXPECT_EQ(Attach(token, key, response.id()), kNone);
    return response.id();
  }
  Error Attach(std::string_view token, std::string_view key, lease::LeaseId id) {
    std::string body = PutBody(key, "v");
    wire::AppendInt(body, 3, id);
    return ErrorOf(CallAs(token, kPutPath, body));
  }
  // Opens a stream for one message, whose answer is checked.
  std::shared_ptr<LiveStream> Open(std::string_view token, std::string_view path) {
    auto stream = std::make_shared<LiveStream>(served_.lanes().io());
    if (!token.empty()) stream->context().AddMetadata("token", token);
    served_.router().Find(path)->stream(stream);
    return stream;
  }
  // The cancel reason of a watcher; empty if it was created.
  std::string WatchAs(std::string_view token, std::string_view key, std::string_view range_end,
                      std::int64_t start_revision = 0) {
    etcdserverpb::WatchRequest request;
    request.mutable_create_request()->set_key(std::string(key));
    request.mutable_create_request()->set_range_end(std::string(range_end));
    request.mutable_create_request()->set_start_revision(start_revision);
    auto stream = std::make_shared<FakeStream>(
        served_.lanes().io(), std::deque<std::string>{request.SerializeAsString()});
    stream->StayOpen();
    if (!token.empty()) stream->context().AddMetadata("token", token);
    served_.router().Find("/etcdserverpb.Watch/Watch")->stream(stream);
    served_.lanes().RunUntil([&] { return !stream->messages().empty(); });
    etcdserverpb::WatchResponse response;
    EXPECT_TRUE(response.ParseFromString(stream->messages().at(0)));
    EXPECT_TRUE(response.created());
    EXPECT_EQ(response.canceled(), !response.cancel_reason().empty());
    EXPECT_EQ(response.watch_id(), response.canceled() ? -1 : 0);
    EXPECT_FALSE(stream->status().has_value());  // the others on the stream go on
    stream->context().Cancel({Code::kCanceled, "context canceled"});
    served_.lanes().RunFor(std::chrono::milliseconds(1));
    return response.cancel_reason();
  }
};

// While auth is on, enabling it changes nothing.
TEST_F(AuthServiceTest, AuthIsNotEnabledBesideAMemberThatDecidesOtherwise) {
  MemberPatches& patches = served_.patches();
  patches.forbid_auth = true;
  EXPECT_EQ(Enable(root_), kNone);
  EXPECT_EQ(AskAs(root_, "AuthDisable", etcdserverpb::AuthDisableRequest()), kNone);
  EXPECT_EQ(Enable(""), kErrAuthBesideOlderEtcd);
  EXPECT_EQ(PutAs("", "a1"), kNone) << "still off";
  patches.forbid_auth = false;
  EXPECT_EQ(Enable(""), kNone);
  EXPECT_EQ(PutAs("", "a1"), kErrUserEmpty);
}

TEST_F(AuthServiceTest, KeysAreForWhomTheyAreGranted) {
  EXPECT_EQ(PutAs(alice_, "a1"), kNone);
  EXPECT_EQ(PutAs(alice_, "b"), kErrPermissionDenied);
  EXPECT_EQ(PutAs(bob_, "a1"), kErrPermissionDenied);
  EXPECT_EQ(RangeAs(bob_, "a1"), kNone);
  EXPECT_EQ(RangeAs(bob_, "a", "b"), kNone);
  EXPECT_EQ(RangeAs(bob_, "a", "b1"), kErrPermissionDenied);
  EXPECT_EQ(RangeAs(bob_, "a", std::string_view("\0", 1)), kErrPermissionDenied);
  EXPECT_EQ(RangeAs(root_, "a", std::string_view("\0", 1)), kNone);
  EXPECT_EQ(ErrorOf(CallAs(bob_, kDeleteRangePath, DeleteBody("a1"))), kErrPermissionDenied);
  EXPECT_EQ(ErrorOf(CallAs(alice_, kDeleteRangePath, DeleteBody("a", "b"))), kNone);
  EXPECT_EQ(RangeAs("", "a"), kErrUserEmpty);
}

// A fault of the request itself is reported first, as in etcd.
TEST_F(AuthServiceTest, NonsenseIsToldAsSuch) {
  EXPECT_EQ(PutAs(bob_, ""), Error(Code::kInvalidArgument, "etcdserver: key is not provided"));
  EXPECT_EQ(RangeAs("", ""), Error(Code::kInvalidArgument, "etcdserver: key is not provided"));
  EXPECT_EQ(PutAs("wrong.1", ""), kErrEmptyKey) << "whatever token is shown";
  EXPECT_EQ(RangeAs("wrong.1", ""), kErrEmptyKey);
  EXPECT_EQ(PutAs("wrong.1", "a"), kErrInvalidAuthToken);
}

// CVE-2026-33343: operations nested in a txn are checked as well, also in the branch that does not
// run.
TEST_F(AuthServiceTest, NestedTxnsAreChecked) {
  const std::string foreign = OpBody(kRequestPut, PutBody("b", "v"));
  EXPECT_EQ(TxnAs(alice_, TxnBody({foreign}, {})), kErrPermissionDenied);
  EXPECT_EQ(TxnAs(alice_, TxnBody({}, {foreign})), kErrPermissionDenied);
  const std::string nested = OpBody(kRequestTxn, TxnBody({}, {foreign}));
  EXPECT_EQ(TxnAs(alice_, TxnBody({nested}, {})), kErrPermissionDenied);
  EXPECT_EQ(TxnAs(alice_, TxnBody({OpBody(kRequestTxn, TxnBody({nested}, {}))}, {})),
            kErrPermissionDenied);
  const std::string own = OpBody(kRequestPut, PutBody("a", "v"));
  EXPECT_EQ(TxnAs(alice_, TxnBody({OpBody(kRequestTxn, TxnBody({own}, {}))}, {})), kNone);
  const std::string read = OpBody(kRequestRange, RangeBody({.key = "b"}));
  EXPECT_EQ(TxnAs(bob_, TxnBody({read}, {})), kErrPermissionDenied);
  EXPECT_EQ(TxnAs(alice_, TxnBody({OpBody(kRequestDelete, DeleteBody("a", "c"))}, {})),
            kErrPermissionDenied);
}

TEST_F(AuthServiceTest, ComparesRead) {
  etcdserverpb::TxnRequest txn;
  txn.add_compare()->set_key("b");
  EXPECT_EQ(TxnAs(alice_, txn.SerializeAsString()), kErrPermissionDenied);
  txn.mutable_compare(0)->set_key("a");
  EXPECT_EQ(TxnAs(alice_, txn.SerializeAsString()), kNone);
  // A compare may be of a range.
  txn.mutable_compare(0)->set_range_end("b");
  EXPECT_EQ(TxnAs(alice_, txn.SerializeAsString()), kNone);
  txn.mutable_compare(0)->set_range_end("c");
  EXPECT_EQ(TxnAs(alice_, txn.SerializeAsString()), kErrPermissionDenied);
}

// prev_kv discloses the previous value: a caller that asks for it reads.
TEST_F(AuthServiceTest, PreviousValuesAreRead) {
  EXPECT_EQ(AddUser(root_, "carol", "pw"), kNone);
  EXPECT_EQ(AddRole(root_, "blind"), kNone);
  EXPECT_EQ(Grant(root_, "blind", authpb::Permission::WRITE, "a", "b"), kNone);
  EXPECT_EQ(GrantRole(root_, "carol", "blind"), kNone);
  const std::string carol = *Login("carol", "pw");
  std::string put = PutBody("a", "v");
  EXPECT_EQ(ErrorOf(CallAs(carol, kPutPath, put)), kNone);
  wire::AppendUint(put, 4, 1);
  EXPECT_EQ(ErrorOf(CallAs(carol, kPutPath, put)), kErrPermissionDenied);
  EXPECT_EQ(TxnAs(carol, TxnBody({OpBody(kRequestPut, put)}, {})), kErrPermissionDenied);
  std::string del = DeleteBody("a");
  wire::AppendUint(del, 3, 1);
  EXPECT_EQ(ErrorOf(CallAs(carol, kDeleteRangePath, del)), kErrPermissionDenied);
  EXPECT_EQ(TxnAs(carol, TxnBody({OpBody(kRequestDelete, del)}, {})), kErrPermissionDenied);
  EXPECT_EQ(ErrorOf(CallAs(alice_, kPutPath, put)), kNone);
}

// A lease ends with all its attached keys: no user may attach to a lease with others' keys, revoke
// it or renew it.
TEST_F(AuthServiceTest, LeasesWithForeignKeysAreForeign) {
  const lease::LeaseId foreign = LeaseOf(root_, "b");
  const lease::LeaseId own = LeaseOf(alice_, "a");
  EXPECT_EQ(Attach(alice_, "a", foreign), kErrPermissionDenied);
  std::string put = PutBody("a", "v");
  wire::AppendInt(put, 3, foreign);
  EXPECT_EQ(TxnAs(alice_, TxnBody({OpBody(kRequestPut, put)}, {})), kErrPermissionDenied);
  const auto revoke = [&](lease::LeaseId id) {
    return ErrorOf(CallAs(alice_, "/etcdserverpb.Lease/LeaseRevoke", EncodeLeaseId(id)));
  };
  EXPECT_EQ(revoke(foreign), kErrPermissionDenied);
  const auto stream = Open(alice_, "/etcdserverpb.Lease/LeaseKeepAlive");
  stream->Send(EncodeLeaseId(own));
  served_.lanes().RunUntil([&] { return stream->messages().size() == 1; });
  EXPECT_FALSE(stream->status().has_value());
  stream->Send(EncodeLeaseId(foreign));
  served_.lanes().RunUntil([&] { return stream->status().has_value(); });
  EXPECT_EQ(*stream->status(), kErrPermissionDenied);
  stream->Drop();
  EXPECT_EQ(revoke(own), kNone);
}

// CVE-2023-32082: the names of keys are for users that may read them.
TEST_F(AuthServiceTest, TheKeysOfALeaseAreForWhoMayReadThem) {
  const lease::LeaseId foreign = LeaseOf(root_, "b");
  etcdserverpb::LeaseTimeToLiveRequest request;
  request.set_id(foreign);
  EXPECT_EQ(AskAs(alice_, kLeaseTimeToLivePath, request), kNone);
  request.set_keys(true);
  EXPECT_EQ(AskAs(alice_, kLeaseTimeToLivePath, request), kErrPermissionDenied);
  EXPECT_EQ(AskAs(root_, kLeaseTimeToLivePath, request), kNone);
  EXPECT_EQ(AskAs(alice_, kLeaseLeasesPath, etcdserverpb::LeaseLeasesRequest()),
            kErrPermissionDenied);
  EXPECT_EQ(AskAs(root_, kLeaseLeasesPath, etcdserverpb::LeaseLeasesRequest()), kNone);
}

// GHSA-xg4h-6gfc-h4m8: an open range is not its first key.
TEST_F(AuthServiceTest, WatchesAreForWhoMayReadTheirWholeRange) {
  const std::string denied =
      "rpc error: code = PermissionDenied desc = etcdserver: permission denied";
  EXPECT_EQ(WatchAs(bob_, "a", ""), "");
  EXPECT_EQ(WatchAs(bob_, "a", "b"), "");
  EXPECT_EQ(WatchAs(bob_, "a", std::string_view("\0", 1)), denied);
  EXPECT_EQ(WatchAs(bob_, "", std::string_view("\0", 1)), denied);
  EXPECT_EQ(WatchAs(bob_, "", ""), denied);
  EXPECT_EQ(WatchAs(bob_, "a", "c"), denied);
  EXPECT_EQ(WatchAs(root_, "", std::string_view("\0", 1)), "");
  EXPECT_EQ(WatchAs("", "a", ""),
            "rpc error: code = InvalidArgument desc = etcdserver: user name is empty");
  EXPECT_EQ(WatchAs("wrong.1", "a", ""),
            "rpc error: code = Unauthenticated desc = etcdserver: invalid auth token");
  // An impossible revision is reported before that.
  for (const std::string& token : {std::string(bob_), std::string("wrong.1"), std::string()})
    EXPECT_EQ(WatchAs(token, "x", "", -1), WatchAs(root_, "x", "", -1)) << token;
  EXPECT_THAT(WatchAs(bob_, "x", "", -1), testing::HasSubstr("has been compacted"));
}

TEST_F(AuthServiceTest, PasswordsAreVerified) {
  EXPECT_EQ(ErrorOf(Login("alice", "of bob")), kErrAuthFailed);
  EXPECT_EQ(ErrorOf(Login("nobody", "of bob")), kErrAuthFailed);
  EXPECT_EQ(ErrorOf(Login("", "")), kErrAuthFailed);
  EXPECT_EQ(ErrorOf(Login("alice", std::string(1 << 20, 'x'))), kErrAuthFailed);
  EXPECT_EQ(ErrorOf(Login("alice", std::string("of alice\0", 9))), kErrAuthFailed);
  EXPECT_NE(*Login("alice", "of alice"), *Login("alice", "of alice"));
}

TEST_F(AuthServiceTest, TokensEndWithTheirUserAndItsPassword) {
  etcdserverpb::AuthUserChangePasswordRequest change;
  change.set_name("alice");
  change.set_password("new");
  EXPECT_EQ(AskAs(root_, "UserChangePassword", change), kNone);
  EXPECT_EQ(PutAs(alice_, "a"), kErrInvalidAuthToken);
  EXPECT_EQ(ErrorOf(Login("alice", "of alice")), kErrAuthFailed);
  alice_ = *Login("alice", "new");
  EXPECT_EQ(PutAs(alice_, "a"), kNone);
  etcdserverpb::AuthUserDeleteRequest remove;
  remove.set_name("alice");
  EXPECT_EQ(AskAs(root_, "UserDelete", remove), kNone);
  EXPECT_EQ(PutAs(alice_, "a"), kErrInvalidAuthToken);
}

// So that etcd's members of a cluster come to the same one.
TEST_F(AuthServiceTest, ATokensNumberIsThatOfTheEntryBeforeItsLogin) {
  const std::string token = *Login("alice", "of alice");
  const raft::Index applied = served_.member().local_member().replica().applied_index();
  EXPECT_EQ(token.substr(16), "." + std::to_string((applied - 1).value()));
}

TEST_F(AuthServiceTest, TokensMayComeAsBearersOfAnAuthorization) {
  auto call = std::make_shared<rpc::CallContext>();
  call->AddMetadata("authorization", "Bearer " + alice_);
  EXPECT_EQ(ErrorOf(served_.Call(kPutPath, PutBody("a", "v"), call)), kNone);
}

TEST_F(AuthServiceTest, ACertificateNamesItsUserUnlessTheGatewayShowsIt) {
  const auto call = [](std::string_view name = "alice") {
    auto context = std::make_shared<rpc::CallContext>();
    context->set_certificate_name(SharedBytes::Copy(name));
    return context;
  };
  EXPECT_EQ(ErrorOf(served_.Call(kPutPath, PutBody("a", "v"), call())), kNone);
  EXPECT_EQ(ErrorOf(served_.Call(kPutPath, PutBody("b", "v"), call())), kErrPermissionDenied);
  EXPECT_EQ(ErrorOf(served_.Call(kPutPath, PutBody("a", "v"), call(""))), kErrPermissionDenied);
  EXPECT_EQ(ErrorOf(served_.Call("/etcdserverpb.Auth/UserList", "", call(""))), kErrUserEmpty);
  // CVE-2018-16886
  auto gateway = call();
  gateway->AddMetadata("grpcgateway-accept", "application/json");
  EXPECT_EQ(ErrorOf(served_.Call(kPutPath, PutBody("a", "v"), gateway)), kErrUserEmpty);
  auto both = call();
  both->AddMetadata("token", bob_);
  EXPECT_EQ(ErrorOf(served_.Call(kPutPath, PutBody("a", "v"), both)), kErrPermissionDenied);
}

// A change of another user's permissions must not fail requests in flight.
TEST_F(AuthServiceTest, WhatChangesForOthersFailsNobody) {
  std::vector<std::shared_ptr<const Answer>> answers;
  for (int i = 0; i < 20; ++i) {
    answers.push_back(served_.Send(kPutPath, PutBody("a", "v"), As(alice_)));
    etcdserverpb::AuthRoleAddRequest role;
    role.set_name("role" + std::to_string(i));
    answers.push_back(
        served_.Send("/etcdserverpb.Auth/RoleAdd", role.SerializeAsString(), As(root_)));
    answers.push_back(served_.Send(kPutPath, PutBody("a", "v"), As(alice_)));
  }
  for (const auto& answer : answers) EXPECT_EQ(ErrorOf(served_.Await(*answer)), kNone);
}

// A permission revoked before an entry's place in the log is gone when the entry is applied.
TEST_F(AuthServiceTest, WhatIsTakenAwayMeanwhileIsNotApplied) {
  etcdserverpb::AuthUserRevokeRoleRequest revoke;
  revoke.set_name("alice");
  revoke.set_role("writer");
  const auto revoked =
      served_.Send("/etcdserverpb.Auth/UserRevokeRole", revoke.SerializeAsString(), As(root_));
  const auto put = served_.Send(kPutPath, PutBody("a", "v"), As(alice_));
  EXPECT_EQ(ErrorOf(served_.Await(*revoked)), kNone);
  EXPECT_EQ(ErrorOf(served_.Await(*put)), kErrPermissionDenied);
  etcdserverpb::RangeResponse response;
  response.ParseFromString(*CallAs(root_, "/etcdserverpb.KV/Range", RangeBody({.key = "a"})));
  EXPECT_EQ(response.count(), 0);
}

// A token that ends while a request that it admitted is in flight ends the request, too: it is not
// proposed again under the name alone.
TEST_F(AuthServiceTest, ATokenThatEndsMeanwhileEndsItsRequests) {
  etcdserverpb::AuthUserChangePasswordRequest change;  // to none: at once
  change.set_name("alice");
  const auto changed =
      served_.Send("/etcdserverpb.Auth/UserChangePassword", change.SerializeAsString(), As(root_));
  const auto put = served_.Send(kPutPath, PutBody("a", "v"), As(alice_));
  EXPECT_EQ(ErrorOf(served_.Await(*changed)), kNone);
  EXPECT_EQ(ErrorOf(served_.Await(*put)), kErrInvalidAuthToken);
  etcdserverpb::RangeResponse response;
  response.ParseFromString(*CallAs(root_, "/etcdserverpb.KV/Range", RangeBody({.key = "a"})));
  EXPECT_EQ(response.count(), 0);
}

// Another user with the same name and permissions: the holder of the old token is not logged in.
TEST_F(AuthServiceTest, WhatWaitsWhileItsTokenEndsIsNotApplied) {
  etcdserverpb::AuthUserDeleteRequest gone;
  gone.set_name("alice");
  etcdserverpb::AuthUserAddRequest another;
  another.set_name("alice");
  another.mutable_options()->set_no_password(true);
  etcdserverpb::AuthUserGrantRoleRequest grant;
  grant.set_user("alice");
  grant.set_role("writer");
  const auto send = [&](std::string_view method, const auto& message) {
    return served_.Send("/etcdserverpb.Auth/" + std::string(method), message.SerializeAsString(),
                        As(root_));
  };
  const auto deleted = send("UserDelete", gone);
  const auto added = send("UserAdd", another);
  const auto granted = send("UserGrantRole", grant);
  const auto put = served_.Send(kPutPath, PutBody("a", "v"), As(alice_));
  EXPECT_EQ(ErrorOf(served_.Await(*deleted)), kNone);
  EXPECT_EQ(ErrorOf(served_.Await(*added)), kNone);
  EXPECT_EQ(ErrorOf(served_.Await(*granted)), kNone);
  EXPECT_EQ(ErrorOf(served_.Await(*put)), kErrInvalidAuthToken);
  etcdserverpb::RangeResponse response;
  response.ParseFromString(*CallAs(root_, "/etcdserverpb.KV/Range", RangeBody({.key = "a"})));
  EXPECT_EQ(response.count(), 0);
}

// So that no client can make a member check more than its own limit.
TEST_F(AuthServiceTest, ATxnWithTooManyOperationsIsToldSoWhoeverAsks) {
  etcdserverpb::TxnRequest request;
  for (int i = 0; i < 129; ++i)
    request.add_success()->mutable_request_put()->set_key("b" + std::to_string(i));
  for (const std::string& token : {std::string(), alice_, root_})
    EXPECT_EQ(AskAs(token, "/etcdserverpb.KV/Txn", request).message,
              "etcdserver: too many operations in txn request");
}

TEST_F(AuthServiceTest, TheKeysOfALeaseAreLookedAtOnceARequest) {
  const AuthStates::State state = served_.member().local_member().auth_states().Newest();
  std::vector<lease::LeaseId> visited;
  const LeaseKeys keys = [&](lease::LeaseId id, const VisitKey& visit) {
    visited.push_back(id);
    return visit("a-key");
  };
  mvcc::TxnRequest request;
  for (int i = 0; i < 10; ++i) {
    request.success.emplace_back(mvcc::PutRequest{.key = "a", .value = {}, .lease = 7 + i % 2});
    request.failure.emplace_back(mvcc::PutRequest{.key = "a", .value = {}, .lease = 8});
  }
  const auth::Identity alice{.username = "alice", .revision = state->revision()};
  EXPECT_TRUE(KeyAccess(*state, alice, keys).Check(request).has_value());
  EXPECT_EQ(visited, (std::vector<lease::LeaseId>{7, 8}));
  const LeaseKeys foreign = [](lease::LeaseId, const VisitKey& visit) { return visit("b-key"); };
  EXPECT_EQ(ErrorOf(KeyAccess(*state, alice, foreign).Check(request)), kErrPermissionDenied);
}

// A change of a lease with many keys makes the readers check them, and no I/O loop.
TEST_F(AuthServiceTest, ManyKeysOfALeaseAreCheckedBesideTheLoops) {
  const lease::LeaseId own = LeaseOf(alice_, "a");
  const lease::LeaseId foreign = LeaseOf(alice_, "a1");
  Leases& leases = served_.member().local_member().leases();
  leases.Attach("b", foreign);
  for (std::size_t i = 0; i < Access::kLeaseKeysOnLoop; ++i) {
    leases.Attach("a-own" + std::to_string(i), own);
    leases.Attach("a-foreign" + std::to_string(i), foreign);
  }
  const auto put_body = [](lease::LeaseId id) {
    std::string body = PutBody("a2", "v");
    wire::AppendInt(body, 3, id);
    return body;
  };
  const auto kept_alive = Open(alice_, "/etcdserverpb.Lease/LeaseKeepAlive");
  served_.lanes().Hold(served_.lanes().readers(), true);
  const auto put = served_.Send(kPutPath, put_body(own), As(alice_));
  const auto refused = served_.Send(kPutPath, put_body(foreign), As(alice_));
  const auto revoked =
      served_.Send("/etcdserverpb.Lease/LeaseRevoke", EncodeLeaseId(foreign), As(alice_));
  kept_alive->Send(EncodeLeaseId(own));
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(put->times + refused->times + revoked->times, 0);
  EXPECT_TRUE(kept_alive->messages().empty());
  EXPECT_EQ(PutAs(alice_, "a3"), kNone) << "others are served";

  served_.lanes().Hold(served_.lanes().readers(), false);
  EXPECT_EQ(ErrorOf(served_.Await(*put)), kNone);
  EXPECT_EQ(ErrorOf(served_.Await(*refused)), kErrPermissionDenied);
  EXPECT_EQ(ErrorOf(served_.Await(*revoked)), kErrPermissionDenied);
  EXPECT_TRUE(served_.lanes().RunUntil([&] { return kept_alive->messages().size() == 1; }));
  kept_alive->Drop();
}

TEST_F(AuthServiceTest, ARestartKeepsUsersAndForgetsTokens) {
  ServedMember again(served_.Stop());
  ASSERT_TRUE(again.Start().has_value());
  EXPECT_EQ(ErrorOf(again.Call(kPutPath, PutBody("a", "v"))), kErrUserEmpty);
  EXPECT_EQ(ErrorOf(again.Call(kPutPath, PutBody("a", "v"), As(alice_))), kErrInvalidAuthToken);
  etcdserverpb::AuthenticateRequest login;
  login.set_name("alice");
  login.set_password("of alice");
  const auto answer = again.Call("/etcdserverpb.Auth/Authenticate", login.SerializeAsString());
  ASSERT_TRUE(answer.has_value());
  etcdserverpb::AuthenticateResponse response;
  ASSERT_TRUE(response.ParseFromString(*answer));
  EXPECT_EQ(ErrorOf(again.Call(kPutPath, PutBody("a", "v"), As(response.token()))), kNone);
}

// After a kill the log is applied again from where the database ends, and the logins in it count
// once more. The database stores an entry's index within a batch interval, for any entry.
TEST_F(AuthServiceTest, AKillForgetsTokensOnceTheDatabaseIsPastTheirLogins) {
  served_.lanes().RunFor(std::chrono::seconds(1));
  const std::string fresh = Login("alice", "of alice").value();
  const auto put = [](ServedMember& member, const std::string& token) {
    return ErrorOf(member.Call(kPutPath, PutBody("a", "1"), As(token)));
  };
  Rng rng(1);
  ServedMember at_once(served_.disk().CrashImage(SimFileSystem::Keep::kAll, rng));
  ASSERT_TRUE(at_once.Start().has_value());
  EXPECT_EQ(put(at_once, fresh), kNone);
  EXPECT_EQ(put(at_once, alice_), kErrInvalidAuthToken);
  served_.lanes().RunFor(std::chrono::seconds(1));
  ServedMember later(served_.disk().CrashImage(SimFileSystem::Keep::kAll, rng));
  ASSERT_TRUE(later.Start().has_value());
  EXPECT_EQ(put(later, fresh), kErrInvalidAuthToken);
}

TEST_F(AuthServiceTest, LeasesExpireWhoeverTheirKeysBelongTo) {
  const lease::LeaseId id = LeaseOf(alice_, "a");
  served_.lanes().RunFor(std::chrono::seconds(70));
  EXPECT_FALSE(served_.member().local_member().leases().LeaseExists(id));
}

TEST_F(AuthServiceTest, AStatusIsForEverybody) {
  const auto bytes = served_.Call("/etcdserverpb.Auth/AuthStatus", "");
  ASSERT_TRUE(bytes.has_value());
  etcdserverpb::AuthStatusResponse response;
  ASSERT_TRUE(response.ParseFromString(*bytes));
  EXPECT_TRUE(response.enabled());
  EXPECT_EQ(response.authrevision(), 12);  // 1, and 11 changes of SetUp
}

}  // namespace
}  // namespace kvorum::server
