// The permission checks of requests, the order of refusals, and the validity of tokens.
#include "auth/auth_state.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/auth/store_fixture.h"

namespace kvorum::auth {
namespace {

constexpr std::string_view kOpenEnd{"\0", 1};

class AuthStateTest : public StoreFixture {
 protected:
  // Ann may read [a, c) and write [b, d); auth is on.
  void SetUpAnn() {
    EnableAuth();
    AddUser("ann");
    Do(store_.AddRole("r"));
    Do(store_.GrantRole("ann", "r"));
    Grant("r", PermissionType::kRead, "a", "c");
    Grant("r", PermissionType::kWrite, "b", "d");
  }
  static void Expect(const Result<void>& result, const ApiError& error) {
    ASSERT_FALSE(result.has_value());
    EXPECT_TRUE(result.error() == error) << result.error().message;
  }
  static void ExpectOk(const Result<void>& result) {
    EXPECT_TRUE(result.has_value()) << result.error().message;
  }
};

TEST_F(AuthStateTest, EverybodyMayDoEverythingWhileAuthIsOff) {
  ExpectOk(state()->CheckAdmin({}));
  ExpectOk(state()->CheckRead({}, "k", ""));
  ExpectOk(state()->CheckWrite({}, "k", ""));
  ExpectOk(state()->CheckRead({"nobody", 0}, "k", ""));
}

TEST_F(AuthStateTest, AUserMayDoWhatItsRolesSay) {
  SetUpAnn();
  ExpectOk(state()->CheckRead(Now("ann"), "a", "c"));
  ExpectOk(state()->CheckWrite(Now("ann"), "b", "d"));
  Expect(state()->CheckRead(Now("ann"), "c", ""), kErrPermissionDenied);
  Expect(state()->CheckWrite(Now("ann"), "a", ""), kErrPermissionDenied);
  Expect(state()->CheckRead(Now("ann"), "a", kOpenEnd), kErrPermissionDenied);
}

TEST_F(AuthStateTest, RolesOfAUserAddUp) {
  SetUpAnn();
  Do(store_.AddRole("s"));
  Grant("s", PermissionType::kRead, "c", "e");
  Expect(state()->CheckRead(Now("ann"), "a", "e"), kErrPermissionDenied);
  Do(store_.GrantRole("ann", "s"));
  ExpectOk(state()->CheckRead(Now("ann"), "a", "e"));
  Do(store_.RevokeRole("ann", "r"));
  Expect(state()->CheckRead(Now("ann"), "a", "e"), kErrPermissionDenied);
  ExpectOk(state()->CheckRead(Now("ann"), "c", "e"));
  Do(store_.DeleteRole("s"));
  Expect(state()->CheckRead(Now("ann"), "c", "e"), kErrPermissionDenied);
}

TEST_F(AuthStateTest, APermissionCountsFromItsGrantToItsRevocation) {
  SetUpAnn();
  ExpectOk(state()->CheckRead(Now("ann"), "a", ""));
  Do(store_.RevokePermission("r", "a", "c"));
  Expect(state()->CheckRead(Now("ann"), "a", ""), kErrPermissionDenied);
  Grant("r", PermissionType::kReadWrite, "b", "d");
  ExpectOk(state()->CheckRead(Now("ann"), "b", "d"));
}

TEST_F(AuthStateTest, RootMayDoEverything) {
  SetUpAnn();
  ExpectOk(state()->CheckAdmin(Now("root")));
  ExpectOk(state()->CheckRead(Now("root"), std::string_view("\0", 1), kOpenEnd));
  ExpectOk(state()->CheckWrite(Now("root"), "z", "a"));
  Do(store_.GrantRole("ann", "root"));
  ExpectOk(state()->CheckAdmin(Now("ann")));
  ExpectOk(state()->CheckWrite(Now("ann"), "x", kOpenEnd));
}

TEST_F(AuthStateTest, ARoleOfAnyOtherNameIsNotRoot) {
  SetUpAnn();
  Do(store_.AddRole("roo"));
  Do(store_.AddRole("root1"));
  Do(store_.GrantRole("ann", "roo"));
  Do(store_.GrantRole("ann", "root1"));
  Expect(state()->CheckAdmin(Now("ann")), kErrPermissionDenied);
}

TEST_F(AuthStateTest, TheRefusalsOfAnAdministrator) {
  SetUpAnn();
  Expect(state()->CheckAdmin({}), kErrUserEmpty);
  Expect(state()->CheckAdmin({"", 100}), kErrUserEmpty);
  Expect(state()->CheckAdmin(Now("nobody")), kErrUserNotFound);
  Expect(state()->CheckAdmin({"nobody", 1}), kErrUserNotFound);
  Expect(state()->CheckAdmin(Now("ann")), kErrPermissionDenied);
  Do(store_.ChangePassword("root", kHash));
  Expect(state()->CheckAdmin({"root", state()->revision() - 1}), kErrAuthOldRevision);
  ExpectOk(state()->CheckAdmin(Now("root")));
}

TEST_F(AuthStateTest, TheRefusalsOfAReaderComeInOrder) {
  SetUpAnn();
  // No user; too old, for any user; unknown; not permitted.
  Expect(state()->CheckRead({}, "a", ""), kErrUserEmpty);
  Expect(state()->CheckRead({"ann", 0}, "a", ""), kErrUserEmpty);
  Expect(state()->CheckRead({"ann", 1}, "x", ""), kErrAuthOldRevision);
  Expect(state()->CheckRead({"nobody", 1}, "a", ""), kErrAuthOldRevision);
  Expect(state()->CheckRead(Now("nobody"), "a", ""), kErrPermissionDenied);
  Expect(state()->CheckRead(Now(""), "a", ""), kErrPermissionDenied);
  Expect(state()->CheckRead(Now("ann"), "x", ""), kErrPermissionDenied);
  Expect(state()->CheckWrite({}, "b", ""), kErrUserEmpty);
  Expect(state()->CheckWrite({"ann", 1}, "b", ""), kErrAuthOldRevision);
}

TEST_F(AuthStateTest, OnlyTheNewestRevisionServesWhoIsNotThere) {
  EnableAuth();
  EXPECT_EQ(state()->RequiredRevision("nobody"), state()->revision());
}

// ---- which tokens count ----

TEST_F(AuthStateTest, AChangeToOthersEndsNobodysTokens) {
  SetUpAnn();
  const Identity ann = Now("ann");
  const Identity root = Now("root");
  AddUser("bob");
  Do(store_.AddRole("s"));
  Do(store_.GrantRole("bob", "s"));
  Grant("s", PermissionType::kRead, "k");
  Do(store_.ChangePassword("bob", kHash));
  Do(store_.DeleteRole("s"));
  Do(store_.DeleteUser("bob"));
  ASSERT_LT(ann.revision, state()->revision());
  ExpectOk(state()->CheckRead(ann, "a", ""));
  ExpectOk(state()->CheckAdmin(root));
}

TEST_F(AuthStateTest, WhatChangesAUserEndsItsTokens) {
  SetUpAnn();
  Do(store_.AddRole("s"));
  const auto expect_ended_by = [&](const Result<Change>& change) {
    const Identity ann{"ann", state()->revision() - 1};
    ASSERT_TRUE(change.has_value());
    Expect(state()->CheckRead(ann, "a", ""), kErrAuthOldRevision);
    ExpectOk(state()->CheckRead(Now("ann"), "a", ""));
    EXPECT_EQ(state()->RequiredRevision("ann"), state()->revision());
  };
  const Permission permission{PermissionType::kRead, "z", ""};
  expect_ended_by(store_.GrantRole("ann", "s"));
  expect_ended_by(store_.GrantPermission("s", &permission));
  expect_ended_by(store_.RevokePermission("s", "z", ""));
  expect_ended_by(store_.RevokeRole("ann", "s"));
  ASSERT_TRUE(store_.GrantRole("ann", "s").has_value());
  expect_ended_by(store_.DeleteRole("s"));
  expect_ended_by(store_.ChangePassword("ann", kHash));
}

TEST_F(AuthStateTest, AUserThatIsAddedAgainIsAnother) {
  SetUpAnn();
  const Identity before = Now("ann");
  Do(store_.DeleteUser("ann"));
  Expect(state()->CheckRead(before, "a", ""), kErrAuthOldRevision);
  AddUser("ann");
  Do(store_.GrantRole("ann", "r"));
  Expect(state()->CheckRead(before, "a", ""), kErrAuthOldRevision);
  ExpectOk(state()->CheckRead(Now("ann"), "a", ""));
}

TEST_F(AuthStateTest, AGrantThatIsThereAlreadyEndsNoTokens) {
  SetUpAnn();
  const Identity ann = Now("ann");
  Grant("r", PermissionType::kRead, "a", "c");
  EXPECT_EQ(state()->revision(), ann.revision + 1);
  ExpectOk(state()->CheckRead(ann, "a", ""));
}

TEST_F(AuthStateTest, TurningAuthOffEndsAllTokens) {
  SetUpAnn();
  const Identity ann = Now("ann");
  Do(store_.Disable());
  Do(store_.Enable());
  Expect(state()->CheckRead(ann, "a", ""), kErrAuthOldRevision);
  ExpectOk(state()->CheckRead(Now("ann"), "a", ""));
  Restart();
  Expect(state()->CheckRead(ann, "a", ""), kErrAuthOldRevision);
}

TEST_F(AuthStateTest, WhichTokensCountIsTheSameAfterARestart) {
  SetUpAnn();
  const Identity ann = Now("ann");
  AddUser("bob");
  Restart();
  ExpectOk(state()->CheckRead(ann, "a", ""));
  Do(store_.ChangePassword("ann", kHash));
  Restart();
  Expect(state()->CheckRead(ann, "a", ""), kErrAuthOldRevision);
}

TEST_F(AuthStateTest, ATokenOfAMemberThatIsAheadCounts) {
  SetUpAnn();
  ExpectOk(state()->CheckRead({"ann", state()->revision() + 5}, "a", ""));
}

// ---- logging in ----

TEST_F(AuthStateTest, TheRefusalsOfALogin) {
  const auto refusal = [&](std::string_view user) {
    const auto result = state()->BeginLogin(user);
    return result.has_value() ? Error{} : result.error();
  };
  EXPECT_TRUE(refusal("ann") == kErrAuthNotEnabled);
  Expect(state()->CheckLogin("ann"), kErrAuthNotEnabled);
  SetUpAnn();
  Do(store_.AddUser("bob", "", true));
  EXPECT_TRUE(refusal("bob") == kErrNoPasswordUser);
  Expect(state()->CheckLogin("bob"), kErrAuthFailed);
  EXPECT_EQ(state()->BeginLogin("nobody").value(), nullptr);
  Expect(state()->CheckLogin("nobody"), kErrAuthFailed);
  EXPECT_EQ(state()->BeginLogin("ann").value()->password_hash(), "hash");
  ExpectOk(state()->CheckLogin("ann"));
}

TEST_F(AuthStateTest, NamesAreListedInOrder) {
  for (const char* name : {"cid", "ann", "bob"}) {
    AddUser(name);
    Do(store_.AddRole(name));
  }
  const std::vector<std::string> sorted = {"ann", "bob", "cid"};
  EXPECT_EQ(state()->UserNames(), sorted);
  EXPECT_EQ(state()->RoleNames(), sorted);
}

}  // namespace
}  // namespace kvorum::auth
