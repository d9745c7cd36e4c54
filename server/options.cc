#include "server/options.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <variant>

#include "base/duration_text.h"
#include "rpc/tls_context.h"
#include "server/feature_gates.h"
#include "server/url.h"

namespace kvorum::server {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kDefaultQuotaBytes = std::uint64_t{2} << 30;

enum class Support : std::uint8_t {
  kEffective,
  kIgnored,  // accepted; its subject does not exist here
  kNotYet,   // refused unless it equals its default
};

// Where a value goes. `Text` is for flags without a field of their own: checked by their default
// only.
struct Text {
  bool boolean = false;
};
using Field =
    std::variant<Text, std::string Options::*, std::uint64_t Options::*, std::int64_t Options::*,
                 bool Options::*, nanoseconds Options::*, std::vector<std::string> Options::*>;

struct Flag {
  std::string_view name;
  std::string_view section;
  Support support;
  Field field;
  std::string_view default_text;
  std::string_view help;
};

constexpr Text kText{};
constexpr Text kSwitch{true};

std::span<const Flag> Flags() {
  using enum Support;
  static const std::vector<Flag> flags = {
      {"name", "Member", kEffective, &Options::name, "default",
       "Human-readable name for this member."},
      {"data-dir", "Member", kEffective, &Options::data_dir, "",
       "Path to the data directory; ${name}.etcd if empty."},
      {"wal-dir", "Member", kEffective, &Options::wal_dir, "",
       "Path to a dedicated folder for the log."},
      {"snapshot-count", "Member", kEffective, &Options::snapshot_count, "10000",
       "Number of applied entries that trigger a snapshot of the log."},
      {"heartbeat-interval", "Member", kEffective, &Options::heartbeat_ms, "100",
       "Heartbeat interval in ms."},
      {"election-timeout", "Member", kEffective, &Options::election_ms, "1000",
       "Election time-out in ms."},
      {"initial-election-tick-advance", "Member", kEffective,
       &Options::initial_election_tick_advance, "true",
       "Whether to fast-forward the first election's ticks."},
      {"listen-peer-urls", "Member", kEffective, &Options::listen_peer_urls,
       "http://localhost:2380", "URLs to listen on for peer traffic."},
      {"listen-client-urls", "Member", kEffective, &Options::listen_client_urls,
       "http://localhost:2379", "URLs to listen on for client traffic."},
      {"listen-client-http-urls", "Member", kNotYet, kText, "",
       "URLs for HTTP only; then the client URLs serve gRPC only."},
      {"listen-metrics-urls", "Member", kNotYet, kText, "", "URLs for metrics and health."},
      {"max-wals", "Member", kEffective, &Options::max_wals, "5",
       "Log files to keep (0 is unlimited)."},
      {"max-snapshots", "Member", kEffective, &Options::max_snapshots, "5",
       "Snapshot files to keep (0 is unlimited)."},
      {"quota-backend-bytes", "Member", kEffective, &Options::quota_backend_bytes, "0",
       "Size at which a NOSPACE alarm is raised (0 is 2 GiB, negative is no quota)."},
      {"backend-bbolt-freelist-type", "Member", kIgnored, kText, "map",
       "No effect: there is no bbolt here."},
      {"backend-batch-interval", "Member", kEffective, &Options::backend_batch_interval, "0s",
       "Longest time before a backend commit (0 is 100ms)."},
      {"backend-batch-limit", "Member", kEffective, &Options::backend_batch_limit, "0",
       "Most operations before a backend commit (0 is 10000)."},
      {"max-txn-ops", "Member", kEffective, &Options::max_txn_ops, "128",
       "Most operations in a transaction."},
      {"max-request-bytes", "Member", kEffective, &Options::max_request_bytes, "1572864",
       "Largest client request in bytes."},
      {"max-concurrent-streams", "Member", kEffective, &Options::max_concurrent_streams,
       "4294967295", "Most concurrent streams of one client connection."},
      {"grpc-keepalive-min-time", "Member", kEffective, &Options::grpc_keepalive_min_time, "5s",
       "Least time a client waits between pings."},
      {"grpc-keepalive-interval", "Member", kEffective, &Options::grpc_keepalive_interval, "2h0m0s",
       "Idle time after which the server pings a client (0 is never)."},
      {"grpc-keepalive-timeout", "Member", kEffective, &Options::grpc_keepalive_timeout, "20s",
       "Wait for a ping's answer before the connection is closed."},
      {"memory-mlock", "Member", kNotYet, kSwitch, "false", "Lock all memory into RAM."},
      {"socket-reuse-port", "Member", kNotYet, kSwitch, "false", "Set SO_REUSEPORT on listeners."},
      {"socket-reuse-address", "Member", kIgnored, kSwitch, "false",
       "Listeners always set SO_REUSEADDR."},
      {"enable-grpc-gateway", "Member", kIgnored, kSwitch, "true",
       "The JSON gateway is not there yet."},
      {"raft-read-timeout", "Member", kIgnored, kText, "5s", "Read time-out of peer connections."},
      {"raft-write-timeout", "Member", kIgnored, kText, "5s",
       "Write time-out of peer connections."},
      {"feature-gates", "Member", kEffective, &Options::feature_gates, "",
       "Features to turn on or off: LeaseCheckpoint; others have no effect."},
      {"io-threads", "Member", kEffective, &Options::io_threads, "0",
       "Threads that serve client connections (0 chooses by the machine)."},

      {"initial-advertise-peer-urls", "Clustering", kEffective,
       &Options::initial_advertise_peer_urls, "http://localhost:2380",
       "Peer URLs to tell the rest of the cluster."},
      {"initial-cluster", "Clustering", kEffective, &Options::initial_cluster, "",
       "Initial members, as name=url pairs; this member alone if empty."},
      {"initial-cluster-state", "Clustering", kEffective, &Options::initial_cluster_state, "new",
       "'new' or 'existing'."},
      {"initial-cluster-token", "Clustering", kEffective, &Options::initial_cluster_token,
       "etcd-cluster", "Token that keeps clusters apart; part of the ids."},
      {"advertise-client-urls", "Clustering", kEffective, &Options::advertise_client_urls,
       "http://localhost:2379", "Client URLs to tell clients and members."},
      {"discovery-srv", "Clustering", kNotYet, kText, "", "DNS domain for bootstrap."},
      {"discovery-srv-name", "Clustering", kNotYet, kText, "", "Suffix of the DNS SRV name."},
      {"discovery-token", "Clustering", kNotYet, kText, "", "Token for v3 discovery."},
      {"discovery-endpoints", "Clustering", kNotYet, kText, "", "Endpoints for v3 discovery."},
      {"discovery-fallback", "Clustering", kIgnored, kText, "exit",
       "What to do when discovery fails."},
      {"discovery-dial-timeout", "Clustering", kIgnored, kText, "2s", "Discovery: dial time-out."},
      {"discovery-request-timeout", "Clustering", kIgnored, kText, "5s",
       "Discovery: request time-out."},
      {"discovery-keepalive-time", "Clustering", kIgnored, kText, "2s",
       "Discovery: keep-alive time."},
      {"discovery-keepalive-timeout", "Clustering", kIgnored, kText, "6s",
       "Discovery: keep-alive time-out."},
      {"discovery-insecure-transport", "Clustering", kIgnored, kSwitch, "true",
       "Discovery: plain text."},
      {"discovery-insecure-skip-tls-verify", "Clustering", kIgnored, kSwitch, "false",
       "Discovery: no verification."},
      {"discovery-cert", "Clustering", kIgnored, kText, "", "Discovery: client certificate."},
      {"discovery-key", "Clustering", kIgnored, kText, "", "Discovery: client key."},
      {"discovery-cacert", "Clustering", kIgnored, kText, "", "Discovery: CA."},
      {"discovery-user", "Clustering", kIgnored, kText, "", "Discovery: user."},
      {"discovery-password", "Clustering", kIgnored, kText, "", "Discovery: password."},
      {"strict-reconfig-check", "Clustering", kEffective, &Options::strict_reconfig_check, "true",
       "Refuse membership changes that would lose quorum."},
      {"pre-vote", "Clustering", kEffective, &Options::pre_vote, "true", "Ask before an election."},
      {"auto-compaction-retention", "Clustering", kNotYet, kText, "0",
       "Retention of automatic compaction (0 is off)."},
      {"auto-compaction-mode", "Clustering", kIgnored, kText, "periodic",
       "'periodic' or 'revision'."},
      {"v2-deprecation", "Clustering", kIgnored, kText, "write-only",
       "No effect: there is no v2 store here."},

      {"cert-file", "Security", kEffective, &Options::cert_file, "",
       "Path to the server's certificate."},
      {"key-file", "Security", kEffective, &Options::key_file, "", "Path to the server's key."},
      {"client-cert-file", "Security", kEffective, &Options::client_cert_file, "",
       "Client certificate of the server itself: checked, not needed."},
      {"client-key-file", "Security", kEffective, &Options::client_key_file, "",
       "Key of the certificate above."},
      {"client-cert-auth", "Security", kEffective, &Options::client_cert_auth, "false",
       "Ask clients for a certificate, whose CN names the user."},
      {"client-crl-file", "Security", kEffective, &Options::client_crl_file, "",
       "Revocation lists for clients: PEM, or one list in DER."},
      {"client-cert-allowed-hostname", "Security", kEffective,
       &Options::client_cert_allowed_hostname, "",
       "Host names, one of which a client's certificate must be for, comma-separated."},
      {"trusted-ca-file", "Security", kEffective, &Options::trusted_ca_file, "",
       "CA that client certificates are checked with; clients need one then."},
      {"auto-tls", "Security", kEffective, &Options::auto_tls, "false",
       "Make a certificate for clients."},
      {"peer-cert-file", "Security", kEffective, &Options::peer_cert_file, "",
       "Path to the peer certificate."},
      {"peer-key-file", "Security", kEffective, &Options::peer_key_file, "",
       "Path to the peer key."},
      {"peer-client-cert-file", "Security", kEffective, &Options::peer_client_cert_file, "",
       "Client certificate among peers."},
      {"peer-client-key-file", "Security", kEffective, &Options::peer_client_key_file, "",
       "Client key among peers."},
      {"peer-client-cert-auth", "Security", kEffective, &Options::peer_client_cert_auth, "false",
       "Ask peers for a certificate."},
      {"peer-trusted-ca-file", "Security", kEffective, &Options::peer_trusted_ca_file, "",
       "CA that peers are checked with."},
      {"peer-auto-tls", "Security", kEffective, &Options::peer_auto_tls, "false",
       "Make a certificate for peers."},
      {"peer-crl-file", "Security", kEffective, &Options::peer_crl_file, "",
       "Revocation list for peers."},
      {"peer-cert-allowed-cn", "Security", kEffective, &Options::peer_cert_allowed_cn, "",
       "Allowed CNs of peers."},
      {"peer-cert-allowed-hostname", "Security", kEffective, &Options::peer_cert_allowed_hostname,
       "", "Allowed certificate names of peers."},
      {"peer-skip-client-san-verification", "Security", kEffective,
       &Options::peer_skip_client_san_verification, "false", "Skip the SAN check of peers."},
      {"self-signed-cert-validity", "Security", kEffective,
       &Options::self_signed_cert_validity_years, "1", "Years that made certificates are valid."},
      {"cipher-suites", "Security", kEffective, &Options::cipher_suites, "",
       "Cipher suites of TLS 1.2, comma-separated (strong ones if empty)."},
      {"cors", "Security", kIgnored, kText, "*", "Allowed CORS origins of the JSON gateway."},
      {"host-whitelist", "Security", kNotYet, kText, "*",
       "Acceptable Host names of HTTP requests."},
      {"tls-min-version", "Security", kEffective, &Options::tls_min_version, "TLS1.2",
       "Lowest TLS version: TLS1.2 or TLS1.3."},
      {"tls-max-version", "Security", kEffective, &Options::tls_max_version, "",
       "Highest TLS version: TLS1.2 or TLS1.3 (empty is the highest there is)."},

      {"auth-token", "Auth", kEffective, &Options::auth_token, "simple",
       "Kind of token: simple, or jwt with its options."},
      {"bcrypt-cost", "Auth", kEffective, &Options::bcrypt_cost, "10", "Cost of password hashing."},
      {"auth-token-ttl", "Auth", kEffective, &Options::auth_token_ttl_s, "300",
       "Seconds that a simple token lives after its last use."},

      {"enable-pprof", "Profiling and monitoring", kIgnored, kSwitch, "false",
       "No effect: there is no Go runtime here."},
      {"metrics", "Profiling and monitoring", kIgnored, kText, "basic", "'basic' or 'extensive'."},
      {"enable-distributed-tracing", "Profiling and monitoring", kNotYet, kSwitch, "false",
       "Tracing."},
      {"distributed-tracing-address", "Profiling and monitoring", kIgnored, kText, "localhost:4317",
       "Tracing."},
      {"distributed-tracing-service-name", "Profiling and monitoring", kIgnored, kText, "etcd",
       "Tracing."},
      {"distributed-tracing-instance-id", "Profiling and monitoring", kIgnored, kText, "",
       "Tracing."},
      {"distributed-tracing-sampling-rate", "Profiling and monitoring", kIgnored, kText, "0",
       "Tracing."},

      {"logger", "Logging", kIgnored, kText, "zap", "Accepted for compatibility."},
      {"log-outputs", "Logging", kEffective, &Options::log_outputs, "default",
       "'stdout', 'stderr', 'default' or files, comma-separated."},
      {"log-level", "Logging", kEffective, &Options::log_level, "info",
       "debug, info, warn, error, panic or fatal."},
      {"log-format", "Logging", kEffective, &Options::log_format, "json", "'json' or 'console'."},
      {"enable-log-rotation", "Logging", kNotYet, kSwitch, "false", "Rotate log files."},
      {"log-rotation-config-json", "Logging", kIgnored, kText,
       "{\"maxsize\": 100, \"maxage\": 0, \"maxbackups\": 0, \"localtime\": false, \"compress\": "
       "false}",
       "Options of log rotation."},
      {"warning-unary-request-duration", "Logging", kEffective,
       &Options::warning_unary_request_duration, "300ms", "A request that takes longer is logged."},

      {"corrupt-check-time", "Features", kNotYet, kText, "0s", "Interval of corruption checks."},
      {"compact-hash-check-time", "Features", kIgnored, kText, "1m0s",
       "Interval of compaction hash checks."},
      {"compaction-batch-limit", "Features", kEffective, &Options::compaction_batch_limit, "0",
       "Most revisions deleted in one compaction batch (0 is 1000)."},
      {"compaction-sleep-interval", "Features", kEffective, &Options::compaction_sleep_interval,
       "0s", "Pause between compaction batches (0 is 10ms)."},
      {"watch-progress-notify-interval", "Features", kEffective,
       &Options::watch_progress_notify_interval, "0s", "Interval of watch progress (0 is 10m)."},
      {"downgrade-check-time", "Features", kIgnored, kText, "5s", "Interval of downgrade checks."},
      {"warning-apply-duration", "Features", kEffective, &Options::warning_apply_duration, "100ms",
       "An apply that takes longer is logged."},
      {"bootstrap-defrag-threshold-megabytes", "Features", kNotYet, kText, "0",
       "Defragment at start."},
      {"max-learners", "Features", kEffective, &Options::max_learners, "1",
       "Most learners in the cluster."},
      {"snapshot-catchup-entries", "Features", kEffective, &Options::snapshot_catchup_entries,
       "5000", "Log entries kept for slow followers after a snapshot."},

      {"force-new-cluster", "Unsafe", kEffective, &Options::force_new_cluster, "false",
       "Make a one-member cluster of this data."},
      {"unsafe-no-fsync", "Unsafe", kEffective, &Options::unsafe_no_fsync, "false",
       "Never sync the log: a power cut loses acknowledged writes."},
      {"config-file", "Configuration", kNotYet, kText, "", "Path to a YAML configuration file."},
  };
  return flags;
}

// Names of old flags that scripts still pass; parsed and forgotten.
constexpr std::string_view kForgotten[] = {"cluster-active-size",
                                           "cluster-remove-delay",
                                           "cluster-sync-interval",
                                           "config",
                                           "force",
                                           "max-result-buffer",
                                           "max-retry-attempts",
                                           "peer-heartbeat-interval",
                                           "peer-election-timeout",
                                           "retry-interval",
                                           "snapshot",
                                           "v",
                                           "vv",
                                           "test.coverprofile",
                                           "test.outputdir"};
constexpr std::string_view kForgottenSwitches[] = {"force", "snapshot", "v", "vv"};

const Flag* FindFlag(std::string_view name) {
  const auto flags = Flags();
  const auto it = std::ranges::find(flags, name, &Flag::name);
  return it == flags.end() ? nullptr : &*it;
}

bool IsBoolean(const Flag& flag) {
  if (const Text* text = std::get_if<Text>(&flag.field)) return text->boolean;
  return std::holds_alternative<bool Options::*>(flag.field);
}

std::string EnvironmentName(std::string_view flag) {
  std::string name = "ETCD_";
  for (const char c : flag)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::optional<bool> ParseBool(std::string_view text) {
  static constexpr std::string_view kTrue[] = {"1", "t", "T", "TRUE", "true", "True"};
  static constexpr std::string_view kFalse[] = {"0", "f", "F", "FALSE", "false", "False"};
  if (std::ranges::find(kTrue, text) != std::end(kTrue)) return true;
  if (std::ranges::find(kFalse, text) != std::end(kFalse)) return false;
  return std::nullopt;
}

// Decimal, or with Go's 0x, 0o, 0b prefixes.
template <class Integer>
std::optional<Integer> ParseInteger(std::string_view text) {
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) {
    negative = text.front() == '-';
    if (negative && std::is_unsigned_v<Integer>) return std::nullopt;
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 2 && text[0] == '0') {
    const char prefix = static_cast<char>(std::tolower(static_cast<unsigned char>(text[1])));
    if (prefix == 'x') base = 16;
    if (prefix == 'o') base = 8;
    if (prefix == 'b') base = 2;
    if (base != 10) text.remove_prefix(2);
  }
  if (text.starts_with('-')) return std::nullopt;  // a second sign
  std::string digits(text);
  if (negative) digits.insert(digits.begin(), '-');
  Integer value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{} || end != digits.data() + digits.size() || text.empty())
    return std::nullopt;
  return value;
}

std::vector<std::string> SplitCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

// Puts the text into the flag's field; the reason if it does not fit.
std::optional<std::string> Assign(const Flag& flag, std::string_view text, Options& options) {
  const auto assign = [&]<class T>(T Options::* field,
                                   std::optional<T> value) -> std::optional<std::string> {
    if (!value.has_value()) return "parse error";
    options.*field = std::move(*value);
    return std::nullopt;
  };
  return std::visit(
      [&](auto field) -> std::optional<std::string> {
        using T = decltype(field);
        if constexpr (std::is_same_v<T, Text>) {
          if (field.boolean && !ParseBool(text)) return "parse error";
          return std::nullopt;
        } else if constexpr (std::is_same_v<T, std::string Options::*>) {
          return assign(field, std::optional(std::string(text)));
        } else if constexpr (std::is_same_v<T, std::uint64_t Options::*>) {
          return assign(field, ParseInteger<std::uint64_t>(text));
        } else if constexpr (std::is_same_v<T, std::int64_t Options::*>) {
          return assign(field, ParseInteger<std::int64_t>(text));
        } else if constexpr (std::is_same_v<T, bool Options::*>) {
          return assign(field, ParseBool(text));
        } else if constexpr (std::is_same_v<T, nanoseconds Options::*>) {
          const auto duration = ParseDuration(text);
          return assign(field, duration ? std::optional(*duration) : std::nullopt);
        } else {
          return assign(field, std::optional(SplitCommas(text)));
        }
      },
      flag.field);
}

// A value equal to the default, whatever its spelling, asks for nothing that is not there.
bool EqualsDefault(const Flag& flag, std::string_view text) {
  if (text == flag.default_text) return true;
  if (IsBoolean(flag)) return ParseBool(text) == ParseBool(flag.default_text);
  const auto as_duration = ParseDuration(text);
  const auto default_duration = ParseDuration(flag.default_text);
  return as_duration && default_duration && *as_duration == *default_duration;
}

std::optional<UsageError> Refuse(const Flag& flag, std::string_view text) {
  if (flag.support != Support::kNotYet || EqualsDefault(flag, text)) return std::nullopt;
  return UsageError{1, "kvorum: --" + std::string(flag.name) +
                           " is not supported by this version; refusing to ignore it"};
}

UsageError BadValue(const Flag& flag, std::string_view text, const std::string& reason) {
  return {2, (IsBoolean(flag) ? "invalid boolean value \"" : "invalid value \"") +
                 std::string(text) + "\" for " + (IsBoolean(flag) ? "-" : "flag -") +
                 std::string(flag.name) + ": " + reason};
}

struct Seen {
  std::map<std::string_view, std::string> values;  // by flag name; the last one wins
};

std::optional<UsageError> ReadArguments(std::span<const char* const> arguments, Seen& seen,
                                        ParseOutcome& outcome) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-' || argument == "--") {
      const bool terminator = argument == "--";
      if (terminator && i + 1 == arguments.size()) return std::nullopt;
      return UsageError{1, "\"" + std::string(terminator ? arguments[i + 1] : argument) +
                               "\" is not a valid flag"};
    }
    std::string_view name = argument.substr(argument[1] == '-' ? 2 : 1);
    std::optional<std::string_view> value;
    if (const std::size_t equals = name.find('='); equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    if (name.empty() || name[0] == '-')
      return UsageError{2, "bad flag syntax: " + std::string(argument)};
    if (name == "h" || name == "help") {
      outcome = ParseOutcome::kHelp;
      return std::nullopt;
    }
    if (name == "version") {
      if (!value || ParseBool(*value) == true) outcome = ParseOutcome::kVersion;
      continue;
    }
    const Flag* flag = FindFlag(name);
    const bool forgotten = std::ranges::find(kForgotten, name) != std::end(kForgotten);
    if (flag == nullptr && !forgotten) {
      return UsageError{2, "flag provided but not defined: -" + std::string(name)};
    }
    const bool boolean = flag != nullptr ? IsBoolean(*flag)
                                         : std::ranges::find(kForgottenSwitches, name) !=
                                               std::end(kForgottenSwitches);
    if (!value && boolean) value = "true";
    if (!value) {
      if (i + 1 == arguments.size())
        return UsageError{2, "flag needs an argument: -" + std::string(name)};
      value = arguments[++i];
    }
    if (flag != nullptr) seen.values[flag->name] = *value;
  }
  return std::nullopt;
}

std::optional<UsageError> ReadEnvironment(std::span<const char* const> environment, Seen& seen,
                                          std::vector<std::string>& warnings) {
  std::map<std::string, const Flag*> by_name;
  for (const Flag& flag : Flags()) by_name[EnvironmentName(flag.name)] = &flag;
  for (const std::string_view entry : environment) {
    if (!entry.starts_with("ETCD_")) continue;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(entry.substr(0, equals));
    const std::string_view value = entry.substr(equals + 1);
    const auto it = by_name.find(name);
    if (it == by_name.end()) {
      if (name != "ETCD_UNSUPPORTED_ARCH")
        warnings.push_back("unrecognized environment variable " + name);
      continue;
    }
    if (value.empty()) continue;
    if (seen.values.contains(it->second->name)) {
      return UsageError{1, "conflicting environment variable \"" + name +
                               "\" is shadowed by corresponding command-line flag \"--" +
                               std::string(it->second->name) +
                               "\" (either unset environment variable or disable flag)"};
    }
    seen.values[it->second->name] = value;
  }
  return std::nullopt;
}

Result<void> CheckTls(const Options& options) {
  KV_TRY(const rpc::TlsVersion min_version, rpc::ParseTlsVersion(options.tls_min_version));
  KV_TRY(const rpc::TlsVersion max_version, rpc::ParseTlsVersion(options.tls_max_version));
  const bool none = options.cipher_suites == std::vector<std::string>{""};
  return rpc::CheckTlsLimits(min_version, max_version,
                             none ? std::vector<std::string>() : options.cipher_suites);
}

std::optional<UsageError> Validate(const Options& options, const Seen& seen) {
  const auto refuse = [](std::string message) { return UsageError{1, std::move(message)}; };
  if (options.name.empty()) return refuse("--name must not be empty");
  for (const auto& [flag, urls] : {std::pair("listen-client-urls", &options.listen_client_urls),
                                   std::pair("listen-peer-urls", &options.listen_peer_urls)}) {
    const auto parsed = ParseUrls(*urls);
    if (!parsed)
      return UsageError{
          2, "invalid value \"" + *urls + "\" for flag -" + flag + ": " + parsed.error().message};
    for (const Url& url : *parsed) {
      if (!url.unix_socket() && !url.IsIpOrLocalhost()) {
        return refuse("expected IP in URL for binding (" + url.text() + ")");
      }
    }
  }
  for (const auto& [flag, urls] :
       {std::pair("advertise-client-urls", &options.advertise_client_urls),
        std::pair("initial-advertise-peer-urls", &options.initial_advertise_peer_urls)}) {
    const auto parsed = ParseUrls(*urls);
    if (!parsed)
      return UsageError{
          2, "invalid value \"" + *urls + "\" for flag -" + flag + ": " + parsed.error().message};
  }
  if (seen.values.contains("listen-client-urls") &&
      !seen.values.contains("advertise-client-urls")) {
    return refuse(
        "--advertise-client-urls is required when --listen-client-urls is set explicitly");
  }
  if (options.heartbeat_ms == 0) return refuse("--heartbeat-interval must be >0 (set to 0ms)");
  if (options.election_ms == 0) return refuse("--election-timeout must be >0 (set to 0ms)");
  if (options.heartbeat_ms > options.election_ms / 5) {
    return refuse("--election-timeout[" + std::to_string(options.election_ms) +
                  "ms] should be at least as 5 times as --heartbeat-interval[" +
                  std::to_string(options.heartbeat_ms) + "ms]");
  }
  if (options.election_ms > 50'000) {
    return refuse("--election-timeout[" + std::to_string(options.election_ms) +
                  "ms] is too long, and should be set less than 50000ms");
  }
  if (options.initial_cluster_state != "new" && options.initial_cluster_state != "existing") {
    return UsageError{2, "invalid value \"" + options.initial_cluster_state +
                             "\" for flag -initial-cluster-state"};
  }
  static constexpr std::string_view kLevels[] = {"debug", "info",   "warn", "error",
                                                 "panic", "dpanic", "fatal"};
  if (std::ranges::find(kLevels, options.log_level) == std::end(kLevels)) {
    return refuse("unrecognized level: \"" + options.log_level + "\"");
  }
  if (options.log_format != "json" && options.log_format != "console") {
    return refuse("unknown log format \"" + options.log_format +
                  "\" (only \"json\", \"console\" are supported)");
  }
  if (options.max_txn_ops == 0) return refuse("--max-txn-ops must be >0");
  if (options.max_request_bytes == 0) return refuse("--max-request-bytes must be >0");
  if (options.snapshot_count == 0) return refuse("--snapshot-count must be >0");
  if (options.compaction_batch_limit < 0) return refuse("--compaction-batch-limit must be >=0");
  for (const auto& [flag, duration] :
       {std::pair("backend-batch-interval", options.backend_batch_interval),
        std::pair("compaction-sleep-interval", options.compaction_sleep_interval),
        std::pair("warning-apply-duration", options.warning_apply_duration),
        std::pair("warning-unary-request-duration", options.warning_unary_request_duration)}) {
    if (duration < nanoseconds(0)) return refuse("--" + std::string(flag) + " must be >=0");
  }
  if (const auto gates = ParseFeatureGates(options.feature_gates); !gates.has_value()) {
    return UsageError{2, "invalid value \"" + options.feature_gates +
                             "\" for flag -feature-gates: " + gates.error()};
  }
  if (const auto tls = CheckTls(options); !tls.has_value()) return refuse(tls.error().message);
  if (options.io_threads > 64) return refuse("--io-threads must be <=64");
  return std::nullopt;
}

}  // namespace

std::uint64_t Options::EffectiveQuotaBytes() const {
  if (quota_backend_bytes < 0) return 0;
  return quota_backend_bytes == 0 ? kDefaultQuotaBytes
                                  : static_cast<std::uint64_t>(quota_backend_bytes);
}

std::int64_t Options::ReportedQuotaBytes() const {
  return quota_backend_bytes < 0 ? quota_backend_bytes
                                 : static_cast<std::int64_t>(EffectiveQuotaBytes());
}

std::chrono::milliseconds Options::RequestTimeout() const {
  return std::chrono::seconds(5) + 2 * std::chrono::milliseconds(election_ms);
}

std::int64_t Options::MinLeaseTtlSeconds() const {
  const std::uint64_t min_ms = 3 * (election_ms / heartbeat_ms) / 2 * heartbeat_ms;
  return static_cast<std::int64_t>((min_ms + 999) / 1000);
}

std::string Options::EffectiveInitialCluster() const {
  if (!initial_cluster.empty()) return initial_cluster;
  std::string members;
  for (const std::string& url : SplitCommas(initial_advertise_peer_urls)) {
    members += (members.empty() ? "" : ",") + name + "=" + url;
  }
  return members;
}

nanoseconds Options::EffectiveWatchProgressInterval() const {
  if (watch_progress_notify_interval.count() <= 0) return std::chrono::minutes(10);
  return std::max<nanoseconds>(watch_progress_notify_interval, std::chrono::milliseconds(100));
}

std::expected<ParsedCommandLine, UsageError> ParseCommandLine(
    std::span<const char* const> arguments, std::span<const char* const> environment) {
  ParsedCommandLine parsed;
  Seen seen;
  if (auto error = ReadArguments(arguments, seen, parsed.outcome)) return std::unexpected(*error);
  if (parsed.outcome != ParseOutcome::kRun) return parsed;
  // A value that the command line itself got wrong is told before the environment is looked at.
  const auto assign_all = [&]() -> std::optional<UsageError> {
    for (const auto& [name, text] : seen.values) {
      const Flag& flag = *FindFlag(name);
      if (const auto reason = Assign(flag, text, parsed.options))
        return BadValue(flag, text, *reason);
      if (auto error = Refuse(flag, text)) return error;
    }
    return std::nullopt;
  };
  if (auto error = assign_all()) return std::unexpected(*error);
  if (auto error = ReadEnvironment(environment, seen, parsed.warnings))
    return std::unexpected(*error);
  if (auto error = assign_all()) return std::unexpected(*error);
  if (auto error = Validate(parsed.options, seen)) return std::unexpected(*error);
  if (parsed.options.data_dir.empty()) parsed.options.data_dir = parsed.options.name + ".etcd";
  if (parsed.options.log_level == "dpanic") parsed.options.log_level = "panic";
  return parsed;
}

std::string HelpText() {
  std::string text =
      "Usage:\n\n  kvorum [flags]\n    Start a kvorum server.\n\n  kvorum --version\n    Show the "
      "version.\n\n"
      "  kvorum -h | --help\n    Show this help.\n\n"
      "Every flag can be set by an environment variable: ETCD_ and its name in capitals, '-' as "
      "'_'.\n";
  std::string_view section;
  for (const Flag& flag : Flags()) {
    if (flag.section != section) {
      section = flag.section;
      text += "\n" + std::string(section) + ":\n";
    }
    text += "  --" + std::string(flag.name) + " '" + std::string(flag.default_text) + "'\n    " +
            std::string(flag.help);
    if (flag.support == Support::kIgnored) text += " (accepted, without effect in this version)";
    if (flag.support == Support::kNotYet)
      text += " (not in this version: other values than the default are refused)";
    text += "\n";
  }
  return text;
}

}  // namespace kvorum::server
