// Random changes, compared with a naive model of users, roles and revisions; every few changes the
// store loaded from its records is compared with the one that made them.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "auth/permission_order.h"
#include "base/rng.h"
#include "tests/auth/store_fixture.h"

namespace kvorum::auth {
namespace {

// A user's permissions, and the revision at which they last changed, computed the plain way.
class StoreModel {
 public:
  using Permissions = std::vector<Permission>;

  std::set<std::string> roles_of(const std::string& user) const { return users_.at(user).roles; }
  bool MayRead(const std::string& user, const std::string& key) const {
    for (const std::string& role : users_.at(user).roles) {
      if (role == "root") return true;
      for (const auto& [type, begin, end] : roles_.at(role)) {
        const bool holds_key =
            end.empty() ? key == begin : key >= begin && (IsOpenEnd(end) || key < end);
        if (AllowsRead(type) && holds_key) return true;
      }
    }
    return false;
  }
  void Grant(const std::string& role, const Permission& permission) {
    SetPermission(roles_[role], permission);  // tested separately
  }
  void Revoke(const std::string& role, const Permission& permission) {
    std::erase_if(roles_[role], [&](const Permission& granted) {
      return granted.key == permission.key && granted.range_end == permission.range_end;
    });
  }
  // Updates all users.
  void AfterChange(std::uint64_t revision, const StoreModel& before) {
    for (auto& [name, user] : users_) {
      const auto old = before.users_.find(name);
      const bool changed = old == before.users_.end() || old->second.roles != user.roles ||
                           old->second.password != user.password ||
                           PermissionsOf(name) != before.PermissionsOf(name);
      if (changed) user.changed = revision;
    }
  }

  struct User {
    std::set<std::string> roles;
    int password = 0;
    std::uint64_t changed = 0;
  };
  std::map<std::string, User> users_;
  std::map<std::string, Permissions> roles_;

 private:
  std::map<std::string, Permissions> PermissionsOf(const std::string& user) const {
    std::map<std::string, Permissions> permissions;
    // Root's role may be had before it is there: that it comes changes nothing.
    for (const std::string& role : users_.at(user).roles)
      if (roles_.contains(role) && !roles_.at(role).empty()) permissions[role] = roles_.at(role);
    return permissions;
  }
};

class AuthStorePropertyTest : public StoreFixture {
 protected:
  void Step(Rng& rng) {
    const std::string user = Pick(rng, {"ann", "bob", "cid", "root"});
    const std::string role = Pick(rng, {"r", "s", "t", "root"});
    const Permission permission{static_cast<PermissionType>(rng.Below(3)), Pick(rng, kKeys),
                                Pick(rng, {"", "c", "d", std::string(1, '\0')})};
    const StoreModel before = model_;
    const std::uint64_t revision = state()->revision();
    const Result<Change> change = Apply(rng, user, role, permission);
    if (!change) {
      EXPECT_EQ(state()->revision(), revision);
      ++refused_;
      return;
    }
    Do(change);
    ++applied_;
    model_.AfterChange(state()->revision(), before);
  }

  void Compare() const {
    ASSERT_EQ(state()->user_count(), model_.users_.size());
    ASSERT_EQ(state()->RoleNames().size(), model_.roles_.size());
    for (const auto& [name, user] : model_.users_) {
      const auto* found = state()->FindUser(name);
      ASSERT_NE(found, nullptr);
      ASSERT_EQ(found->changed_revision(), user.changed) << name;
      ASSERT_EQ(std::set(found->roles().begin(), found->roles().end()), user.roles);
      for (const std::string& key : kKeys) {
        ASSERT_EQ(found->is_root() || found->permissions().MayRead(key, ""),
                  model_.MayRead(name, key))
            << name << " " << key;
      }
    }
  }

  std::size_t applied_ = 0;
  std::size_t refused_ = 0;

 private:
  static std::string Pick(Rng& rng, const std::vector<std::string>& from) {
    return from[rng.Below(from.size())];
  }

  Result<Change> Apply(Rng& rng, const std::string& user, const std::string& role,
                       const Permission& permission) {
    switch (rng.Below(12)) {
      case 0: {
        auto change = store_.AddUser(user, kHash, false);
        if (change) model_.users_.try_emplace(user);
        return change;
      }
      case 1: {
        auto change = store_.DeleteUser(user);
        if (change) model_.users_.erase(user);
        return change;
      }
      case 2: {
        auto change = store_.ChangePassword(user, kHash);
        if (change) ++model_.users_[user].password;
        return change;
      }
      case 3:
      case 4:
      case 5: {
        auto change = store_.GrantRole(user, role);
        if (change) model_.users_[user].roles.insert(role);
        return change;
      }
      case 6: {
        auto change = store_.RevokeRole(user, role);
        if (change) model_.users_[user].roles.erase(role);
        return change;
      }
      case 7: {
        auto change = store_.AddRole(role);
        if (change) model_.roles_.try_emplace(role);
        return change;
      }
      case 8: {
        if (!rng.OneIn(3)) break;
        auto change = store_.DeleteRole(role);
        if (change) {
          model_.roles_.erase(role);
          for (auto& [name, each] : model_.users_) each.roles.erase(role);
        }
        return change;
      }
      case 9: {
        auto change = store_.RevokePermission(role, permission.key, permission.range_end);
        if (change) model_.Revoke(role, permission);
        return change;
      }
      default:
        break;
    }
    auto change = store_.GrantPermission(role, &permission);
    if (change) model_.Grant(role, permission);
    return change;
  }

  static inline const std::vector<std::string> kKeys = {"a", "b", "c", "d", "e"};
  StoreModel model_;
};

TEST_F(AuthStorePropertyTest, RandomChangesAgreeWithTheModelAndWithTheRecords) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    for (int step = 0; step < 200; ++step) {
      Step(rng);
      ASSERT_NO_FATAL_FAILURE(Compare());
      if (rng.OneIn(10)) {
        const auto before = Records();
        Restart();
        ASSERT_NO_FATAL_FAILURE(Compare());
        ASSERT_EQ(Records(), before);
      }
    }
  }
  EXPECT_GT(applied_, 1000U);
  EXPECT_GT(refused_, 300U);
}

// Members that apply the same changes write the same records, whenever they were started.
TEST_F(AuthStorePropertyTest, ARestartedMemberWritesTheSameRecords) {
  Rng rng(7);
  for (int step = 0; step < 300; ++step) {
    Step(rng);
    auto content = AuthStore::Load(Records());
    ASSERT_TRUE(content.has_value());
    AuthStore restarted(*std::move(content));
    const Permission permission{PermissionType::kRead, "a", "b"};
    const std::vector<Record> records = Records();
    const auto same = [&](const Result<Change>& a, const Result<Change>& b) {
      ASSERT_EQ(a.has_value(), b.has_value());
      if (a) {
        EXPECT_EQ(a->records, b->records);
        Do(a);
      }
    };
    same(store_.GrantPermission("r", &permission), restarted.GrantPermission("r", &permission));
    same(store_.DeleteRole("s"), restarted.DeleteRole("s"));
  }
}

}  // namespace
}  // namespace kvorum::auth
