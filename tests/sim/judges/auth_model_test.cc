// The model of users and permissions that the simulation uses as its yardstick: its own answers, so
// that an error in it is not found only where a member disagrees.
#include "tests/sim/judges/auth_model.h"

#include <gtest/gtest.h>

#include "proto/raft_internal.pb.h"

namespace kvorum::sim {
namespace {

using Outcome = AuthModel::Outcome;
using Entry = etcdserverpb::InternalRaftRequest;

class AuthModelTest : public testing::Test {
 protected:
  AuthModelTest() {
    EXPECT_EQ(AddUser("root"), Outcome::kChanged);
    EXPECT_EQ(GrantRole("root", "root"), Outcome::kChanged);
    EXPECT_EQ(AddUser("ann"), Outcome::kChanged);
    EXPECT_EQ(AddRole("r"), Outcome::kChanged);
    EXPECT_EQ(GrantRole("ann", "r"), Outcome::kChanged);
    Entry enable;
    enable.mutable_auth_enable();
    EXPECT_EQ(model_.Apply(enable), Outcome::kChanged);
  }
  // By root, who is not a user while auth is disabled.
  Outcome Apply(Entry entry, const std::string& by = "root") {
    entry.mutable_header()->set_username(by);
    return model_.Apply(entry);
  }
  Outcome AddUser(const std::string& name) {
    Entry entry;
    entry.mutable_auth_user_add()->set_name(name);
    return Apply(entry);
  }
  Outcome AddRole(const std::string& name) {
    Entry entry;
    entry.mutable_auth_role_add()->set_name(name);
    return Apply(entry);
  }
  Outcome GrantRole(const std::string& user, const std::string& role) {
    Entry entry;
    entry.mutable_auth_user_grant_role()->set_user(user);
    entry.mutable_auth_user_grant_role()->set_role(role);
    return Apply(entry);
  }
  Outcome Grant(authpb::Permission::Type type, const std::string& key,
                const std::string& range_end) {
    Entry entry;
    auto& grant = *entry.mutable_auth_role_grant_permission();
    grant.set_name("r");
    grant.mutable_perm()->set_permtype(type);
    grant.mutable_perm()->set_key(key);
    grant.mutable_perm()->set_range_end(range_end);
    return Apply(entry);
  }
  bool MayRead(const std::string& key, const std::string& range_end = {}) {
    return model_.May("ann", {.writes = false, .key = key, .range_end = range_end});
  }
  bool MayWrite(const std::string& key, const std::string& range_end = {}) {
    return model_.May("ann", {.writes = true, .key = key, .range_end = range_end});
  }

  const std::string to_the_end_ = std::string(1, '\0');
  AuthModel model_;
};

TEST_F(AuthModelTest, GrantsThatTouchAreOne) {
  Grant(authpb::Permission::READ, "c", "e");
  Grant(authpb::Permission::READWRITE, "a", "c");
  EXPECT_TRUE(MayRead("a", "e"));
  EXPECT_TRUE(MayRead("b", "d"));
  EXPECT_FALSE(MayWrite("b", "d"));
  EXPECT_FALSE(MayRead("a", "f"));
  EXPECT_FALSE(MayRead("a", to_the_end_));
  Grant(authpb::Permission::READ, "d", to_the_end_);
  EXPECT_TRUE(MayRead("a", to_the_end_));
}

TEST_F(AuthModelTest, AGrantOfOneKeyIsOfThatKey) {
  Grant(authpb::Permission::READWRITE, "b", {});
  EXPECT_TRUE(MayWrite("b"));
  EXPECT_FALSE(MayWrite("b", "c"));
  EXPECT_FALSE(MayWrite("ba"));
  // The last one counts.
  Grant(authpb::Permission::READ, "b", {});
  EXPECT_FALSE(MayWrite("b"));
  EXPECT_TRUE(MayRead("b"));
}

TEST_F(AuthModelTest, OnlyRootChangesAndOnlyWhatItMay) {
  Entry remove;
  remove.mutable_auth_user_delete()->set_name("ann");
  const std::uint64_t revision = model_.revision();
  EXPECT_EQ(Apply(remove, "ann"), Outcome::kRefused);
  EXPECT_EQ(Apply(remove, ""), Outcome::kRefused);
  Entry remove_root;
  remove_root.mutable_auth_user_delete()->set_name("root");
  EXPECT_EQ(Apply(remove_root), Outcome::kRefused);
  EXPECT_EQ(GrantRole("ann", "r"), Outcome::kNothingToDo);
  EXPECT_EQ(Grant(authpb::Permission::READ, "b", "a"), Outcome::kRefused);
  EXPECT_EQ(model_.revision(), revision);
  EXPECT_EQ(Apply(remove), Outcome::kChanged);
  EXPECT_EQ(model_.revision(), revision + 1);
  EXPECT_FALSE(MayRead("a"));
}

TEST_F(AuthModelTest, ARoleGoesWithItsGrants) {
  Grant(authpb::Permission::READ, "a", "c");
  Entry remove;
  remove.mutable_auth_role_delete()->set_role("r");
  EXPECT_EQ(Apply(remove), Outcome::kChanged);
  AddRole("r");
  EXPECT_FALSE(MayRead("a"));
  GrantRole("ann", "r");
  EXPECT_FALSE(MayRead("a"));
}

TEST_F(AuthModelTest, ATransactionNeedsWhatAllItsBranchesDo) {
  etcdserverpb::TxnRequest txn;
  txn.add_compare()->set_key("compared");
  auto& nested = *txn.add_success()->mutable_request_txn();
  nested.add_failure()->mutable_request_put()->set_key("hidden");
  auto& del = *txn.add_failure()->mutable_request_delete_range();
  del.set_key("deleted");
  del.set_prev_kv(true);
  std::string needs;
  for (const KeyNeed& need : NeedsOf(txn)) needs += (need.writes ? "w " : "r ") + need.key + ", ";
  EXPECT_EQ(needs, "r compared, w hidden, w deleted, r deleted, ");
}

}  // namespace
}  // namespace kvorum::sim
