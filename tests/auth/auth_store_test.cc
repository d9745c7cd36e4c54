// The rules of changes: refusals and their errors, the records written, the tokens that end.
#include "auth/auth_store.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/auth/store_fixture.h"

namespace kvorum::auth {
namespace {

using AuthStoreTest = StoreFixture;

TEST_F(AuthStoreTest, ANewStoreIsOffAtRevisionOne) {
  EXPECT_FALSE(state()->enabled());
  EXPECT_EQ(state()->revision(), 1U);
  EXPECT_EQ(state()->user_count(), 0U);
  EXPECT_TRUE(state()->RoleNames().empty());
}

// ---- on and off ----

TEST_F(AuthStoreTest, EnablingNeedsRootWithItsRole) {
  ExpectRefused(store_.Enable(), kErrRootUserNotExist);
  AddUser("root");
  ExpectRefused(store_.Enable(), kErrRootRoleNotExist);
  Do(store_.GrantRole("root", "root"));
  EXPECT_FALSE(state()->enabled());
  Do(store_.Enable());
  EXPECT_TRUE(state()->enabled());
}

TEST_F(AuthStoreTest, EnablingLeavesTheRevisionAndDisablingRaisesIt) {
  AddUser("root");
  Do(store_.GrantRole("root", "root"));
  EXPECT_EQ(state()->revision(), 3U);
  Do(store_.Enable());
  EXPECT_EQ(state()->revision(), 3U);
  EXPECT_TRUE(Do(store_.Enable()).records.empty());
  const Change change = Do(store_.Disable());
  EXPECT_TRUE(change.ended.all);
  EXPECT_EQ(state()->revision(), 4U);
  EXPECT_FALSE(state()->enabled());
  const Change again = Do(store_.Disable());
  EXPECT_TRUE(again.records.empty());
  EXPECT_FALSE(again.ended.all);
  EXPECT_EQ(state()->revision(), 4U);
}

// ---- users ----

TEST_F(AuthStoreTest, AUserIsWrittenAsAnAuthpbUser) {
  Do(store_.AddUser("ann", kHash, false));
  EXPECT_EQ((mirror_[{Table::kUsers, "ann"}]), std::string("\x0a\x03"
                                                           "ann\x12\x04hash\x22\x00",
                                                           13));
  EXPECT_EQ((mirror_[{Table::kAuth, "authRevision"}]), std::string("\0\0\0\0\0\0\0\2", 8));
  Do(store_.AddUser("bob", "", true));
  EXPECT_EQ((mirror_[{Table::kUsers, "bob"}]), std::string("\x0a\x03"
                                                           "bob\x22\x02\x08\x01",
                                                           9));
  Do(store_.AddRole("r"));
  Do(store_.AddRole("q"));
  Do(store_.GrantRole("ann", "r"));
  Do(store_.GrantRole("ann", "q"));
  EXPECT_EQ((mirror_[{Table::kUsers, "ann"}]),
            std::string("\x0a\x03"
                        "ann\x12\x04hash\x1a\x01q\x1a\x01r\x22\x00",
                        19));
}

TEST_F(AuthStoreTest, AddingAUserIsRefused) {
  ExpectRefused(store_.AddUser("", kHash, false), kErrUserEmpty);
  ExpectRefused(store_.AddUser(std::string(kMaxNameSizeBytes + 1, 'u'), kHash, false),
                kErrNameTooLong);
  ExpectRefused(store_.AddUser("ann", "no base64", false), kErrNoPasswordUser);
  AddUser("ann");
  ExpectRefused(store_.AddUser("ann", "no base64", false), kErrUserAlreadyExist);
  EXPECT_EQ(state()->revision(), 2U);
  AddUser(std::string(kMaxNameSizeBytes, 'u'));
}

TEST_F(AuthStoreTest, TheHashOfAUserWithoutPasswordIsNotLookedAt) {
  Do(store_.AddUser("bob", "no base64", true));
  EXPECT_TRUE(state()->FindUser("bob")->is_without_password());
  EXPECT_EQ(state()->FindUser("bob")->password_hash(), "");
  Do(store_.ChangePassword("bob", kHash));
  EXPECT_EQ(state()->FindUser("bob")->password_hash(), "");
  EXPECT_TRUE(state()->FindUser("bob")->is_without_password());
}

TEST_F(AuthStoreTest, ANewPasswordReplacesTheHashAndEndsTokens) {
  AddUser("ann");
  Do(store_.AddRole("r"));
  Do(store_.GrantRole("ann", "r"));
  const Change change = Do(store_.ChangePassword("ann", "bmV3"));
  EXPECT_EQ(change.ended.users, std::vector<std::string>{"ann"});
  EXPECT_FALSE(change.ended.all);
  EXPECT_EQ(state()->FindUser("ann")->password_hash(), "new");
  EXPECT_TRUE(state()->UserHasRole("ann", "r"));
  ExpectRefused(store_.ChangePassword("bob", kHash), kErrUserNotFound);
  ExpectRefused(store_.ChangePassword("", kHash), kErrUserNotFound);
  ExpectRefused(store_.ChangePassword("ann", "***"), kErrNoPasswordUser);
  Do(store_.ChangePassword("ann", ""));
  EXPECT_EQ(state()->FindUser("ann")->password_hash(), "");
}

TEST_F(AuthStoreTest, DeletingAUserEndsItsTokens) {
  AddUser("ann");
  const Change change = Do(store_.DeleteUser("ann"));
  EXPECT_EQ(change.ended.users, std::vector<std::string>{"ann"});
  EXPECT_EQ(state()->FindUser("ann"), nullptr);
  EXPECT_EQ(state()->revision(), 3U);
  EXPECT_FALSE(mirror_.contains({Table::kUsers, "ann"}));
  EXPECT_FALSE(mirror_.contains({Table::kAuth, "userRevision:ann"}));
  ExpectRefused(store_.DeleteUser("ann"), kErrUserNotFound);
  ExpectRefused(store_.DeleteUser(""), kErrUserNotFound);
}

TEST_F(AuthStoreTest, RootMayGoOnlyWhileAuthIsOff) {
  EnableAuth();
  ExpectRefused(store_.DeleteUser("root"), kErrInvalidAuthMgmt);
  ExpectRefused(store_.RevokeRole("root", "root"), kErrInvalidAuthMgmt);
  ExpectRefused(store_.DeleteRole("root"), kErrInvalidAuthMgmt);
  Do(store_.Disable());
  ExpectRefused(store_.DeleteRole("root"), kErrRoleNotFound);  // there is no record of it
  Do(store_.RevokeRole("root", "root"));
  Do(store_.DeleteUser("root"));
}

TEST_F(AuthStoreTest, ThoseWithRootsRoleMayLoseItWhileAuthIsOn) {
  EnableAuth();
  AddUser("ann");
  Do(store_.GrantRole("ann", "root"));
  EXPECT_TRUE(state()->FindUser("ann")->is_root());
  Do(store_.RevokeRole("ann", "root"));
  EXPECT_FALSE(state()->FindUser("ann")->is_root());
}

TEST_F(AuthStoreTest, RolesAreGrantedOnceAndRevoked) {
  AddUser("ann");
  ExpectRefused(store_.GrantRole("bob", "r"), kErrUserNotFound);
  ExpectRefused(store_.GrantRole("ann", "r"), kErrRoleNotFound);
  ExpectRefused(store_.GrantRole("ann", ""), kErrRoleNotFound);
  Do(store_.AddRole("r"));
  Do(store_.GrantRole("ann", "r"));
  EXPECT_EQ(state()->revision(), 4U);
  EXPECT_TRUE(Do(store_.GrantRole("ann", "r")).records.empty());
  EXPECT_EQ(state()->revision(), 4U);
  ExpectRefused(store_.RevokeRole("bob", "r"), kErrUserNotFound);
  ExpectRefused(store_.RevokeRole("ann", "q"), kErrRoleNotGranted);
  Do(store_.RevokeRole("ann", "r"));
  ExpectRefused(store_.RevokeRole("ann", "r"), kErrRoleNotGranted);
  EXPECT_EQ(state()->revision(), 5U);
}

// ---- roles ----

TEST_F(AuthStoreTest, ARoleIsWrittenAsAnAuthpbRole) {
  Do(store_.AddRole("r"));
  EXPECT_EQ((mirror_[{Table::kRoles, "r"}]), "\x0a\x01r");
  Grant("r", PermissionType::kReadWrite, "k", "l");
  Grant("r", PermissionType::kRead, "a");
  EXPECT_EQ((mirror_[{Table::kRoles, "r"}]),
            "\x0a\x01r"
            "\x12\x03\x12\x01"
            "a"
            "\x12\x08\x08\x02\x12\x01k\x1a\x01l");
}

TEST_F(AuthStoreTest, AddingARoleIsRefused) {
  ExpectRefused(store_.AddRole(""), kErrRoleEmpty);
  ExpectRefused(store_.AddRole(std::string(kMaxNameSizeBytes + 1, 'r')), kErrNameTooLong);
  Do(store_.AddRole("r"));
  ExpectRefused(store_.AddRole("r"), kErrRoleAlreadyExist);
  EXPECT_EQ(state()->revision(), 2U);
}

TEST_F(AuthStoreTest, DeletingARoleTakesItFromAllUsers) {
  Do(store_.AddRole("r"));
  Do(store_.AddRole("s"));
  Grant("r", PermissionType::kRead, "k");
  for (const char* user : {"ann", "bob", "cid"}) AddUser(user);
  Do(store_.GrantRole("ann", "r"));
  Do(store_.GrantRole("bob", "r"));
  Do(store_.GrantRole("bob", "s"));
  const std::uint64_t before = state()->revision();
  Do(store_.DeleteRole("r"));
  EXPECT_EQ(state()->revision(), before + 1);
  EXPECT_EQ(state()->FindRole("r"), nullptr);
  EXPECT_TRUE(state()->FindUser("ann")->roles().empty());
  EXPECT_EQ(state()->FindUser("bob")->roles(), std::vector<std::string>{"s"});
  EXPECT_FALSE(mirror_.contains({Table::kRoles, "r"}));
  EXPECT_FALSE(mirror_.contains({Table::kAuth, "roleRevision:r"}));
  ExpectRefused(store_.DeleteRole("r"), kErrRoleNotFound);
}

TEST_F(AuthStoreTest, PermissionsThatCannotBeGranted) {
  Do(store_.AddRole("r"));
  ExpectRefused(store_.GrantPermission("r", nullptr), kErrPermissionNotGiven);
  ExpectRefused(store_.GrantPermission("q", nullptr), kErrPermissionNotGiven);
  for (const Permission& permission :
       {Permission{PermissionType::kRead, "", ""}, Permission{PermissionType::kRead, "", "z"},
        Permission{PermissionType::kRead, "", std::string(1, '\0')},
        Permission{PermissionType::kRead, "b", "b"}, Permission{PermissionType::kRead, "b", "a"}}) {
    ExpectRefused(store_.GrantPermission("r", &permission), kErrInvalidAuthMgmt);
    ExpectRefused(store_.GrantPermission("q", &permission), kErrInvalidAuthMgmt);
  }
  const Permission fine{PermissionType::kRead, "b", std::string(1, '\0')};
  ExpectRefused(store_.GrantPermission("q", &fine), kErrRoleNotFound);
  Do(store_.GrantPermission("r", &fine));
}

TEST_F(AuthStoreTest, APermissionOnTheSameRangeIsReplacedIfItIsTheFirstOfItsKey) {
  Do(store_.AddRole("r"));
  Grant("r", PermissionType::kReadWrite, "k", "l");
  Grant("r", PermissionType::kReadWrite, "k", "m");
  Grant("r", PermissionType::kRead, "k", "l");
  // Else there are two, and the wider one counts: members of etcd have it so.
  Grant("r", PermissionType::kRead, "k", "m");
  Grant("r", PermissionType::kRead, "a");
  const std::vector<Permission> expected = {{PermissionType::kRead, "a", ""},
                                            {PermissionType::kRead, "k", "l"},
                                            {PermissionType::kReadWrite, "k", "m"},
                                            {PermissionType::kRead, "k", "m"}};
  EXPECT_EQ(state()->FindRole("r")->record().permissions, expected);
  Do(store_.RevokePermission("r", "k", "m"));
  EXPECT_EQ(state()->FindRole("r")->record().permissions.size(), 2U) << "both are gone";
}

// Etcd applies them: they permit nothing, and yet they are in the role.
TEST_F(AuthStoreTest, APermissionOfAnUnknownTypeIsKeptAndPermitsNothing) {
  Do(store_.AddRole("r"));
  AddUser("ann");
  Do(store_.GrantRole("ann", "r"));
  Grant("r", static_cast<PermissionType>(3), "k");
  Grant("r", static_cast<PermissionType>(-1), "l");
  ASSERT_EQ(state()->FindRole("r")->record().permissions.size(), 2U);
  const auto* ann = state()->FindUser("ann");
  for (const char* key : {"k", "l"}) {
    EXPECT_FALSE(ann->MayRead(key, ""));
    EXPECT_FALSE(ann->MayWrite(key, ""));
  }
}

TEST_F(AuthStoreTest, ARangeThatEndsBeforeItBeginsIsAskedOfTheTree) {
  Do(store_.AddRole("r"));
  AddUser("ann");
  Do(store_.GrantRole("ann", "r"));
  Grant("r", PermissionType::kRead, "b", "f");
  const auto* ann = state()->FindUser("ann");
  EXPECT_TRUE(ann->MayRead("d", "a"));
  EXPECT_FALSE(ann->MayRead("f", "a"));
  EXPECT_FALSE(ann->MayWrite("d", "a"));
}

TEST_F(AuthStoreTest, PermissionsAreRevokedByTheirRange) {
  Do(store_.AddRole("r"));
  Grant("r", PermissionType::kReadWrite, "k", "l");
  Grant("r", PermissionType::kReadWrite, "k");
  ExpectRefused(store_.RevokePermission("q", "k", ""), kErrRoleNotFound);
  ExpectRefused(store_.RevokePermission("r", "k", "m"), kErrPermissionNotGranted);
  ExpectRefused(store_.RevokePermission("r", "j", ""), kErrPermissionNotGranted);
  Do(store_.RevokePermission("r", "k", "l"));
  ASSERT_EQ(state()->FindRole("r")->record().permissions.size(), 1U);
  Do(store_.RevokePermission("r", "k", ""));
  EXPECT_TRUE(state()->FindRole("r")->record().permissions.empty());
}

TEST_F(AuthStoreTest, RootsRoleShowsAllOfTheKeys) {
  Do(store_.AddRole("root"));
  Grant("root", PermissionType::kRead, "k");
  const std::vector<Permission> everything = {
      {PermissionType::kReadWrite, "", std::string(1, '\0')}};
  EXPECT_EQ(state()->FindRole("root")->ShownPermissions(), everything);
  Do(store_.AddRole("r"));
  Grant("r", PermissionType::kRead, "k");
  EXPECT_EQ(state()->FindRole("r")->ShownPermissions().size(), 1U);
}

// ---- snapshots ----

TEST_F(AuthStoreTest, AStateStaysAsItWas) {
  EnableAuth();
  Do(store_.AddRole("r"));
  AddUser("ann");
  Do(store_.GrantRole("ann", "r"));
  Grant("r", PermissionType::kRead, "k");
  const auto before = state();
  Do(store_.RevokePermission("r", "k", ""));
  Do(store_.DeleteUser("ann"));
  Do(store_.Disable());
  EXPECT_TRUE(before->enabled());
  EXPECT_TRUE(before->CheckRead({"ann", before->revision()}, "k", "").has_value());
  before->CheckInvariants();
}

TEST_F(AuthStoreTest, UsersWhomAChangeDoesNotConcernAreShared) {
  for (const char* user : {"ann", "bob"}) AddUser(user);
  Do(store_.AddRole("r"));
  Do(store_.GrantRole("ann", "r"));
  const auto before = state();
  Grant("r", PermissionType::kRead, "k");
  EXPECT_EQ(state()->FindUser("bob"), before->FindUser("bob"));
  EXPECT_NE(state()->FindUser("ann"), before->FindUser("ann"));
}

TEST_F(AuthStoreTest, ASnapshotEndsTheTokensOfWhoChangedOrWent) {
  EnableAuth();
  for (const char* user : {"ann", "bob", "cid"}) AddUser(user);
  auto old = AuthStore::Load(Records());
  ASSERT_TRUE(old.has_value());
  AuthStore behind(*std::move(old));
  Do(store_.ChangePassword("ann", kOtherHash));
  Do(store_.DeleteUser("bob"));
  Do(store_.AddRole("r"));
  Do(store_.GrantRole("cid", "r"));  // which ends none in the log either
  AddUser("dan");
  auto newer = AuthStore::Load(Records());
  ASSERT_TRUE(newer.has_value());
  const EndedTokens ended = behind.EndedBy(*newer);
  behind.Replace(*std::move(newer));
  EXPECT_FALSE(ended.all);
  EXPECT_EQ(ended.users, (std::vector<std::string>{"ann", "bob"}));
  EXPECT_EQ(behind.state()->revision(), state()->revision());
}

TEST_F(AuthStoreTest, ASnapshotEndsAllTokensIfAuthWasOffInBetween) {
  EnableAuth();
  auto old = AuthStore::Load(Records());
  ASSERT_TRUE(old.has_value());
  AuthStore behind(*std::move(old));
  Do(store_.Disable());
  Do(store_.Enable());
  auto newer = AuthStore::Load(Records());
  ASSERT_TRUE(newer.has_value());
  EXPECT_TRUE(behind.EndedBy(*newer).all);
}

}  // namespace
}  // namespace kvorum::auth
