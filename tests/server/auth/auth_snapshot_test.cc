// A member that gets the database of its leader instead of the log gets users, roles and
// permissions with it, and lets in whom the others let in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/auth_messages.h"
#include "auth/password.h"
#include "auth/simple_tokens.h"
#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "server/call/access.h"
#include "tests/auth/password_hash.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

class AuthSnapshotTest : public testing::Test {
 protected:
  AuthSnapshotTest()
      : cluster_(3, 1, [this](LocalMemberOptions& options) {
          auto& tokens = tokens_[options.name];
          tokens =
              std::make_unique<auth::SimpleTokens>(SystemClock(), auth::SimpleTokens::Options{});
          options.simple_tokens = tokens.get();
        }) {}
  void SetUp() override {
    ASSERT_TRUE(cluster_.StartAll().has_value());
    ASSERT_TRUE(cluster_.WaitForLeader().has_value());
    leader_ = *cluster_.Leader();
    behind_ = (leader_ + 1) % 3;
  }

  // Through the leader, in root's name, as an entry of that kind requires while auth is enabled.
  template <class Message>
  void Do(RequestKind kind, const Message& message) {
    EXPECT_EQ(Try(leader_, kind, message.SerializeAsString(), "root"), kDone);
  }
  Error Try(std::size_t member, RequestKind kind, const std::string& body, std::string_view user) {
    return TryAt(StateOf(leader_)->revision(), member, kind, body, user);
  }
  Error TryAt(std::uint64_t revision, std::size_t member, RequestKind kind, const std::string& body,
              std::string_view user) {
    return ErrorOf(cluster_.Propose(member, kind, body, {.username = user, .revision = revision}));
  }
  void AddUser(const std::string& name) {
    etcdserverpb::AuthUserAddRequest request;
    request.set_name(name);
    request.set_hashedpassword(
        auth::EncodeHash(auth::HashPassword("pw", auth::kMinBcryptCost, {}).value()));
    Do(RequestKind::kUserAdd, request);
  }
  void AddRole(const std::string& name, const std::string& key, const std::string& range_end) {
    etcdserverpb::AuthRoleAddRequest request;
    request.set_name(name);
    Do(RequestKind::kRoleAdd, request);
    etcdserverpb::AuthRoleGrantPermissionRequest grant;
    grant.set_name(name);
    grant.mutable_perm()->set_permtype(authpb::Permission::READWRITE);
    grant.mutable_perm()->set_key(key);
    grant.mutable_perm()->set_range_end(range_end);
    Do(RequestKind::kRoleGrantPermission, grant);
  }
  void GrantRole(const std::string& user, const std::string& role) {
    etcdserverpb::AuthUserGrantRoleRequest request;
    request.set_user(user);
    request.set_role(role);
    Do(RequestKind::kUserGrantRole, request);
  }
  // Its token, which every member learns of.
  std::string LogIn(const std::string& name) {
    const std::string letters = name + std::string(16 - name.size(), 'x');
    const auto entered =
        cluster_.Propose(leader_, RequestKind::kAuthenticate,
                         EncodeLoginEntry({.name = name, .token_prefix = letters}));
    EXPECT_TRUE(entered.has_value());
    return entered.has_value() ? std::get<LoginResult>(*entered).simple_token : "";
  }
  void SetUpUsers() {
    for (const char* user : {"root", "alice", "bob", "carol"}) AddUser(user);
    AddRole("root", "k", "");
    AddRole("writer", "a", "b");
    GrantRole("root", "root");
    for (const char* user : {"alice", "bob", "carol"}) GrantRole(user, "writer");
    Do(RequestKind::kAuthEnable, etcdserverpb::AuthEnableRequest());
  }
  void LoseSight() {
    ASSERT_TRUE(cluster_.CatchUp());
    cluster_.Isolate(behind_);
  }
  // The leader's log begins after the follower's last entry.
  void WriteMuch() {
    for (int i = 0; i < 40; ++i)
      ASSERT_EQ(Try(leader_, RequestKind::kPut, PutBody("k", std::to_string(i)), "root"), kDone);
    cluster_.RunFor(std::chrono::milliseconds(500));
  }
  void FindAgain() {
    ASSERT_EQ(cluster_.network().snapshots_delivered(), 0U);
    cluster_.network().MendAll();
    ASSERT_TRUE(cluster_.CatchUp());
    ASSERT_GE(cluster_.network().snapshots_delivered(), 1U);
  }

  AuthStates::State StateOf(std::size_t member) {
    return cluster_.member(member).local_member().auth_states().Newest();
  }
  auth::SimpleTokens& TokensOf(std::size_t member) {
    return *tokens_.at(SmallCluster::NameOf(member));
  }
  // The member's answer to a put of a key by the holder of the token.
  Error VerdictOf(std::size_t member, const std::string& token, std::string_view key = "a") {
    LocalMember& local_member = cluster_.member(member).local_member();
    const Access access({.states = &local_member.auth_states(),
                         .store = &local_member.store(),
                         .leases = &local_member.leases(),
                         .clock = &cluster_.member(member).lanes().clock(),
                         .simple_tokens = &TokensOf(member)});
    if (access.is_off()) return kDone;
    rpc::CallContext call;
    if (!token.empty()) call.AddMetadata("token", token);
    return ErrorOf(access.Admit(call, [key](const Asker& asker) {
      return asker.state.CheckWrite(asker.identity, key, {});
    }));
  }
  void ExpectSameState() {
    const auto leaders = StateOf(leader_);
    const auto own = StateOf(behind_);
    own->CheckInvariants();
    EXPECT_EQ(own->enabled(), leaders->enabled());
    EXPECT_EQ(own->revision(), leaders->revision());
    EXPECT_FALSE(leaders->UserNames().empty());
    EXPECT_EQ(own->UserNames(), leaders->UserNames());
    EXPECT_EQ(own->RoleNames(), leaders->RoleNames());
    for (const std::string& name : leaders->UserNames()) {
      EXPECT_EQ(EncodeUser(*own->FindUser(name)->record()),
                EncodeUser(*leaders->FindUser(name)->record()));
      EXPECT_EQ(own->RequiredRevision(name), leaders->RequiredRevision(name)) << name;
    }
    for (const std::string& name : leaders->RoleNames())
      EXPECT_EQ(EncodeRole(own->FindRole(name)->record()),
                EncodeRole(leaders->FindRole(name)->record()));
  }

  static inline const Error kDone{Code::kOk, "no error"};

  std::map<std::string, std::unique_ptr<auth::SimpleTokens>> tokens_;
  SmallCluster cluster_;
  std::size_t leader_ = 0;
  std::size_t behind_ = 0;
};

TEST_F(AuthSnapshotTest, WhoMayDoWhatComesWithTheSnapshot) {
  SetUpUsers();
  const std::string alice = LogIn("alice");
  const std::string bob = LogIn("bob");
  const std::string carol = LogIn("carol");
  ASSERT_NO_FATAL_FAILURE(LoseSight());
  for (const std::string& token : {alice, bob, carol}) EXPECT_EQ(VerdictOf(behind_, token), kDone);
  const std::uint64_t old_revision = StateOf(behind_)->revision();

  // While it is away: alice loses her role, bob goes, carol has another password, dave comes.
  etcdserverpb::AuthUserRevokeRoleRequest revoke;
  revoke.set_name("alice");
  revoke.set_role("writer");
  Do(RequestKind::kUserRevokeRole, revoke);
  AddRole("other", "x", "y");
  GrantRole("alice", "other");
  etcdserverpb::AuthUserDeleteRequest remove;
  remove.set_name("bob");
  Do(RequestKind::kUserDelete, remove);
  etcdserverpb::AuthUserChangePasswordRequest change;
  change.set_name("carol");
  change.set_hashedpassword(
      auth::EncodeHash(auth::HashPassword("new", auth::kMinBcryptCost, {}).value()));
  Do(RequestKind::kUserChangePassword, change);
  AddUser("dave");
  GrantRole("dave", "writer");
  EXPECT_EQ(VerdictOf(behind_, bob), kDone) << "it cannot know";
  ASSERT_NO_FATAL_FAILURE(WriteMuch());
  ASSERT_NO_FATAL_FAILURE(FindAgain());

  ExpectSameState();
  for (const std::size_t member : {leader_, behind_}) {
    EXPECT_EQ(VerdictOf(member, bob), kErrInvalidAuthToken);
    EXPECT_EQ(VerdictOf(member, carol), kErrInvalidAuthToken);
    EXPECT_EQ(VerdictOf(member, alice, "a"), kErrPermissionDenied);
    EXPECT_EQ(VerdictOf(member, alice, "x"), kDone);
    EXPECT_EQ(VerdictOf(member, "", "a"), kErrUserEmpty);
  }
  // And at their place of the log.
  const std::string put = PutBody("a", "v");
  EXPECT_EQ(Try(behind_, RequestKind::kPut, put, "alice"), kErrPermissionDenied);
  EXPECT_EQ(Try(behind_, RequestKind::kPut, put, "bob"), kErrPermissionDenied);
  EXPECT_EQ(Try(behind_, RequestKind::kPut, put, "dave"), kDone);
  EXPECT_EQ(TryAt(old_revision, behind_, RequestKind::kPut, put, "dave"), kErrAuthOldRevision);
  ASSERT_TRUE(cluster_.CatchUp());
  const std::string dave = LogIn("dave");
  ASSERT_TRUE(cluster_.CatchUp());
  EXPECT_EQ(VerdictOf(behind_, dave), kDone);
  EXPECT_EQ(cluster_.member(behind_).store().HashKv(0).value().hash,
            cluster_.member(leader_).store().HashKv(0).value().hash);

  // A restart begins with the snapshot's content.
  cluster_.Kill(behind_);
  ASSERT_TRUE(cluster_.Start(behind_).has_value());
  ASSERT_TRUE(cluster_.CatchUp());
  ExpectSameState();
  EXPECT_EQ(VerdictOf(behind_, bob), kErrInvalidAuthToken);
}

// The member shows the new state while the rest of the snapshot is still being taken over.
TEST_F(AuthSnapshotTest, ATokenEndsBeforeTheStateIsSeenThatDoesNotKnowIt) {
  SetUpUsers();
  const std::string bob = LogIn("bob");
  ASSERT_NO_FATAL_FAILURE(LoseSight());
  const std::uint64_t old_revision = StateOf(behind_)->revision();
  etcdserverpb::AuthUserChangePasswordRequest change;
  change.set_name("bob");
  change.set_hashedpassword(
      auth::EncodeHash(auth::HashPassword("new", auth::kMinBcryptCost, {}).value()));
  Do(RequestKind::kUserChangePassword, change);
  ASSERT_NO_FATAL_FAILURE(WriteMuch());
  cluster_.network().MendAll();
  int seen = 0;
  const auto installed = [&] {
    if (StateOf(behind_)->revision() == old_revision) return false;
    ++seen;
    EXPECT_EQ(VerdictOf(behind_, bob), kErrInvalidAuthToken) << "at look " << seen;
    return cluster_.network().snapshots_delivered() > 0 &&
           cluster_.replica(behind_).applied_index() == cluster_.replica(leader_).applied_index();
  };
  ASSERT_TRUE(cluster_.RunUntil(installed));
  EXPECT_GT(seen, 1) << "the state is shown and the snapshot installed in one step";
}

TEST_F(AuthSnapshotTest, AMemberThatKnewOfNoUsersAsksForThem) {
  ASSERT_NO_FATAL_FAILURE(LoseSight());
  SetUpUsers();
  EXPECT_EQ(VerdictOf(behind_, ""), kDone);
  ASSERT_NO_FATAL_FAILURE(WriteMuch());
  ASSERT_NO_FATAL_FAILURE(FindAgain());
  ExpectSameState();
  EXPECT_EQ(VerdictOf(behind_, ""), kErrUserEmpty);
  EXPECT_EQ(Try(behind_, RequestKind::kPut, PutBody("a", "v"), ""), kErrPermissionDenied);
  EXPECT_EQ(TryAt(0, behind_, RequestKind::kPut, PutBody("a", "v"), ""), kErrUserEmpty);
}

TEST_F(AuthSnapshotTest, TurningAuthOffAndOnMeanwhileEndsAllTokens) {
  SetUpUsers();
  const std::string alice = LogIn("alice");
  ASSERT_NO_FATAL_FAILURE(LoseSight());
  Do(RequestKind::kAuthDisable, etcdserverpb::AuthDisableRequest());
  Do(RequestKind::kAuthEnable, etcdserverpb::AuthEnableRequest());
  ASSERT_NO_FATAL_FAILURE(WriteMuch());
  ASSERT_NO_FATAL_FAILURE(FindAgain());
  ExpectSameState();
  EXPECT_EQ(VerdictOf(leader_, alice), kErrInvalidAuthToken);
  EXPECT_EQ(VerdictOf(behind_, alice), kErrInvalidAuthToken);
}

}  // namespace
}  // namespace kvorum::server
