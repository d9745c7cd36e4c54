#include "server/call/admission.h"

#include "mvcc/records/validate.h"

namespace kvorum::server {
namespace {

KeyAccess KeysOf(const Asker& asker) {
  return {asker.state, asker.identity, asker.lease_keys, asker.max_lease_keys};
}

}  // namespace

Result<void> CheckLoggedIn(const Asker& asker) {
  if (asker.state.enabled() && asker.identity.username.empty()) return kErrUserEmpty.Fail();
  return {};
}

Result<void> CheckRoot(const Asker& asker) { return asker.state.CheckAdmin(asker.identity); }

Result<void> AdmitsPut(const Asker& asker, const mvcc::PutRequest& request) {
  return KeysOf(asker).Check(request);
}

Result<void> AdmitsDelete(const Asker& asker, const mvcc::DeleteRangeRequest& request) {
  return KeysOf(asker).Check(request);
}

// The request's validity is checked first, since it bounds the work below.
Result<void> AdmitsTxn(const Asker& asker, const mvcc::TxnRequest& request) {
  if (!mvcc::CheckTxn(request, asker.max_txn_ops).has_value()) return {};
  return KeysOf(asker).Check(request);
}

Result<void> AdmitsLease(const Asker& asker, const lease::LeaseId& id) {
  KV_RETURN_IF_ERROR(CheckLoggedIn(asker));
  return KeysOf(asker).CheckLease(id);
}

Result<void> AdmitsAlarm(const Asker& asker, const AlarmRequest& request) {
  return request.action == AlarmAction::kGet ? CheckLoggedIn(asker) : CheckRoot(asker);
}

Result<void> AdmitsUserGet(const Asker& asker, const std::string_view& name) {
  return name == asker.identity.username ? Result<void>() : CheckRoot(asker);
}

Result<void> AdmitsRoleGet(const Asker& asker, const std::string_view& name) {
  return asker.state.UserHasRole(asker.identity.username, name) ? Result<void>() : CheckRoot(asker);
}

}  // namespace kvorum::server
