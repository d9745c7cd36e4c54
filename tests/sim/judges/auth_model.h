// Users, roles and permissions as specified, in lists that are read from services to back: the
// yardstick for the members. It uses nothing of auth/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace etcdserverpb {
class InternalRaftRequest;
class TxnRequest;
}  // namespace etcdserverpb

namespace kvorum::sim {

// One thing that a request does to keys. range_end as on the wire.
struct KeyNeed {
  bool writes = false;
  std::string key;
  std::string range_end = {};
};

class AuthModel {
 public:
  struct User {
    std::string name;
    std::string hash;  // base64 of the bcrypt hash
    bool no_password = false;
    std::vector<std::string> roles = {};
  };
  struct Grant {
    std::string role;
    std::string key;
    std::string range_end;
    bool reads = false;
    bool writes = false;
  };
  enum class Outcome : std::uint8_t { kChanged, kNothingToDo, kRefused };

  // An entry of the Auth service that is not a login.
  static bool IsChange(const etcdserverpb::InternalRaftRequest& entry);
  Outcome Apply(const etcdserverpb::InternalRaftRequest& entry);

  bool enabled() const { return enabled_; }
  std::uint64_t revision() const { return revision_; }
  const std::vector<User>& users() const { return users_; }
  const std::vector<std::string>& roles() const { return roles_; }
  const std::vector<Grant>& grants() const { return grants_; }
  const User* Find(const std::string& user) const;

  // True for anybody while auth is disabled.
  bool MayAdminister(const std::string& user) const;
  bool May(const std::string& user, const KeyNeed& need) const;
  bool MayAll(const std::string& user, const std::vector<KeyNeed>& needs) const;
  // True if a password may log in: the user exists, and has one.
  bool MayLogIn(const std::string& user) const;

  // All of it, in one order.
  std::string Text() const;

 private:
  bool HasRole(const User& user, const std::string& role) const;
  bool IsRole(const std::string& role) const;
  User* Find(const std::string& user);
  bool DeleteUser(const std::string& name);
  bool ChangePassword(const std::string& name, const std::string& hash);
  Outcome GrantRole(const std::string& user, const std::string& role);
  bool RevokeRole(const std::string& user, const std::string& role);
  bool DeleteRole(const std::string& role);
  bool GrantPermission(Grant grant);
  bool RevokePermission(const std::string& role, const std::string& key,
                        const std::string& range_end);

  bool enabled_ = false;
  std::uint64_t revision_ = 1;
  std::vector<User> users_;
  std::vector<std::string> roles_;
  std::vector<Grant> grants_;
};

// The effects of a transaction on keys in all of its branches, nested ones included.
std::vector<KeyNeed> NeedsOf(const etcdserverpb::TxnRequest& txn);

}  // namespace kvorum::sim
