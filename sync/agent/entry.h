// Something that runs on an agent's node, and the checks that tell how it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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
  kHttp,  // an http:// or https:// URL answers: 2xx passing, 429 warning, anything else critical
  kTcp,   // HOST:PORT accepts a connection
  kExec,  // exit code 0 passing, 1 warning, anything else critical
  kUdp,   // HOST:PORT answers a datagram, or does not refuse it within the time-out
  // The worst status of other checks (consul/catalog/alias_prober.h).
  kAlias,
  kH2Ping,  // HOST:PORT answers a PING of HTTP/2
  kGrpc,    // HOST:PORT or HOST:PORT/SERVICE says SERVING (grpc.health.v1)
};
std::string_view CheckKindName(CheckKind kind);
Result<CheckKind> CheckKindOf(std::string_view name);

inline constexpr std::size_t kMaxOutputBytes = 4096;
// With the words about the rest that was cut.
inline constexpr std::size_t kMaxCutOutputBytes = kMaxOutputBytes + 64;

// A check under TLS knows its server by these.
struct CheckTls {
  std::string ca_file = {};      // PEM, read for each probe; empty: the system's
  std::string server_name = {};  // that the certificate must name; empty: the target's host
  bool skip_verify = false;      // take any certificate

  friend bool operator==(const CheckTls&, const CheckTls&) = default;
};

// Names of headers and their values, as a check sends them.
using CheckHeaders = std::map<std::string, std::vector<std::string>>;

struct CheckDefinition {
  std::string id;
  CheckKind kind = CheckKind::kTtl;
  // kHttp: the URL; kAlias: NODE/ID of a service, /ID of one of this node, NODE/ or / of a node's
  // own checks; kTcp, kUdp, kH2Ping, kGrpc: as at the kind.
  std::string target = {};
  bool uses_tls = false;                  // kTcp, kH2Ping, kGrpc
  bool follows_redirects = false;         // kHttp: as Go's client does, up to ten requests
  CheckTls tls = {};                      // with these, or an https:// URL
  std::string method = {};                // kHttp; empty: GET
  CheckHeaders headers = {};              // kHttp; they take the place of our own of the same name
  std::string body = {};                  // kHttp; any bytes
  std::vector<std::string> command = {};  // kExec: the program and its arguments
  Duration interval = std::chrono::seconds(10);
  Duration timeout = std::chrono::seconds(5);
  // So many results in a row change the status; a warning counts as a success.
  int successes_before_passing = 1;
  int failures_before_critical = 1;
  // So many failures in a row make it a warning, until they make it critical; 0: none do.
  int failures_before_warning = 0;
  // The bytes that are kept of a program's output, of an answer's body and of a report.
  std::size_t output_max_bytes = kMaxOutputBytes;
  // A JSON object as text, for those who read kept records (catalog.h); empty: none. With it the
  // check speaks as Consul's do: its request, its outputs.
  std::string details = {};

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

enum class EntryKind : std::uint8_t {
  kService,
  // A check of the node itself: one check, an id that is a dot and the check's id (so that it
  // differs from services' ids), and no name, value or details. It is registered, reported about
  // and deregistered like a service. Its result stands in the node's kept record alone.
  kNode,
};

struct Entry {
  std::string id;     // on its node
  std::string name;   // of the service, which other nodes may have too
  std::string value;  // any bytes
  std::vector<Check> checks = {};
  std::string source = {};  // the file that registered it; not sent to the store
  EntryKind kind = EntryKind::kService;
  std::string details = {};  // a JSON object as text, for readers of kept records; empty: none
  // With which a service is written (SyncerOptions::store_of); empty: as the agent itself. Not sent
  // to the store.
  std::string token = {};

  friend bool operator==(const Entry&, const Entry&) = default;
};

// The id of the entry of a check of the node.
std::string NodeCheckId(std::string_view check);
Entry NodeCheck(Check check);

inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::size_t kMaxChecks = 64;  // of a service, and of a node
// An entry's outputs together: those of more checks are cut to equal parts of it.
inline constexpr std::size_t kMaxOutputsBytes = std::size_t{64} << 10U;
// Without the outputs; a kept record may have twice as many.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{256} << 10U;
inline constexpr std::size_t kMaxDetailsDepth = 100;
inline constexpr std::size_t kMaxTokenBytes = std::size_t{8} << 10U;

// Names stand in keys: not empty, at most kMaxNameBytes bytes of UTF-8, no slash, no control
// character. The error begins with `what`.
Result<void> ValidateName(std::string_view what, std::string_view name);
// A service's id has no dot either, so that NODE.ID means one thing.
Result<void> ValidateId(std::string_view id);
// kInvalidArgument, with the part that is wrong.
Result<void> ValidateEntry(const Entry& entry);
// Details: empty or a JSON object. The error begins with `what`.
Result<void> ValidateDetails(std::string_view what, std::string_view details);

// The output as an entry has it: valid UTF-8 without control characters but line ends and tabs, cut
// to so many bytes.
std::string CleanOutput(std::string_view output, std::size_t max_bytes = kMaxOutputBytes);
// The bytes that each output of an entry with so many checks may have.
std::size_t OutputRoom(std::size_t checks);

}  // namespace kvorum::sync
