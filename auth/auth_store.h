// Owns the auth state: applies log entries to it, rule for rule as etcd's members do. The outcome
// depends on the state and the arguments alone, so all members stay equal.
//
// Threading: used by the apply executor only, except state(), which any thread may call (a leaf
// lock around the copy of a pointer, about 20 ns). Errors: a refused change changes nothing. A
// change without effect (enabling enabled auth, granting a role that the user has) succeeds without
// records. The caller was checked before, by CheckAdmin of the state. Passwords come in the
// `hashedPassword` form of the requests AuthUserAdd and AuthUserChangePassword, the standard base64
// of the bcrypt hash (password.h: EncodeHash); the hash itself is stored. Cost: O(users affected).
// A changed permission affects every user that has the role, in memory only.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/auth_content.h"
#include "auth/auth_record.h"
#include "auth/auth_state.h"
#include "auth/permission.h"
#include "base/error.h"

namespace kvorum::auth {

class AuthDraft;

// The users whose simple tokens end (simple_tokens.h). JWTs end by their revision.
struct EndedTokens {
  bool all = false;
  std::vector<std::string> users;  // empty if all
};

struct Change {
  // To be written in the same transaction as the entry's index; each key once.
  std::vector<Record> records;
  EndedTokens ended;
};

class AuthStore {
 public:
  using Content = AuthContent;
  // See AuthContent::Load.
  static Result<Content> Load(std::span<const Record> records) { return Content::Load(records); }

  AuthStore() = default;
  explicit AuthStore(Content content) : content_(std::move(content)) {}

  // The newest state. Any thread.
  std::shared_ptr<const AuthState> state() const;

  // Replaces the whole state by that of an installed snapshot. The tokens that end with it must
  // have ended before anybody sees that state, which may be before Replace.
  EndedTokens EndedBy(const Content& content) const;
  void Replace(Content content);

  // kErrRootUserNotExist, kErrRootRoleNotExist. The revision stays.
  Result<Change> Enable();
  // Ends all tokens.
  Change Disable();

  // kErrUserEmpty, kErrNameTooLong, kErrUserAlreadyExist, kErrNoPasswordUser (the hash is not
  // base64). The hash of a user without password is ignored.
  Result<Change> AddUser(std::string_view name, std::string_view hash_base64, bool no_password);
  // kErrInvalidAuthMgmt (root while auth is on), kErrUserNotFound. Ends its tokens.
  Result<Change> DeleteUser(std::string_view name);
  // kErrUserNotFound, kErrNoPasswordUser (the hash is not base64). Ends its tokens. A user without
  // password stays without one. An empty hash locks the user out, as in etcd, whose members send it
  // for an empty new password.
  Result<Change> ChangePassword(std::string_view name, std::string_view hash_base64);
  // kErrUserNotFound, kErrRoleNotFound (root may be granted although it does not exist).
  Result<Change> GrantRole(std::string_view user, std::string_view role);
  // kErrInvalidAuthMgmt (root's root while auth is on), kErrUserNotFound, kErrRoleNotGranted.
  Result<Change> RevokeRole(std::string_view user, std::string_view role);

  // kErrRoleEmpty, kErrNameTooLong, kErrRoleAlreadyExist.
  Result<Change> AddRole(std::string_view name);
  // kErrInvalidAuthMgmt (root while auth is on), kErrRoleNotFound. Takes it from all users.
  Result<Change> DeleteRole(std::string_view name);
  // nullptr: kErrPermissionNotGiven. kErrInvalidAuthMgmt (no key, an end at or before it, an
  // unknown type), kErrRoleNotFound. A permission on the same range is replaced.
  Result<Change> GrantPermission(std::string_view role, const Permission* permission);
  // kErrRoleNotFound, kErrPermissionNotGranted.
  Result<Change> RevokePermission(std::string_view role, std::string_view key,
                                  std::string_view range_end);

  // Aborts with the broken invariant. O(n).
  void CheckInvariants() const { content_.CheckInvariants(); }

 private:
  // For the apply executor, the only one that changes it.
  const AuthState& now() const { return *content_.state_; }
  Change Publish(AuthDraft draft);

  Content content_;  // its state is changed under the lock
  mutable std::mutex mutex_;
};

}  // namespace kvorum::auth
