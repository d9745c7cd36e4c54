#include "server/process/settings/flag_table.h"

#include <algorithm>
#include <array>

#include "base/net/url.h"
#include "base/text/duration_text.h"
#include "base/text/go_number.h"
#include "base/text/go_quote.h"
#include "base/words.h"
#include "server/process/settings/feature_gates.h"

namespace kvorum::server {
namespace {

template <class T>
ValueProblem ProblemOf(const Result<T>& parsed) {
  if (parsed.has_value()) return std::nullopt;
  return parsed.error().message;
}

constexpr auto kClusterStates = std::to_array<std::string_view>({"new", "existing"});
constexpr auto kDiscoveryFallbacks = std::to_array<std::string_view>({"exit", "proxy"});
constexpr auto kV2Deprecations = std::to_array<std::string_view>(
    {"write-only", "write-only-skip-check", "write-only-drop-data", "gone"});

constexpr Text kText{};
constexpr Text kSwitch{true};

}  // namespace

std::string NumberProblem(const Error& error) {
  return error.code == Code::kOutOfRange ? "value out of range" : "parse error";
}

ValueProblem CheckSigned(std::string_view text) {
  const auto parsed = ParseInt(text, 0);
  if (!parsed) return NumberProblem(parsed.error());
  return std::nullopt;
}

ValueProblem CheckUnsigned(std::string_view text) {
  const auto parsed = ParseUint(text, 0);
  if (!parsed) return NumberProblem(parsed.error());
  return std::nullopt;
}

ValueProblem CheckUnsigned32(std::string_view text) { return ProblemOf(ParseUint(text, 0, 32)); }

ValueProblem CheckDuration(std::string_view text) {
  if (ParseDuration(text).has_value()) return std::nullopt;
  return "parse error";
}

ValueProblem CheckUrls(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return ProblemOf(ParseUrls(text));
}

ValueProblem CheckOrigins(std::string_view text) {
  if (text == "*") return std::nullopt;
  return ProblemOf(ParseUrls(text));
}

ValueProblem CheckFeatureGates(std::string_view text) {
  const auto gates = ParseFeatureGates(text);
  if (gates.has_value()) return std::nullopt;
  return gates.error();
}

ValueProblem CheckClusterState(std::string_view text) {
  if (IsOneOf(text, kClusterStates)) return std::nullopt;
  return "invalid value";
}

ValueProblem CheckDiscoveryFallback(std::string_view text) {
  if (IsOneOf(text, kDiscoveryFallbacks)) return std::nullopt;
  return "invalid value";
}

ValueProblem CheckV2Deprecation(std::string_view text) {
  for (const std::string_view word : Split(text, ','))
    if (!IsOneOf(word, kV2Deprecations)) return "invalid value " + GoQuote(word);
  return std::nullopt;
}

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
       "Fast-forward the ticks of the first election."},
      {"listen-peer-urls", "Member", kEffective, &Options::listen_peer_urls,
       "http://localhost:2380", "URLs to listen on for peer traffic.", CheckUrls},
      {"listen-client-urls", "Member", kEffective, &Options::listen_client_urls,
       "http://localhost:2379", "URLs to listen on for client traffic.", CheckUrls},
      {"listen-client-http-urls", "Member", kEffective, &Options::listen_client_http_urls, "",
       "URLs for HTTP only; then the client URLs serve gRPC only.", CheckUrls},
      {"listen-metrics-urls", "Member", kEffective, &Options::listen_metrics_urls, "",
       "URLs that serve metrics and health only.", CheckUrls},
      {"max-wals", "Member", kEffective, &Options::max_wals, "5",
       "Log files to keep (0 is unlimited)."},
      {"max-snapshots", "Member", kEffective, &Options::max_snapshots, "5",
       "Snapshot files to keep (0 is unlimited)."},
      {"quota-backend-bytes", "Member", kEffective, &Options::quota_backend_bytes, "0",
       "Size at which a NOSPACE alarm is raised (0 is 2 GiB, a negative value disables the "
       "quota)."},
      {"backend-bbolt-freelist-type", "Member", kIgnored, kText, "map",
       "The database is LMDB, which has no bbolt freelist."},
      {"backend-batch-interval", "Member", kEffective, &Options::backend_batch_interval, "0s",
       "Maximum time before a backend commit (0 is 100ms)."},
      {"backend-batch-limit", "Member", kEffective, &Options::backend_batch_limit, "0",
       "Maximum number of operations before a backend commit (0 is 10000)."},
      {"max-txn-ops", "Member", kEffective, &Options::max_txn_ops, "128",
       "Maximum number of operations in a transaction."},
      {"max-request-bytes", "Member", kEffective, &Options::max_request_bytes, "1572864",
       "Maximum size of a client request in bytes."},
      {"max-concurrent-streams", "Member", kEffective, &Options::max_concurrent_streams,
       "4294967295", "Maximum number of concurrent streams of one client connection.",
       CheckUnsigned32},
      {"grpc-keepalive-min-time", "Member", kEffective, &Options::grpc_keepalive_min_time, "5s",
       "Minimum time between a client's pings."},
      {"grpc-keepalive-interval", "Member", kEffective, &Options::grpc_keepalive_interval, "2h0m0s",
       "Idle time after which the server pings a client (0 is never)."},
      {"grpc-keepalive-timeout", "Member", kEffective, &Options::grpc_keepalive_timeout, "20s",
       "Time to wait for a ping's answer before the connection is closed."},
      {"memory-mlock", "Member", kEffective, &Options::memory_mlock, "false",
       "Lock pages in RAM once they are loaded."},
      {"socket-reuse-port", "Member", kEffective, &Options::socket_reuse_port, "false",
       "Set SO_REUSEPORT on listeners."},
      {"socket-reuse-address", "Member", kIgnored, kSwitch, "false",
       "Listeners always set SO_REUSEADDR."},
      {"enable-grpc-gateway", "Member", kEffective, &Options::enable_grpc_gateway, "true",
       "Serve the API as JSON over HTTP under /v3/."},
      {"raft-read-timeout", "Member", kEffective, &Options::raft_read_timeout, "5s",
       "Time without traffic after which a stream between members is closed (at least 5s)."},
      {"raft-write-timeout", "Member", kIgnored, kText, "5s",
       "Streams between members are closed after 5s without a byte.", CheckDuration},
      {"feature-gates", "Member", kEffective, &Options::feature_gates, "",
       "Features to turn on or off, as name=true or name=false, comma-separated.",
       CheckFeatureGates},
      {"io-threads", "Member", kEffective, &Options::io_threads, "0",
       "Threads that serve client connections (0 chooses by the machine)."},
      {"max-answer-memory-bytes", "Member", kEffective, &Options::max_answer_memory_bytes, "0",
       "Memory for answers that clients have not read yet (0 is an eighth of the available memory, "
       "64 MiB to 1 GiB)."},
      {"snapshot-rate-bytes", "Member", kEffective, &Options::snapshot_rate_bytes, "0",
       "Maximum bytes per second of each database transfer to a member or a client (0 is "
       "unlimited)."},
      {"max-watch-lag", "Member", kEffective, &Options::max_watch_lag, "0",
       "Revisions that a watcher may lag, if its client reads, before this member's puts, deletes "
       "and transactions wait for it (0: they never wait)."},
      {"replica-check", "Member", kEffective, &Options::replica_check, "quarantine",
       "Reaction of a member whose keys differ from the majority's: 'quarantine' (it stops serving "
       "keys), 'alarm', 'report' or 'off'."},
      {"older-etcd-members", "Member", kEffective, &Options::older_etcd_members, "refuse",
       "Reaction to etcd members that check transaction permissions differently: 'refuse' (with "
       "auth on the member does not start or join, and it does not enable auth) or 'warn'."},
      {"adopt-etcd-data", "Member", kEffective, &Options::adopt_etcd_data, "false",
       "Convert the data directory of an etcd member at the start, as kvorumutl adopt does."},

      {"initial-advertise-peer-urls", "Clustering", kEffective,
       &Options::initial_advertise_peer_urls, "http://localhost:2380",
       "Peer URLs to advertise to the rest of the cluster.", CheckUrls},
      {"initial-cluster", "Clustering", kEffective, &Options::initial_cluster, "",
       "Initial members, as name=url pairs; this member alone if empty."},
      {"initial-cluster-state", "Clustering", kEffective, &Options::initial_cluster_state, "new",
       "'new' or 'existing'.", CheckClusterState},
      {"initial-cluster-token", "Clustering", kEffective, &Options::initial_cluster_token,
       "etcd-cluster", "Token that keeps clusters apart; part of the ids."},
      {"advertise-client-urls", "Clustering", kEffective, &Options::advertise_client_urls,
       "http://localhost:2379", "Client URLs to advertise to clients and members.", CheckUrls},
      {"discovery-srv", "Clustering", kEffective, &Options::discovery_srv, "",
       "Domain whose SRV records name the members of a new cluster."},
      {"discovery-srv-name", "Clustering", kEffective, &Options::discovery_srv_name, "",
       "Suffix of the service name in the SRV records."},
      {"discovery-token", "Clustering", kEffective, &Options::discovery_token, "",
       "Token of the new cluster in the cluster of --discovery-endpoints."},
      {"discovery-endpoints", "Clustering", kEffective, &Options::discovery_endpoints, "",
       "Endpoints of a running cluster through which the members of a new cluster find each "
       "other."},
      {"discovery-fallback", "Clustering", kIgnored, &Options::discovery_fallback, "exit",
       "The server exits if discovery fails.", CheckDiscoveryFallback},
      {"discovery-dial-timeout", "Clustering", kEffective, &Options::discovery_dial_timeout, "2s",
       "Time limit for connecting to a discovery endpoint."},
      {"discovery-request-timeout", "Clustering", kEffective, &Options::discovery_request_timeout,
       "5s", "Time limit of a discovery request."},
      {"discovery-keepalive-time", "Clustering", kEffective, &Options::discovery_keepalive_time,
       "2s", "Idle time after which a discovery endpoint is pinged (at least 10s)."},
      {"discovery-keepalive-timeout", "Clustering", kEffective,
       &Options::discovery_keepalive_timeout, "6s",
       "Time to wait for a ping's answer before another discovery endpoint is tried."},
      {"discovery-insecure-transport", "Clustering", kEffective,
       &Options::discovery_insecure_transport, "true",
       "Connect without TLS to discovery endpoints that have no scheme."},
      {"discovery-insecure-skip-tls-verify", "Clustering", kEffective,
       &Options::discovery_insecure_skip_tls_verify, "false",
       "Accept any certificate of discovery endpoints."},
      {"discovery-cert", "Clustering", kEffective, &Options::discovery_cert, "",
       "Client certificate for discovery endpoints."},
      {"discovery-key", "Clustering", kEffective, &Options::discovery_key, "",
       "Key of the discovery client certificate."},
      {"discovery-cacert", "Clustering", kEffective, &Options::discovery_cacert, "",
       "CA that verifies discovery endpoints."},
      {"discovery-user", "Clustering", kEffective, &Options::discovery_user, "",
       "User for discovery requests, or user:password."},
      {"discovery-password", "Clustering", kEffective, &Options::discovery_password, "",
       "Password of the discovery user."},
      {"strict-reconfig-check", "Clustering", kEffective, &Options::strict_reconfig_check, "true",
       "Refuse membership changes that would lose quorum."},
      {"pre-vote", "Clustering", kEffective, &Options::pre_vote, "true",
       "Run a pre-vote before each election."},
      {"auto-compaction-retention", "Clustering", kEffective, &Options::auto_compaction_retention,
       "0",
       "History that automatic compaction keeps: a duration (hours without a unit) or a number of "
       "revisions (0 is off)."},
      {"auto-compaction-mode", "Clustering", kEffective, &Options::auto_compaction_mode, "periodic",
       "Unit of auto-compaction-retention: 'periodic' (a duration) or 'revision'."},
      {"auto-compaction-revision-interval", "Clustering", kEffective,
       &Options::auto_compaction_revision_interval, "5m0s",
       "Interval of automatic compactions in mode 'revision'."},
      {"v2-deprecation", "Clustering", kIgnored, kText, "write-only", "kvorum has no v2 store.",
       CheckV2Deprecation},

      {"cert-file", "Security", kEffective, &Options::cert_file, "",
       "Path to the server's certificate."},
      {"key-file", "Security", kEffective, &Options::key_file, "", "Path to the server's key."},
      {"client-cert-file", "Security", kEffective, &Options::client_cert_file, "",
       "Client certificate of the server itself: validated and not used."},
      {"client-key-file", "Security", kEffective, &Options::client_key_file, "",
       "Key of the client certificate."},
      {"client-cert-auth", "Security", kEffective, &Options::client_cert_auth, "false",
       "Require a client certificate, whose CN names the user."},
      {"client-crl-file", "Security", kEffective, &Options::client_crl_file, "",
       "Revocation lists for clients: PEM, or one list in DER."},
      {"client-cert-allowed-cn", "Security", kEffective, &Options::client_cert_allowed_cn, "",
       "Allowed common names of client certificates, comma-separated."},
      {"client-cert-allowed-hostname", "Security", kEffective,
       &Options::client_cert_allowed_hostname, "",
       "Allowed host names of client certificates, comma-separated."},
      {"trusted-ca-file", "Security", kEffective, &Options::trusted_ca_file, "",
       "CA that verifies client certificates; clients then need one."},
      {"auto-tls", "Security", kEffective, &Options::auto_tls, "false",
       "Generate a server certificate for clients."},
      {"peer-cert-file", "Security", kEffective, &Options::peer_cert_file, "",
       "Path to the peer certificate."},
      {"peer-key-file", "Security", kEffective, &Options::peer_key_file, "",
       "Path to the peer key."},
      {"peer-client-cert-file", "Security", kEffective, &Options::peer_client_cert_file, "",
       "Client certificate among peers."},
      {"peer-client-key-file", "Security", kEffective, &Options::peer_client_key_file, "",
       "Client key among peers."},
      {"peer-client-cert-auth", "Security", kEffective, &Options::peer_client_cert_auth, "false",
       "Require a certificate from peers."},
      {"peer-trusted-ca-file", "Security", kEffective, &Options::peer_trusted_ca_file, "",
       "CA that verifies peers."},
      {"peer-auto-tls", "Security", kEffective, &Options::peer_auto_tls, "false",
       "Generate a certificate for peers."},
      {"peer-crl-file", "Security", kEffective, &Options::peer_crl_file, "",
       "Revocation list for peers."},
      {"peer-cert-allowed-cn", "Security", kEffective, &Options::peer_cert_allowed_cn, "",
       "Allowed CNs of peers."},
      {"peer-cert-allowed-hostname", "Security", kEffective, &Options::peer_cert_allowed_hostname,
       "", "Allowed certificate names of peers."},
      {"peer-skip-client-san-verification", "Security", kEffective,
       &Options::peer_skip_client_san_verification, "false", "Skip the SAN check of peers."},
      {"self-signed-cert-validity", "Security", kEffective,
       &Options::self_signed_cert_validity_years, "1",
       "Validity of generated certificates in years."},
      {"cipher-suites", "Security", kEffective, &Options::cipher_suites, "",
       "Cipher suites of TLS 1.2, comma-separated (strong ones if empty)."},
      {"cors", "Security", kEffective, &Options::cors, "*",
       "Allowed CORS origins of the JSON gateway.", CheckOrigins},
      {"host-whitelist", "Security", kEffective, &Options::host_whitelist, "*",
       "Acceptable Host names of HTTP requests."},
      {"tls-min-version", "Security", kEffective, &Options::tls_min_version, "TLS1.2",
       "Lowest TLS version: TLS1.2 or TLS1.3."},
      {"tls-max-version", "Security", kEffective, &Options::tls_max_version, "",
       "Highest TLS version: TLS1.2 or TLS1.3 (empty is the highest supported)."},

      {"auth-token", "Auth", kEffective, &Options::auth_token, "simple",
       "Kind of token: simple, or jwt with its options."},
      {"bcrypt-cost", "Auth", kEffective, &Options::bcrypt_cost, "10", "Cost of password hashing."},
      {"auth-token-ttl", "Auth", kEffective, &Options::auth_token_ttl_s, "300",
       "Seconds that a simple token lives after its last use."},

      {"enable-pprof", "Profiling and monitoring", kEffective, &Options::enable_pprof, "false",
       "Serve profiles under /debug/pprof/ on the client port."},
      {"metrics", "Profiling and monitoring", kEffective, &Options::metrics, "basic",
       "'basic', or 'extensive' to include the latency of every call."},
      {"enable-distributed-tracing", "Profiling and monitoring", kEffective,
       &Options::distributed_tracing, "false",
       "Send the spans of sampled calls to a collector (docs/operations/tracing.md)."},
      {"distributed-tracing-address", "Profiling and monitoring", kEffective,
       &Options::tracing_address, "localhost:4317",
       "The collector's address: OTLP over gRPC, in plain text."},
      {"distributed-tracing-service-name", "Profiling and monitoring", kEffective,
       &Options::tracing_service_name, "etcd", "The spans' service.name, the same on all members."},
      {"distributed-tracing-instance-id", "Profiling and monitoring", kEffective,
       &Options::tracing_instance_id, "",
       "The spans' service.instance.id, different on each member (empty omits it)."},
      {"distributed-tracing-sampling-rate", "Profiling and monitoring", kEffective,
       &Options::tracing_sampling_rate, "0",
       "Traces to record per million that begin here; traces that the caller samples are always "
       "recorded."},

      {"logger", "Logging", kIgnored, &Options::logger, "zap", "kvorum has one logger."},
      {"log-outputs", "Logging", kEffective, &Options::log_outputs, "default",
       "'stdout', 'stderr', 'default', 'systemd/journal' or files, comma-separated."},
      {"log-level", "Logging", kEffective, &Options::log_level, "info",
       "debug, info, warn, error, panic or fatal."},
      {"log-format", "Logging", kEffective, &Options::log_format, "json", "'json' or 'console'."},
      {"enable-log-rotation", "Logging", kEffective, &Options::log_rotation, "false",
       "Rotate the log file when it is full."},
      {"log-rotation-config-json", "Logging", kEffective, &Options::log_rotation_rules,
       "{\"maxsize\": 100, \"maxage\": 0, \"maxbackups\": 0, \"localtime\": false, \"compress\": "
       "false}",
       "Size (MiB) at which a log file is rotated, and age (days) and number of the old files to "
       "keep."},
      {"warning-unary-request-duration", "Logging", kEffective,
       &Options::warning_unary_request_duration, "300ms",
       "Duration beyond which a request is logged as slow."},

      {"corrupt-check-time", "Features", kEffective, &Options::corrupt_check_time, "0s",
       "Interval of the leader's corruption checks (0 is never)."},
      {"compact-hash-check-time", "Features", kEffective, &Options::compact_hash_check_time, "1m0s",
       "Interval of compaction hash checks (feature gate CompactHashCheck)."},
      {"compaction-batch-limit", "Features", kEffective, &Options::compaction_batch_limit, "0",
       "Maximum number of revisions deleted in one compaction batch (0: 1000, up to 10000 in large "
       "compactions)."},
      {"compaction-sleep-interval", "Features", kEffective, &Options::compaction_sleep_interval,
       "0s", "Pause between compaction batches (0 is 10ms)."},
      {"watch-progress-notify-interval", "Features", kEffective,
       &Options::watch_progress_notify_interval, "0s", "Interval of watch progress (0 is 10m)."},
      {"downgrade-check-time", "Features", kIgnored, kText, "5s",
       "A leader of this version does not end a downgrade; downgrade cancel does.", CheckDuration},
      {"warning-apply-duration", "Features", kEffective, &Options::warning_apply_duration, "100ms",
       "Duration beyond which an apply is logged as slow."},
      {"bootstrap-defrag-threshold-megabytes", "Features", kEffective,
       &Options::bootstrap_defrag_threshold_megabytes, "0",
       "Free pages in MiB from which the database is defragmented at the start (0 is never).",
       CheckUnsigned},
      {"auto-defrag-threshold-percent", "Features", kEffective,
       &Options::auto_defrag_threshold_percent, "0",
       "Percentage of free pages from which the database is defragmented, one member at a time (0 "
       "is never)."},
      {"max-learners", "Features", kEffective, &Options::max_learners, "1",
       "Maximum number of learners in the cluster."},
      {"snapshot-catchup-entries", "Features", kEffective, &Options::snapshot_catchup_entries,
       "5000", "Log entries kept for slow followers after a snapshot."},

      {"archive-url", "Archive", kEffective, &Options::archive_url, "",
       "Folder (file:///path) or bucket (s3://bucket/prefix) that every change is archived to, the "
       "same for all members; empty: no archive."},
      {"archive-interval", "Archive", kEffective, &Options::archive_interval, "1s",
       "Time within which a change is archived (at least 100ms)."},
      {"archive-base-interval", "Archive", kEffective, &Options::archive_base_interval, "1h0m0s",
       "Interval of the archive's bases, snapshots that restores begin at (at least 1s)."},
      {"archive-keep-for", "Archive", kEffective, &Options::archive_keep_for, "0s",
       "Age up to which every state can be restored, beyond which the archive's objects are "
       "deleted (0 keeps all)."},
      {"archive-keep-bases", "Archive", kEffective, &Options::archive_keep_bases, "0",
       "Number of the archive's newest bases to keep, with the changes behind them (0 keeps all)."},
      {"archive-endpoint", "Archive", kEffective, &Options::archive_endpoint, "",
       "Endpoint of the archive's bucket, as https://host:port (empty is AWS)."},
      {"archive-region", "Archive", kEffective, &Options::archive_region, "",
       "Region of the archive's bucket (empty: AWS_REGION, AWS_DEFAULT_REGION or us-east-1)."},
      {"archive-path-style", "Archive", kEffective, &Options::archive_path_style, "auto",
       "Place of the bucket's name in requests: 'path', 'virtual' (in the host name) or 'auto'."},
      {"archive-credentials-file", "Archive", kEffective, &Options::archive_credentials_file, "",
       "File with the access key of the archive's bucket, in the form of AWS's tools (empty: the "
       "environment or ~/.aws/credentials); read again when it changes."},
      {"archive-ca-file", "Archive", kEffective, &Options::archive_ca_file, "",
       "CA that verifies the archive's endpoint (empty: the system's)."},
      {"archive-max-log-bytes", "Archive", kEffective, &Options::archive_max_log_bytes,
       "4294967296",
       "Bytes of the log that stay for an archive that is behind; beyond them it gets a gap (at "
       "least 67108864)."},
      {"archive-new-history", "Archive", kEffective, &Options::archive_new_history, "false",
       "Begin a new history in an archive that this member's data does not continue, instead of "
       "leaving it alone."},

      {"force-new-cluster", "Unsafe", kEffective, &Options::force_new_cluster, "false",
       "Turn this member's data into a new one-member cluster."},
      {"unsafe-no-fsync", "Unsafe", kEffective, &Options::unsafe_no_fsync, "false",
       "Never sync the log: a power cut loses acknowledged writes."},
      {"config-file", "Configuration", kEffective, kText, "",
       "Path to a YAML configuration file; other flags and the environment are then ignored."},
  };
  return flags;
}

const Flag* FindFlag(std::string_view name) {
  const auto flags = Flags();
  const auto it = std::ranges::find(flags, name, &Flag::name);
  return it == flags.end() ? nullptr : &*it;
}

bool IsBoolean(const Flag& flag) {
  if (const Text* text = std::get_if<Text>(&flag.field)) return text->boolean;
  return std::holds_alternative<bool Options::*>(flag.field);
}

}  // namespace kvorum::server
