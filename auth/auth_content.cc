#include "auth/auth_content.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"

namespace kvorum::auth {
namespace {

std::unexpected<Error> Contradiction(std::string_view what) {
  return Fail(Code::kDataLoss,
              "auth: the stored records contradict each other: " + std::string(what));
}

// The records, sorted by kind.
struct Sorted {
  std::optional<bool> enabled;
  std::optional<std::uint64_t> revision;
  std::optional<std::uint64_t> token_revision;
  using Revisions = std::map<std::string, std::uint64_t, std::less<>>;
  Revisions user_revisions;
  Revisions role_revisions;
  std::map<std::string, UserRecord, std::less<>> users;
  std::map<std::string, RoleRecord, std::less<>> roles;
};

template <class T>
Result<void> SetOnce(std::optional<T>& place, Result<T> value) {
  if (!value) return Fail(std::move(value).error());
  if (place) return Contradiction("a key is there twice");
  place = *value;
  return {};
}

template <class Map, class T>
Result<void> AddOnce(Map& map, std::string_view name, Result<T> value) {
  if (!value) return Fail(std::move(value).error());
  if (!map.emplace(name, std::move(*value)).second) return Contradiction("a key is there twice");
  return {};
}

Result<void> SortAuthRecord(std::string_view key, std::string_view value, Sorted& sorted) {
  if (key == kEnabledKey) return SetOnce(sorted.enabled, DecodeEnabled(value));
  if (key == kRevisionKey) return SetOnce(sorted.revision, DecodeRevision(value));
  if (key == kTokenRevisionKey) return SetOnce(sorted.token_revision, DecodeRevision(value));
  for (const auto& [prefix, revisions] : {std::pair(kUserRevisionPrefix, &sorted.user_revisions),
                                          std::pair(kRoleRevisionPrefix, &sorted.role_revisions)}) {
    if (key.starts_with(prefix))
      return AddOnce(*revisions, key.substr(prefix.size()), DecodeRevision(value));
  }
  return Fail(Code::kDataLoss, "auth: a stored key is unknown");
}

Result<void> Sort(const Record& record, Sorted& sorted) {
  const std::string_view value = record.value ? std::string_view(*record.value) : "";
  switch (record.table) {
    case Table::kAuth:
      return SortAuthRecord(record.key, value, sorted);
    case Table::kUsers: {
      KV_TRY(UserRecord user, DecodeUser(value));
      if (user.name != record.key) return Contradiction("a user is under another's name");
      return AddOnce<decltype(sorted.users), UserRecord>(sorted.users, record.key, std::move(user));
    }
    case Table::kRoles: {
      KV_TRY(RoleRecord role, DecodeRole(value));
      if (role.name != record.key) return Contradiction("a role is under another's name");
      return AddOnce<decltype(sorted.roles), RoleRecord>(sorted.roles, record.key, std::move(role));
    }
  }
  return Contradiction("an unknown table");
}

// Every stored revision belongs to an existing user or role and is not ahead of the store's.
Result<void> CheckRevisions(const Sorted& sorted) {
  if (!sorted.revision) {
    if (sorted.enabled.value_or(false) || sorted.token_revision || !sorted.users.empty() ||
        !sorted.roles.empty() || !sorted.user_revisions.empty() || !sorted.role_revisions.empty())
      return Contradiction("there is no revision");
    return {};
  }
  if (*sorted.revision == 0 || sorted.token_revision.value_or(0) > *sorted.revision)
    return Contradiction("the revision is too low");
  const auto check = [&](const Sorted::Revisions& revisions, const auto& owners) -> Result<void> {
    for (const auto& [name, revision] : revisions) {
      if (!owners.contains(name)) return Contradiction("a revision belongs to no user or role");
      if (revision > *sorted.revision) return Contradiction("the revision is too low");
      // Our first change stores it.
      if (!sorted.token_revision) return Contradiction("there is no token revision");
    }
    return {};
  };
  KV_RETURN_IF_ERROR(check(sorted.user_revisions, sorted.users));
  return check(sorted.role_revisions, sorted.roles);
}

std::uint64_t RevisionOf(const Sorted::Revisions& revisions, std::string_view name) {
  const auto it = revisions.find(name);
  return it == revisions.end() ? 0 : it->second;
}

}  // namespace

Result<void> AuthContent::CheckRecord(const Record& record) {
  Sorted sorted;
  return Sort(record, sorted);
}

Result<AuthContent> AuthContent::Load(std::span<const Record> records) {
  Sorted sorted;
  for (const Record& record : records) KV_RETURN_IF_ERROR(Sort(record, sorted));
  KV_RETURN_IF_ERROR(CheckRevisions(sorted));

  AuthContent content;
  auto state = std::make_shared<AuthState>();
  state->enabled_ = sorted.enabled.value_or(false);
  state->revision_ = sorted.revision.value_or(state->revision_);
  state->is_token_revision_stored_ = sorted.token_revision.has_value();
  state->token_revision_ = sorted.token_revision.value_or(state->revision_);

  std::vector<std::shared_ptr<const Role>> roles;
  roles.reserve(sorted.roles.size());
  for (auto& [name, record] : sorted.roles) {
    roles.push_back(
        std::make_shared<const Role>(std::move(record), RevisionOf(sorted.role_revisions, name)));
  }
  state->roles_.SetAll(std::move(roles));

  std::vector<std::shared_ptr<const User>> users;
  users.reserve(sorted.users.size());
  for (auto& [name, record] : sorted.users) {
    for (const std::string& role : record.roles) content.holders_[role].insert(name);
    const std::uint64_t own = RevisionOf(sorted.user_revisions, name);
    users.push_back(
        state->MakeUser(std::make_shared<const UserRecord>(std::move(record)), own, own));
  }
  state->users_.SetAll(std::move(users));
  content.state_ = std::move(state);
  return content;
}

const AuthContent::Names& AuthContent::HoldersOf(std::string_view role) const {
  static const Names kNone;
  const auto it = holders_.find(role);
  return it == holders_.end() ? kNone : it->second;
}

void AuthContent::CheckInvariants() const {
  state_->CheckInvariants();
  std::size_t held = 0;
  state_->users_.ForEach([&](const User& user) { held += user.roles().size(); });
  for (const auto& [role, names] : holders_) {
    KV_CHECK(!names.empty(), "auth: a role without holders has no list of them");
    held -= names.size();
    for (const std::string& name : names)
      KV_CHECK(state_->UserHasRole(name, role), "auth: the holder of a role has it");
  }
  KV_CHECK(held == 0, "auth: every role of every user is listed once");
}

}  // namespace kvorum::auth
