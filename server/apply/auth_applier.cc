#include "server/apply/auth_applier.h"

#include <utility>

#include "auth/simple_tokens.h"
#include "base/api_errors.h"
#include "base/log/logging.h"
#include "mvcc/records/bucket.h"
#include "mvcc/store/store.h"
#include "server/state/leases.h"

namespace kvorum::server {
namespace {

mvcc::Bucket BucketOf(auth::Table table) {
  switch (table) {
    case auth::Table::kAuth:
      return mvcc::Bucket::kAuth;
    case auth::Table::kUsers:
      return mvcc::Bucket::kAuthUsers;
    case auth::Table::kRoles:
      return mvcc::Bucket::kAuthRoles;
  }
  return mvcc::Bucket::kAuth;
}

}  // namespace

AuthApplier::AuthApplier(auth::AuthStore& auth, AuthStates& states, mvcc::Store& store,
                         const Leases& leases, auth::SimpleTokens* tokens)
    : auth_(auth),
      states_(states),
      store_(store),
      tokens_(tokens),
      lease_keys_([&leases](lease::LeaseId id, const VisitKey& visit) {
        const lease::Lease* const found = leases.table().Find(id);
        return found == nullptr || lease::LeaseTable::VisitKeys(*found, visit);
      }),
      state_(auth.state()) {}

// The member that was asked has checked the password; the auth revision shows whether the user is
// still the one it was checked for.
Result<ApplyResult::Value> AuthApplier::Execute(EntryKind<RequestKind::kAuthenticate>,
                                                const CommittedRequest& entry,
                                                const LoginEntry& login) {
  KV_RETURN_IF_ERROR(state_->CheckLogin(login.name));
  LoginResult result{.revision = store_.working_revision(),
                     .auth_revision = state_->revision(),
                     .simple_token = {}};
  if (tokens_ != nullptr && !login.token_prefix.empty()) {
    // All members must compute the same one: etcd's use the index applied before.
    result.simple_token = auth::MakeSimpleToken(login.token_prefix, entry.index.value() - 1);
    tokens_->Assign(result.simple_token, login.name);
  }
  return result;
}

Result<void> AuthApplier::CheckAdmin(const InternalRequest& entry) const {
  return state_->CheckAdmin({.username = entry.user, .revision = state_->revision()});
}

// The check that etcd makes for every operation on keys.
Result<void> AuthApplier::CheckRevision(const InternalRequest& entry) const {
  if (entry.auth_revision == 0) return kErrUserEmpty.Fail();
  if (entry.auth_revision < state_->revision()) return kErrAuthOldRevision.Fail();
  return {};
}

Result<void> AuthApplier::CheckRevoke(const InternalRequest& entry, lease::LeaseId id) const {
  if (!state_->enabled()) return {};
  const bool is_root = CheckAdmin(entry).has_value();
  const bool has_keys = !lease_keys_(id, [](std::string_view) { return false; });
  if (is_root || !has_keys) return {};
  KV_RETURN_IF_ERROR(CheckRevision(entry));
  return KeyAccess(*state_, IdentityOf(entry), lease_keys_).CheckLease(id);
}

ApplyResult::Value AuthApplier::Take(const auth::Change& change) {
  for (const auth::Record& record : change.records) {
    if (record.value.has_value()) {
      store_.PutBucket(BucketOf(record.table), record.key, *record.value);
    } else {
      store_.DeleteBucket(BucketOf(record.table), record.key);
    }
  }
  if (tokens_ != nullptr) tokens_->End(change.ended);
  state_ = auth_.state();
  store_.SetSideVersion(states_.Add(state_, store_.shown_side_version()));
  return AuthResult{.revision = store_.working_revision()};
}

void AuthApplier::EndTokens(const auth::AuthStore::Content& content) const {
  if (tokens_ != nullptr) tokens_->End(auth_.EndedBy(content));
}

void AuthApplier::Install(auth::AuthStore::Content content) {
  auth_.Replace(std::move(content));
  state_ = auth_.state();
}

}  // namespace kvorum::server
