// A history as text, one operation a line: for files, for explanations, for tests.
//
//   start 1 [KV...]                              the store before; without the line: 1, empty
//   CLIENT CALL RETURNED OPERATION -> ANSWER     RETURNED is `-` if no answer was seen
//
//   put KEY VALUE                -> REVISION
//   del KEY [END]                -> REVISION DELETED
//   get KEY [END]                -> REVISION KV...
//   sget KEY [END]               a serializable read
//   txn [if COMPARE...] [then REQUEST [; REQUEST]...] [else REQUEST...]
//                                -> REVISION yes|no [put | del DELETED | get KV...] [; ...]
//
// KV is KEY=VALUE@MOD,CREATE,VERSION, or KEY=VALUE where the numbers were not recorded. COMPARE is
// value(KEY)=VALUE, mod(KEY)=5, create(...), version(...), with =, !=, > or <. REVISION is `-`
// where it was not recorded. An answer of `?` leaves open whether the operation took effect. In
// names and values all but letters, digits and _ . / : - is percent-encoded (%20); an empty one is
// a lone `%`. Empty lines and lines that begin with # are passed over.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "tests/linearizability/history.h"

namespace kvorum::linearizability {

std::string ToText(const Operation& operation);
std::string ToText(const History& history);
std::string ToText(const KeyValue& kv);

// An error names the line and its fault.
Result<History> ParseHistory(std::string_view text);

}  // namespace kvorum::linearizability
