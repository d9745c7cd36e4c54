// Something that runs on an agent's node, and the checks that tell how it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace kvorum::sync {

enum class Health : std::uint8_t { kPassing, kWarning, kCritical };
// "passing", "warning", "critical".
std::string_view HealthName(Health health);
Result<Health> HealthOf(std::string_view name);

enum class CheckKind : std::uint8_t {
  kTtl,   // is critical after an interval without a report
  kHttp,  // GET of an http:// or https:// URL: 2xx passing, 429 warning, anything else critical
  kTcp,   // HOST:PORT accepts a connection
  kExec,  // exit code 0 passing, 1 warning, anything else critical
};
std::string_view CheckKindName(CheckKind kind);
Result<CheckKind> CheckKindOf(std::string_view name);

// A check over https:// knows its server by these.
struct CheckTls {
  std::string ca_file = {};      // PEM, read for each probe; empty: the system's
  std::string server_name = {};  // that the certificate must name; empty: the URL's host
  bool skip_verify = false;      // take any certificate

  friend bool operator==(const CheckTls&, const CheckTls&) = default;
};

struct CheckDefinition {
  std::string id;
  CheckKind kind = CheckKind::kTtl;
  std::string target = {};                // kHttp: the URL; kTcp: HOST:PORT
  CheckTls tls = {};                      // kHttp with an https:// URL
  std::vector<std::string> command = {};  // kExec: the program and its arguments
  Duration interval = std::chrono::seconds(10);
  Duration timeout = std::chrono::seconds(5);
  // So many results in a row change the status; a warning counts as a success.
  int successes_before_passing = 1;
  int failures_before_critical = 1;

  friend bool operator==(const CheckDefinition&, const CheckDefinition&) = default;
};

struct Check {
  CheckDefinition definition;
  Health health = Health::kCritical;
  std::string output = {};  // what the last result said
  // When somebody last reported about a ttl check, by the time of day, so that a restart of the
  // agent does not put its deadline off; 0: never. Not sent to the store.
  std::int64_t reported_unix_ns = 0;

  friend bool operator==(const Check&, const Check&) = default;
};

struct Entry {
  std::string id;     // on its node
  std::string name;   // of the service, which other nodes may have too
  std::string value;  // any bytes
  std::vector<Check> checks = {};
  std::string source = {};  // the file that registered it; not sent to the store

  friend bool operator==(const Entry&, const Entry&) = default;
};

inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::size_t kMaxChecks = 16;
inline constexpr std::size_t kMaxOutputBytes = 4096;
inline constexpr std::size_t kMaxRecordBytes = std::size_t{256} << 10U;  // without the outputs

// Names stand in keys: not empty, at most kMaxNameBytes bytes of UTF-8, no slash, no control
// character. The error begins with `what`.
Result<void> ValidateName(std::string_view what, std::string_view name);
// An id has no dot either, so that NODE.ID means one thing.
Result<void> ValidateId(std::string_view id);
// kInvalidArgument, with the part that is wrong.
Result<void> ValidateEntry(const Entry& entry);

// The output as an entry has it: valid UTF-8 without control characters but line ends and tabs, cut
// to kMaxOutputBytes.
std::string CleanOutput(std::string_view output);

}  // namespace kvorum::sync
