// The content of an auth store: the newest state, and the holders of each role, so that a change to
// a role finds its users. Read from the backend's records or a snapshot's off the apply executor,
// then handed to it (auth_store.h).
//
// A movable value; not thread-safe, except for the state that it points to.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "auth/auth_record.h"
#include "auth/auth_state.h"
#include "base/error.h"

namespace kvorum::auth {

class AuthContent {
 public:
  // The content of a new store.
  AuthContent() : state_(std::make_shared<const AuthState>()) {}
  // Built from all records of the three tables, in any order. kDataLoss for records that no member
  // can have written.
  static Result<AuthContent> Load(std::span<const Record> records);

  // A record as Load takes it, alone.
  static Result<void> CheckRecord(const Record& record);

  const std::shared_ptr<const AuthState>& state() const { return state_; }
  // Sorted names of the users that have the role.
  using Names = std::set<std::string, std::less<>>;
  const Names& HoldersOf(std::string_view role) const;

  // Aborts with the broken invariant. O(n).
  void CheckInvariants() const;

 private:
  friend class AuthDraft;
  friend class AuthStore;

  struct HashName {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>{}(name);
    }
  };

  std::shared_ptr<const AuthState> state_;
  std::unordered_map<std::string, Names, HashName, std::equal_to<>> holders_;  // no set is empty
};

}  // namespace kvorum::auth
