// Who may call what: one row for every method of the API.
//
// A method without a row cannot be registered. The rules look at a call when it enters; what a
// request does to keys is looked at again where it happens (access.h).
#pragma once

#include <span>
#include <string_view>

#include "auth/auth_state.h"
#include "base/error.h"
#include "server/call/access.h"

namespace kvorum::server {

struct AccessRule {
  // What the rule looks at. A stream's request is empty: what each of its messages asks for is the
  // handler's to check.
  struct Question {
    const auth::AuthState& state;
    const auth::Identity& identity;
    const LeaseKeys& lease_keys;
    std::size_t max_txn_ops;
    std::string_view request;
  };

  std::string_view service;
  std::string_view method;
  // Null: anybody, whatever token they show.
  Result<void> (*check)(const Question& question);
};

std::span<const AccessRule> AccessRules();
// Null: there is no such method.
const AccessRule* FindAccessRule(std::string_view service, std::string_view method);

}  // namespace kvorum::server
