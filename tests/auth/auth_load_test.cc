// A store loaded from its records: after a restart, written by etcd, and records that no member can
// have written.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/auth/store_fixture.h"

namespace kvorum::auth {
namespace {

using AuthLoadTest = StoreFixture;

Record Auth(std::string_view key, std::string value) {
  return {Table::kAuth, std::string(key), std::move(value)};
}
Record User(const UserRecord& user) { return {Table::kUsers, user.name, EncodeUser(user)}; }
Record Role(const RoleRecord& role) { return {Table::kRoles, role.name, EncodeRole(role)}; }

void ExpectDataLoss(const std::vector<Record>& records) {
  const auto content = AuthStore::Load(records);
  ASSERT_FALSE(content.has_value());
  EXPECT_EQ(content.error().code, Code::kDataLoss) << content.error().message;
}

TEST_F(AuthLoadTest, NoRecordsAreANewStore) {
  const auto content = AuthStore::Load({});
  ASSERT_TRUE(content.has_value());
  EXPECT_EQ(content->state()->revision(), 1U);
  EXPECT_FALSE(content->state()->enabled());
}

TEST_F(AuthLoadTest, ARestartFindsEverything) {
  EnableAuth();
  AddUser("ann");
  Do(store_.AddUser("bob", "", true));
  Do(store_.AddRole("r"));
  Do(store_.GrantRole("ann", "r"));
  Grant("r", PermissionType::kReadWrite, "a", std::string(1, '\0'));
  const auto before = state();
  Restart();
  EXPECT_TRUE(state()->enabled());
  EXPECT_EQ(state()->revision(), before->revision());
  EXPECT_EQ(state()->UserNames(), before->UserNames());
  EXPECT_EQ(*state()->FindUser("bob")->record(), *before->FindUser("bob")->record());
  EXPECT_TRUE(state()->CheckWrite(Now("ann"), "x", "").has_value());
  // And goes on.
  Do(store_.DeleteRole("r"));
  EXPECT_FALSE(state()->CheckWrite(Now("ann"), "x", "").has_value());
}

// etcd writes no revisions of users, roles and tokens: tokens that it issued before are invalid.
TEST_F(AuthLoadTest, WhatEtcdWroteIsTakenOver) {
  const std::vector<Record> records = {
      Auth("authEnabled", "\1"),
      Auth("authRevision", EncodeRevision(9)),
      User({"root", "h", {"root"}, false}),
      User({"ann", "h", {"r"}, std::nullopt}),
      Role({"r", {{PermissionType::kRead, "", "z"}, {PermissionType::kRead, "a", "c"}}}),
  };
  auto content = AuthStore::Load(records);
  ASSERT_TRUE(content.has_value()) << content.error().message;
  content->CheckInvariants();
  for (const Record& record : records) mirror_[{record.table, record.key}] = *record.value;
  store_.Replace(*std::move(content));
  EXPECT_TRUE(state()->CheckRead({"ann", 9}, "a", "c").has_value());
  EXPECT_FALSE(state()->CheckRead({"ann", 8}, "a", "c").has_value());
  // Members that load it at different times agree: the first change writes down what counts.
  AddUser("bob");
  EXPECT_EQ((mirror_[{Table::kAuth, "tokenRevision"}]), EncodeRevision(9));
  for (int restart = 0; restart < 2; ++restart) {
    EXPECT_TRUE(state()->CheckRead({"ann", 9}, "a", "c").has_value());
    EXPECT_FALSE(state()->CheckRead({"ann", 8}, "a", "c").has_value());
    Restart();
  }
  // The bytes of a user that had no options stay without.
  Do(store_.ChangePassword("ann", kHash));
  EXPECT_EQ((mirror_[{Table::kUsers, "ann"}]), EncodeUser({"ann", "hash", {"r"}, std::nullopt}));
  Do(store_.DeleteRole("r"));  // there is no record of its revision to delete
}

TEST_F(AuthLoadTest, WhatNobodyCanHaveWritten) {
  const Record revision = Auth("authRevision", EncodeRevision(5));
  const Record tokens = Auth("tokenRevision", EncodeRevision(5));
  const Record ann = User({"ann", "h", {}, false});
  const Record role = Role({"r", {}});
  ASSERT_TRUE(AuthStore::Load(std::vector{revision, tokens, ann, role}).has_value());
  ExpectDataLoss({ann});
  ExpectDataLoss({role});
  ExpectDataLoss({Auth("authEnabled", "\1")});
  ExpectDataLoss({tokens});
  ExpectDataLoss({Auth("authRevision", EncodeRevision(0))});
  ExpectDataLoss({Auth("authRevision", "5")});
  ExpectDataLoss({revision, Auth("authEnabled", "\7")});
  ExpectDataLoss({revision, revision});
  ExpectDataLoss({revision, ann, ann});
  ExpectDataLoss({revision, Auth("tokenRevision", EncodeRevision(6))});
  ExpectDataLoss({revision, Auth("unheardOf", "")});
  ExpectDataLoss({revision, {Table::kUsers, "bob", ann.value}});
  ExpectDataLoss({revision, {Table::kRoles, "s", role.value}});
  ExpectDataLoss({revision, {Table::kUsers, "ann", "\xff"}});
  ExpectDataLoss({revision, {Table::kRoles, "r", "\xff"}});
  ExpectDataLoss({revision, tokens, Auth("userRevision:ann", EncodeRevision(5))});
  ExpectDataLoss({revision, tokens, ann, Auth("userRevision:ann", EncodeRevision(6))});
  ExpectDataLoss({revision, tokens, ann, Auth("userRevision:ann", "x")});
  ExpectDataLoss({revision, ann, Auth("userRevision:ann", EncodeRevision(5))});
  ExpectDataLoss({revision, tokens, ann, Auth("roleRevision:ann", EncodeRevision(5))});
  EXPECT_TRUE(AuthStore::Load(
                  std::vector{revision, tokens, ann, Auth("userRevision:ann", EncodeRevision(5))})
                  .has_value());
}

}  // namespace
}  // namespace kvorum::auth
