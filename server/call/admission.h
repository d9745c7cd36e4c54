// The rules, named by the rows of api.h, that decide who may call a method.
//
// Errors: those of auth::AuthState. An invalid request gets its own error instead
// (method_registrar.h).
#pragma once

#include "api/alarm.h"
#include "api/kv_decode.h"
#include "base/api_errors.h"
#include "base/error.h"
#include "server/call/method.h"

namespace kvorum::server {

Result<void> CheckLoggedIn(const Asker& asker);
Result<void> CheckRoot(const Asker& asker);

// Also for a caller without a token, but not for one with a wrong token.
inline constexpr auto kAnyone = [](const Asker&, const auto&...) -> Result<void> { return {}; };
inline constexpr auto kLoggedIn = [](const Asker& asker, const auto&...) {
  return CheckLoggedIn(asker);
};
inline constexpr auto kRoot = [](const Asker& asker, const auto&...) { return CheckRoot(asker); };

Result<void> AdmitsPut(const Asker& asker, const mvcc::PutRequest& request);
Result<void> AdmitsDelete(const Asker& asker, const mvcc::DeleteRangeRequest& request);
Result<void> AdmitsTxn(const Asker& asker, const mvcc::TxnRequest& request);
// For a change to a lease: the caller must be allowed to write all of its keys.
Result<void> AdmitsLease(const Asker& asker, const lease::LeaseId& id);
// Every logged-in user may list the alarms.
Result<void> AdmitsAlarm(const Asker& asker, const AlarmRequest& request);
// A user may read itself and its roles.
Result<void> AdmitsUserGet(const Asker& asker, const std::string_view& name);
Result<void> AdmitsRoleGet(const Asker& asker, const std::string_view& name);

}  // namespace kvorum::server
