// The operator's settings: flags, environment variables, their defaults and refusals.
//
// One table (flag_table.cc) lists every flag of the API level that we match; parsing, the
// environment, --help and the documentation derive from it. A flag is either effective or accepted
// without effect (its subject does not exist here).
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/process/settings/settings.h"

namespace kvorum::server {

struct Options {
  std::string name = "default";
  std::string data_dir;                   // empty: <name>.etcd
  std::string wal_dir;                    // empty: <data_dir>/member/wal
  std::uint64_t snapshot_count = 10'000;  // 0: this default
  std::uint64_t snapshot_catchup_entries = 5'000;
  std::uint64_t heartbeat_ms = 100;
  std::uint64_t election_ms = 1'000;
  std::string listen_peer_urls = "http://localhost:2380";
  std::string listen_client_urls = "http://localhost:2379";
  std::string listen_client_http_urls;  // not empty: listen_client_urls serve gRPC only
  std::string listen_metrics_urls;
  bool socket_reuse_port = false;
  std::uint64_t max_wals = 5;
  std::uint64_t max_snapshots = 5;
  std::int64_t quota_backend_bytes = 0;  // 0: the default of 2 GiB; negative: no quota
  std::uint64_t max_txn_ops = 128;
  std::uint64_t max_request_bytes = 1'572'864;
  std::uint64_t max_concurrent_streams = 4'294'967'295;
  std::chrono::nanoseconds grpc_keepalive_min_time = std::chrono::seconds(5);
  std::chrono::nanoseconds grpc_keepalive_interval = std::chrono::hours(2);
  std::chrono::nanoseconds grpc_keepalive_timeout = std::chrono::seconds(20);
  std::string feature_gates;
  std::int64_t backend_batch_limit = 0;                // 0 and below: 10,000 operations
  std::chrono::nanoseconds backend_batch_interval{0};  // 0 and below: 100 ms

  std::string initial_advertise_peer_urls = "http://localhost:2380";
  std::string initial_cluster;  // empty: <name>=<initial_advertise_peer_urls>
  std::string initial_cluster_state = "new";
  std::string initial_cluster_token = "etcd-cluster";
  std::string discovery_srv;
  std::string discovery_srv_name;
  // A running cluster that members of a new one meet in; empty: none.
  std::vector<std::string> discovery_endpoints;
  std::string discovery_token;
  std::chrono::nanoseconds discovery_dial_timeout = std::chrono::seconds(2);
  std::chrono::nanoseconds discovery_request_timeout = std::chrono::seconds(5);
  std::chrono::nanoseconds discovery_keepalive_time = std::chrono::seconds(2);
  std::chrono::nanoseconds discovery_keepalive_timeout = std::chrono::seconds(6);
  bool discovery_insecure_transport = true;
  bool discovery_insecure_skip_tls_verify = false;
  std::string discovery_cert;
  std::string discovery_key;
  std::string discovery_cacert;
  std::string discovery_user;  // or user:password
  std::string discovery_password;
  std::string advertise_client_urls = "http://localhost:2379";
  bool strict_reconfig_check = true;
  bool initial_election_tick_advance = true;
  std::int64_t max_learners = 1;
  bool pre_vote = true;

  std::string cert_file;
  std::string key_file;
  std::string client_cert_file;
  std::string client_key_file;
  bool enable_grpc_gateway = true;
  bool client_cert_auth = false;
  std::string trusted_ca_file;
  std::string client_crl_file;
  std::vector<std::string> client_cert_allowed_cn;
  std::vector<std::string> client_cert_allowed_hostname;
  std::vector<std::string> cipher_suites;
  std::string tls_min_version = "TLS1.2";
  std::string tls_max_version;  // empty: the highest available

  std::string peer_cert_file;
  std::string peer_key_file;
  std::string peer_client_cert_file;  // empty: peer_cert_file
  std::string peer_client_key_file;
  bool peer_client_cert_auth = false;
  std::string peer_trusted_ca_file;
  std::string peer_crl_file;
  std::vector<std::string> peer_cert_allowed_cn;
  std::vector<std::string> peer_cert_allowed_hostname;
  bool peer_skip_client_san_verification = false;
  std::string peer_near_address;  // no flag: NearAddress
  std::string peer_server_name;   // no flag: SRV discovery sets it; empty: the dialled host's name
  bool auto_tls = false;
  bool peer_auto_tls = false;
  std::uint64_t self_signed_cert_validity_years = 1;

  std::string cors = "*";  // URLs of origins, or "*"
  std::vector<std::string> host_whitelist = {"*"};

  std::string auth_token = "simple";     // auth::ParseTokenOptions
  std::uint64_t bcrypt_cost = 10;        // auth::EffectiveBcryptCost
  std::uint64_t auth_token_ttl_s = 300;  // of simple tokens, after their last use; 0: 300

  std::vector<std::string> log_outputs = {"default"};
  bool log_rotation = false;
  std::string log_rotation_rules =
      R"({"maxsize": 100, "maxage": 0, "maxbackups": 0, "localtime": false, "compress": false})";
  std::string log_level = "info";
  std::string log_format = "json";
  std::chrono::nanoseconds warning_unary_request_duration = std::chrono::milliseconds(300);
  std::chrono::nanoseconds warning_apply_duration = std::chrono::milliseconds(100);

  std::int64_t compaction_batch_limit = 0;                // 0 and below: 1,000, or more
  std::chrono::nanoseconds compaction_sleep_interval{0};  // 0 and below: 10 ms
  std::string auto_compaction_mode = "periodic";
  std::string auto_compaction_retention = "0";  // ParseCompactionRetention
  // Ours: the time between two compactions of mode "revision".
  std::chrono::nanoseconds auto_compaction_revision_interval = std::chrono::minutes(5);
  std::uint64_t bootstrap_defrag_threshold_megabytes = 0;      // 0: never
  std::uint64_t auto_defrag_threshold_percent = 0;             // ours; 0: never
  std::chrono::nanoseconds watch_progress_notify_interval{0};  // 0 and below: 10 minutes
  std::chrono::nanoseconds corrupt_check_time{0};              // 0 and below: never
  std::chrono::nanoseconds compact_hash_check_time = std::chrono::minutes(1);
  bool force_new_cluster = false;
  bool adopt_etcd_data = false;  // ours (decisions/0036)
  bool enable_pprof = false;
  std::string metrics = "basic";

  bool memory_mlock = false;
  std::chrono::nanoseconds raft_read_timeout = std::chrono::seconds(5);

  bool distributed_tracing = false;
  std::string tracing_address = "localhost:4317";
  std::string tracing_service_name = "etcd";
  std::string tracing_instance_id;
  std::int64_t tracing_sampling_rate = 0;  // per million

  // Checked, and without effect.
  std::string logger = "zap";
  std::string discovery_fallback = "exit";

  bool unsafe_no_fsync = false;

  std::uint64_t io_threads = 0;  // ours: 0 chooses by the machine (docs/decisions/0003)

  std::string replica_check = "quarantine";   // ours: ParseReplicaCheckAction
  std::string older_etcd_members = "refuse";  // ours: ParseOlderMembersAction

  std::uint64_t max_answer_memory_bytes = 0;  // ours: 0 is a share of the memory (decisions/0016)
  std::uint64_t snapshot_rate_bytes = 0;      // ours: 0: unlimited (decisions/0037)
  std::uint64_t max_watch_lag = 0;            // ours: revisions; 0: unbounded (decisions/0044)

  // Ours (decisions/0071).
  std::string archive_url;  // empty: no archive
  std::chrono::nanoseconds archive_interval = std::chrono::seconds(1);
  std::chrono::nanoseconds archive_base_interval = std::chrono::hours(1);
  std::chrono::nanoseconds archive_keep_for{0};  // 0: for ever
  std::uint64_t archive_keep_bases = 0;          // 0: all
  std::string archive_endpoint;
  std::string archive_region;
  std::string archive_path_style = "auto";  // archive::ParseBucketStyle
  std::string archive_credentials_file;
  std::string archive_ca_file;
  std::uint64_t archive_max_log_bytes = std::uint64_t{4} << 30;
  bool archive_new_history = false;

  // The quota in force: bytes, or 0 when there is none.
  std::uint64_t EffectiveQuotaBytes() const;
  // The value that Status reports: negative when there is none.
  std::int64_t ReportedQuotaBytes() const;
  // The time-out of a proposal when the client set no deadline: 5 s and two election time-outs.
  std::chrono::milliseconds RequestTimeout() const;
  // The shortest time to live of a lease: one and a half election time-outs, in whole seconds.
  std::int64_t MinLeaseTtlSeconds() const;
  std::string EffectiveInitialCluster() const;
  // At least 100 ms.
  std::chrono::nanoseconds EffectiveWatchProgressInterval() const;
};

enum class ParseOutcome : std::uint8_t { kRun, kVersion, kHelp, kCheck, kSample };

struct ParsedCommandLine {
  ParseOutcome outcome = ParseOutcome::kRun;
  Options options;
  GivenFlags given;
  std::string config_file;            // where the settings came from; empty: not from a file
  std::vector<std::string> warnings;  // to be logged once logging is set up
};

// The text for stderr and the exit code: 2 for a command line that cannot be read, 1 for refused
// values.
struct UsageError {
  int exit_code = 2;
  std::string message;
};

struct Reading {
  ParsedCommandLine parsed;
  std::vector<UsageError> faults;  // a start reports the first
};

// argv without the program's name; environment entries as NAME=value. Reads nothing but the
// configuration file, where one is named.
Reading ReadSettings(std::span<const char* const> arguments,
                     std::span<const char* const> environment);

// The text of --help, made from the table.
std::string HelpText();

}  // namespace kvorum::server
