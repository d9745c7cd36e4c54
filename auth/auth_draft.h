// One change of the auth state in progress: the next state, made from the last one, and the records
// that store it in the backend. Used by the auth store only, once it is certain that the change
// takes place. Used by the auth store's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "auth/auth_content.h"
#include "auth/auth_record.h"
#include "auth/auth_state.h"

namespace kvorum::auth {

class AuthDraft {
 public:
  enum class Revision : std::uint8_t { kStays, kRises };
  // Changes the content's holders at once, and its state at Finish.
  AuthDraft(AuthContent& content, Revision revision);

  void SetEnabled(bool enabled);
  // Invalidates all tokens issued before.
  void EndTokens();
  enum class Sessions : std::uint8_t { kGoOn, kEnd };
  // Adds the user, or replaces the one of its name. Each user once per draft.
  void PutUser(UserRecord record, Sessions sessions);
  void RemoveUser(std::string_view name);
  // Adds the role without permissions.
  void AddRole(std::string_view name);
  // Replaces the permissions of the role, and with them those of its holders.
  void ChangeRole(RoleRecord record);
  // The caller puts its holders without it after this.
  void RemoveRole(std::string_view name);

  struct Finished {
    std::shared_ptr<const AuthState> state;
    std::vector<Record> records;
  };
  Finished Finish();

 private:
  void Put(Table table, std::string key, std::string value);
  void Delete(Table table, std::string key);
  void UpdateHolders(const User* before, const UserRecord* after);

  AuthContent& content_;
  const std::shared_ptr<AuthState> state_;
  bool tokens_ended_ = false;
  std::vector<std::shared_ptr<const User>> users_;  // to be set
  std::vector<Record> records_;
};

}  // namespace kvorum::auth
