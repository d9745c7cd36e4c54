// The whole auth state at one place of the log: whether auth is on, users, roles, and every check
// against them. An immutable snapshot, shared by pointer: a check at a request's entry and a change
// on the apply executor do not meet.
//
// Thread-safe. A pure value: nothing is logged, no clock, no I/O.
// Cost of a check: the look-up of the user (name_map.h) and one binary search; no allocation unless
// it refuses. The first check after a change to the user or its roles merges its permissions.
//
// Which tokens still count: every change raises the auth revision, and a token carries the one at
// which it was issued. etcd refuses whatever is older than the newest. Here a token is good as long
// as nothing changed that decides what its user may do: its revision must not be less than
// RequiredRevision(user). The records that this needs are part of the replicated state, so every
// member answers alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "auth/name_map.h"
#include "auth/user.h"
#include "base/error.h"

namespace kvorum::auth {

// Whom a request speaks for, and at which auth revision that was established: the claim of a JWT;
// for simple tokens and certificates the state's revision when the request entered. {} stands for
// nobody. At apply both come from the entry's header.
struct Identity {
  std::string_view username;
  std::uint64_t revision = 0;
  // What FindUser gives for the name in the state that is asked; null: it is looked up.
  const User* user = nullptr;
};

class AuthState {
 public:
  // Off, revision 1, nobody there: a new store's.
  AuthState() = default;

  bool enabled() const { return enabled_; }
  std::uint64_t revision() const { return revision_; }

  // nullptr if there is none; valid as long as this state.
  const User* FindUser(std::string_view name) const { return users_.Find(name); }
  const Role* FindRole(std::string_view name) const { return roles_.Find(name); }
  std::size_t user_count() const { return users_.size(); }
  std::size_t role_count() const { return roles_.size(); }
  // Sorted. O(n log n).
  std::vector<std::string> UserNames() const { return users_.SortedNames(); }
  std::vector<std::string> RoleNames() const { return roles_.SortedNames(); }

  // ---- may they? Each: ok while auth is off ----

  // What only root may do. No name: kErrUserEmpty; unknown: kErrUserNotFound; an identity older
  // than RequiredRevision: kErrAuthOldRevision (etcd does not look at the revision here); else
  // kErrPermissionDenied.
  Result<void> CheckAdmin(const Identity& identity) const;
  // Revision 0, which is nobody's: kErrUserEmpty; older than RequiredRevision: kErrAuthOldRevision;
  // unknown, or without the permission on all of the range: kErrPermissionDenied.
  Result<void> CheckRead(const Identity& identity, std::string_view key,
                         std::string_view range_end) const;
  Result<void> CheckWrite(const Identity& identity, std::string_view key,
                          std::string_view range_end) const;
  // What everybody may do who is somebody: the first two of CheckRead's, and kErrPermissionDenied
  // for an unknown user.
  Result<void> CheckIdentity(const Identity& identity) const;
  // False for an unknown user.
  bool UserHasRole(std::string_view user, std::string_view role) const;

  // The least revision that a token of this user must carry; for an unknown user the newest.
  std::uint64_t RequiredRevision(std::string_view username) const;
  // The same for who was last seen with a simple token that counted: as these, it outlives changes
  // of what its user may do. Both by what FindUser gave.
  std::uint64_t SessionsSince(const User* user) const;
  std::uint64_t RequiredRevision(const User* user) const;

  // ---- logging in ----

  // When the request enters: kErrAuthNotEnabled; kErrNoPasswordUser. nullptr for an unknown user:
  // then verify against a dummy hash all the same, and answer kErrAuthFailed. The password was
  // verified against this state: log in again if the revision has moved when the entry is applied.
  Result<const User*> BeginLogin(std::string_view username) const;
  // When it is applied: kErrAuthNotEnabled; kErrAuthFailed for who is unknown or has no password.
  Result<void> CheckLogin(std::string_view username) const;

  // Aborts with what is broken. O(n).
  void CheckInvariants() const;

 private:
  friend class AuthContent;
  friend class AuthDraft;
  friend class AuthStore;

  const User* UserOf(const Identity& identity) const {
    return identity.user != nullptr ? identity.user : FindUser(identity.username);
  }
  Result<const User*> Identify(const Identity& identity) const;
  // With the roles as they are in this state.
  std::shared_ptr<const User> MakeUser(std::shared_ptr<const UserRecord> record,
                                       std::uint64_t own_revision,
                                       std::uint64_t sessions_since) const;

  bool enabled_ = false;
  std::uint64_t revision_ = 1;
  // No token that is older than this counts: raised when auth is turned off. Of a state that etcd
  // wrote it is the revision it was found at, and is stored with the first change.
  std::uint64_t token_revision_ = 1;
  bool is_token_revision_stored_ = false;
  NameMap<User> users_;
  NameMap<Role> roles_;
};

}  // namespace kvorum::auth
