// A simulated client's request: an operation in the form of the history checker, and its way into
// the log and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/entries/internal_request.h"
#include "server/apply/apply_result.h"
#include "tests/linearizability/history.h"
#include "tests/sim/judges/auth_judge.h"

namespace kvorum::sim {

// One of an operation's requests.
using Part = linearizability::Request;

struct Request {
  linearizability::Operation operation;
  std::int64_t compact_revision = 0;  // not 0: a compaction, and no operation
  std::int64_t lease = 0;             // that a put attaches its key to
  // For a put or a delete: requests the previous values. (They are not looked at.)
  bool prev_kv = false;
  // Not empty: the success branch is in a nested transaction, whose other branch, never taken, puts
  // this key.
  std::string hidden_key = {};
  bool refused = false;  // for certain: it does not count as an operation

  bool is_compaction() const { return compact_revision != 0; }
  // One that needs no log entry.
  bool is_read() const { return !is_compaction() && !linearizability::MayWrite(operation); }
};

Request PutOf(const std::string& key, const std::string& value, std::int64_t lease = 0);
Request ReadOfAll(bool serializable);

// All keys of the clients lie in [kFirstKey, kEndOfKeys).
inline constexpr const char* kFirstKey = "k";
inline constexpr const char* kEndOfKeys = "l";

server::RequestKind KindOf(const Request& request);
// The method of the KV service.
std::string PathOf(const Request& request);
// The permissions that its caller needs.
Needs NeedsOf(const Request& request);
std::string BodyOf(const Request& request);
std::string Describe(const Request& request);

// Writes the answer into the request's operation, and returns the revision of the header.
std::int64_t Record(const server::ApplyResult::Value& value, linearizability::Operation& operation);
// True if the outcome, once recorded, can be that of such a request at all.
bool Fits(const Request& request, const server::ApplyResult::Value& value,
          const linearizability::Operation& recorded);
linearizability::KeyValue KeyValueOf(std::string_view encoded);
// The same for an answer of the KV service. Nothing if it cannot be the answer to such a request.
std::optional<linearizability::Operation> ReadAnswer(const Request& request,
                                                     const std::string& bytes);

}  // namespace kvorum::sim
