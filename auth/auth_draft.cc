#include "auth/auth_draft.h"

#include <string>
#include <utility>

namespace kvorum::auth {
namespace {

std::string KeyOf(std::string_view prefix, std::string_view name) {
  return std::string(prefix).append(name);
}

}  // namespace

AuthDraft::AuthDraft(AuthContent& content, Revision revision)
    : content_(content), state_(std::make_shared<AuthState>(*content.state())) {
  if (revision == Revision::kStays) return;
  ++state_->revision_;
  Put(Table::kAuth, std::string(kRevisionKey), EncodeRevision(state_->revision_));
}

void AuthDraft::SetEnabled(bool enabled) {
  state_->enabled_ = enabled;
  Put(Table::kAuth, std::string(kEnabledKey), EncodeEnabled(enabled));
}

void AuthDraft::EndTokens() {
  state_->token_revision_ = state_->revision_;
  tokens_ended_ = true;
}

void AuthDraft::PutUser(UserRecord record, Sessions sessions) {
  const User* before = state_->FindUser(record.name);
  UpdateHolders(before, &record);
  const std::uint64_t since = before != nullptr && sessions == Sessions::kGoOn
                                  ? before->sessions_since()
                                  : state_->revision_;
  Put(Table::kUsers, record.name, EncodeUser(record));
  Put(Table::kAuth, KeyOf(kUserRevisionPrefix, record.name), EncodeRevision(state_->revision_));
  users_.push_back(state_->MakeUser(std::make_shared<const UserRecord>(std::move(record)),
                                    state_->revision_, since));
}

void AuthDraft::RemoveUser(std::string_view name) {
  const User* user = state_->FindUser(name);
  UpdateHolders(user, nullptr);
  Delete(Table::kUsers, std::string(name));
  if (user->own_revision() != 0) Delete(Table::kAuth, KeyOf(kUserRevisionPrefix, name));
  state_->users_.Remove(name);
}

void AuthDraft::AddRole(std::string_view name) {
  RoleRecord record{std::string(name), {}};
  Put(Table::kRoles, record.name, EncodeRole(record));
  state_->roles_.Set(std::make_shared<const Role>(std::move(record), 0));
}

void AuthDraft::ChangeRole(RoleRecord record) {
  if (record == state_->FindRole(record.name)->record()) return;
  const std::string name = record.name;
  Put(Table::kRoles, name, EncodeRole(record));
  Put(Table::kAuth, KeyOf(kRoleRevisionPrefix, name), EncodeRevision(state_->revision_));
  state_->roles_.Set(std::make_shared<const Role>(std::move(record), state_->revision_));
  for (const std::string& holder : content_.HoldersOf(name)) {
    const User* user = state_->FindUser(holder);
    users_.push_back(
        state_->MakeUser(user->record(), user->own_revision(), user->sessions_since()));
  }
}

void AuthDraft::RemoveRole(std::string_view name) {
  Delete(Table::kRoles, std::string(name));
  if (state_->FindRole(name)->changed_revision() != 0)
    Delete(Table::kAuth, KeyOf(kRoleRevisionPrefix, name));
  state_->roles_.Remove(name);
}

AuthDraft::Finished AuthDraft::Finish() {
  state_->users_.SetAll(std::move(users_));
  if (tokens_ended_ || !state_->is_token_revision_stored_) {
    state_->is_token_revision_stored_ = true;
    Put(Table::kAuth, std::string(kTokenRevisionKey), EncodeRevision(state_->token_revision_));
  }
  return {state_, std::move(records_)};
}

void AuthDraft::Put(Table table, std::string key, std::string value) {
  records_.push_back({table, std::move(key), std::move(value)});
}

void AuthDraft::Delete(Table table, std::string key) {
  records_.push_back({table, std::move(key), std::nullopt});
}

void AuthDraft::UpdateHolders(const User* before, const UserRecord* after) {
  if (before != nullptr) {
    for (const std::string& role : before->roles()) {
      const auto it = content_.holders_.find(role);
      it->second.erase(before->name());
      if (it->second.empty()) content_.holders_.erase(it);
    }
  }
  if (after == nullptr) return;
  for (const std::string& role : after->roles) content_.holders_[role].insert(after->name);
}

}  // namespace kvorum::auth
