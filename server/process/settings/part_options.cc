#include "server/process/settings/part_options.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/answer_memory.h"
#include "base/log/logging.h"
#include "base/net/url.h"
#include "base/rng.h"
#include "server/gateway/gateway.h"
#include "server/process/machine/machine_memory.h"
#include "server/process/settings/compaction_retention.h"
#include "server/process/settings/feature_gates.h"
#include "server/replica/drive/replica.h"

namespace kvorum::server {
namespace {

// The overhead of a request's message over the largest entry before the transport refuses it.
constexpr std::uint64_t kMessageOverheadBytes = 512 * 1024;
constexpr std::string_view kPprofPath = "/debug/pprof/";
constexpr std::uint64_t kMostMegabytes = UINT64_MAX >> 20;
// Descriptors that are kept for files and peers.
constexpr std::uint64_t kReservedDescriptors = 150;

std::uint32_t ChooseIoThreads(std::uint64_t configured) {
  if (configured != 0) return static_cast<std::uint32_t>(configured);
  return std::clamp(std::thread::hardware_concurrency(), 1U, 16U);
}

// An IP address, neither of the loopback nor of all interfaces.
bool IsAddressOfAnInterface(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1)
    return v4.s_addr != INADDR_ANY && (ntohl(v4.s_addr) >> 24) != IN_LOOPBACKNET;
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] != IN_LOOPBACKNET;
  return !IN6_IS_ADDR_UNSPECIFIED(&v6) && !IN6_IS_ADDR_LOOPBACK(&v6);
}

std::chrono::milliseconds InMillis(std::chrono::nanoseconds duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

}  // namespace

std::size_t AnswerMemoryBytes(const Options& options) {
  if (options.max_answer_memory_bytes != 0) return options.max_answer_memory_bytes;
  return DefaultAnswerMemoryBytes(MemoryLimitBytes());
}

std::uint32_t MaxMessageBytes(const Options& options) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(options.max_request_bytes + kMessageOverheadBytes, INT32_MAX));
}

rpc::PortUse PortUseOf(const Options& options) {
  return options.socket_reuse_port ? rpc::PortUse::kShared : rpc::PortUse::kAlone;
}

rpc::Options ClientServerOptions(const Options& options, AnswerMemory& answers) {
  rpc::Options made;
  made.answers = &answers;
  made.loops = ChooseIoThreads(options.io_threads);
  made.max_receive_message_bytes = MaxMessageBytes(options);
  // A message in JSON is base64 for the most part.
  made.http_max_body_bytes = std::max<std::uint64_t>(made.http_max_body_bytes,
                                                     std::uint64_t{2} * MaxMessageBytes(options));
  if (options.enable_grpc_gateway) made.reads_open_body = gateway::Gateway::ReadsOpenBody;
  made.reads_body = [has_gateway = options.enable_grpc_gateway](std::string_view method,
                                                                std::string_view path) {
    if (has_gateway && gateway::Gateway::ReadsBody(method, path)) return true;
    return path.starts_with(kPprofPath);
  };
  made.max_concurrent_streams = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(options.max_concurrent_streams, UINT32_MAX));
  made.min_client_ping_interval = InMillis(options.grpc_keepalive_min_time);
  made.ping_interval = InMillis(options.grpc_keepalive_interval);
  made.ping_timeout = InMillis(options.grpc_keepalive_timeout);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > 2 * kReservedDescriptors) {
    made.max_connections = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(files.rlim_cur - kReservedDescriptors, UINT32_MAX));
  }
  return made;
}

LocalMemberOptions MakeLocalMemberOptions(const Options& options,
                                          const datadir::DataDirectory& directory) {
  LocalMemberOptions member;
  member.name = options.name;
  member.initial_cluster = options.EffectiveInitialCluster();
  member.initial_cluster_token = options.initial_cluster_token;
  member.join_existing = options.initial_cluster_state == "existing";
  member.bootstrap_timeout = kPeerDialTimeout + std::chrono::milliseconds(options.election_ms);
  member.force_new_cluster = options.force_new_cluster;
  if (const auto urls = ParseUrls(options.initial_advertise_peer_urls); urls.has_value()) {
    for (const Url& url : *urls) member.advertise_peer_urls.push_back(url.text());
  }
  member.slow_apply = options.warning_apply_duration;
  member.wal_dir = directory.wal;
  member.snap_dir = directory.snap;
  member.snapshot_bytes_per_second = options.snapshot_rate_bytes;
  member.quota_bytes = options.EffectiveQuotaBytes();
  member.start_defragment_bytes =
      std::min(options.bootstrap_defrag_threshold_megabytes, kMostMegabytes) << 20;
  member.seed = EntropySeed();
  member.raft.heartbeat_ticks = 1;
  member.raft.election_ticks = static_cast<int>(options.election_ms / options.heartbeat_ms);
  member.raft.pre_vote = options.pre_vote;
  member.raft.catch_up_entries = options.snapshot_catchup_entries;
  member.replica.tick = std::chrono::milliseconds(options.heartbeat_ms);
  member.replica.election_timeout = std::chrono::milliseconds(options.election_ms);
  member.replica.hurry_first_election = options.initial_election_tick_advance;
  member.replica.snapshot_count = options.snapshot_count;
  member.replica.request_timeout = options.RequestTimeout();
  member.replica.max_watch_lag = options.max_watch_lag;
  if (const auto policy =
          ParseCompactionRetention(options.auto_compaction_mode, options.auto_compaction_retention);
      policy.has_value()) {
    member.housekeeping.compaction = *policy;
    member.housekeeping.compaction.revision_interval = options.auto_compaction_revision_interval;
  }
  member.lease.min_ttl_s = options.MinLeaseTtlSeconds();
  if (const auto gates = ParseFeatureGates(options.feature_gates); gates.has_value())
    member.lease.checkpoints = gates->lease_checkpoint;
  member.lease.retry = options.RequestTimeout();
  member.log.max_wals = options.max_wals;
  member.log.max_snapshots = options.max_snapshots;
  member.log.unsafe_no_fsync = options.unsafe_no_fsync;
  if (options.backend_batch_interval.count() > 0)
    member.store.commit.batch_interval = options.backend_batch_interval;
  if (options.backend_batch_limit > 0)
    member.store.commit.batch_operations = static_cast<std::size_t>(options.backend_batch_limit);
  if (options.compaction_batch_limit > 0) {
    member.store.compaction.batch_limit = static_cast<std::size_t>(options.compaction_batch_limit);
  }
  if (options.compaction_sleep_interval.count() > 0)
    member.store.compaction.pause = options.compaction_sleep_interval;
  return member;
}

std::string NearAddress(const Options& options) {
  const auto gates = ParseFeatureGates(options.feature_gates);
  if (!gates.has_value() || !gates->set_member_local_addr) return {};
  KV_INFO("searching for a suitable member local address in AdvertisePeerURLs",
          {"advertise-peer-urls", options.initial_advertise_peer_urls});
  if (const auto urls = ParseUrls(options.initial_advertise_peer_urls); urls.has_value()) {
    for (const Url& url : *urls) {
      if (url.unix_socket() || !IsAddressOfAnInterface(url.host())) continue;
      KV_INFO("setting member local address", {"LocalAddr", url.host()});
      return url.host();
    }
  }
  KV_WARN("unable to set a member local address due to lack of suitable local addresses",
          {"advertise-peer-urls", options.initial_advertise_peer_urls});
  return {};
}

PeerTransport::Options MakeTransportOptions(const Options& options,
                                            const std::optional<PeerTls>& tls) {
  PeerTransport::Options transport;
  transport.tls = tls;
  transport.near_address = options.peer_near_address;
  transport.server.port_use = PortUseOf(options);
  // A dead peer's address is given up by the time an election may be over.
  transport.peers.dial_timeout = kPeerDialTimeout + std::chrono::milliseconds(options.election_ms);
  transport.peers.read_timeout =
      std::max<Duration>(transport.peers.read_timeout, options.raft_read_timeout);
  transport.peers.snapshot_bytes_per_second = options.snapshot_rate_bytes;
  transport.peers.max_frame_bytes =
      std::max<std::size_t>(transport.peers.max_frame_bytes, 4 * options.max_request_bytes);
  // The peer port has its own budget, as large as the client port's: a stranger at one port
  // takes nothing from the other. One frame must fit.
  transport.server.max_gathered_bytes = std::max<std::size_t>(
      transport.peers.max_frame_bytes,
      std::min<std::size_t>(transport.server.max_gathered_bytes, AnswerMemoryBytes(options)));
  return transport;
}

AutoDefragment::Options AutoDefragmentOptions(const Options& options) {
  return {.threshold_percent = options.auto_defrag_threshold_percent};
}

watch::HubOptions MakeHubOptions(const Options& options) {
  watch::HubOptions hub;
  hub.progress_interval = options.EffectiveWatchProgressInterval();
  if (options.watch_progress_notify_interval.count() > 0 &&
      hub.progress_interval != options.watch_progress_notify_interval) {
    KV_WARN("adjusting watch progress notify interval to minimum period",
            {"min-watch-progress-notify-interval", "100ms"});
  }
  hub.seed = EntropySeed();
  hub.bodies.fragment_bytes = options.max_request_bytes + kMessageOverheadBytes;
  return hub;
}

HttpAccess MakeHttpAccess(const Options& options) {
  std::vector<std::string> origins = {options.cors};
  if (const auto urls = ParseUrls(options.cors); urls.has_value()) {
    origins.clear();
    for (const Url& url : *urls) origins.push_back(url.text());
  }
  return {options.host_whitelist, origins};
}

ServiceLimits LimitsOf(const Options& options) {
  const auto gates = ParseFeatureGates(options.feature_gates);
  return {.max_request_bytes = options.max_request_bytes,
          .max_txn_ops = options.max_txn_ops,
          .quota_bytes = options.ReportedQuotaBytes(),
          .request_timeout = options.RequestTimeout(),
          .election_timeout = std::chrono::milliseconds(options.election_ms),
          .strict_reconfig_check = options.strict_reconfig_check,
          .revokes_have_priority = gates.has_value() && gates->priority_request,
          .max_learners = static_cast<std::size_t>(options.max_learners),
          .snapshot_bytes_per_second = options.snapshot_rate_bytes};
}

IntegrityOptions MakeIntegrityOptions(const Options& options) {
  IntegrityOptions integrity;
  integrity.hash_checks.periodic = options.corrupt_check_time;
  integrity.replica_check =
      ParseReplicaCheckAction(options.replica_check).value_or(ReplicaCheckAction::kQuarantine);
  integrity.etcd_hashes_interval = options.compact_hash_check_time;
  integrity.older_members =
      ParseOlderMembersAction(options.older_etcd_members).value_or(OlderMembersAction::kRefuse);
  if (const auto gates = ParseFeatureGates(options.feature_gates); gates.has_value()) {
    integrity.checks_at_start = gates->initial_corrupt_check;
    if (gates->compact_hash_check)
      integrity.hash_checks.of_compactions = options.compact_hash_check_time;
  }
  return integrity;
}

tracing::TracingOptions TracingOptionsOf(const Options& options) {
  const tracing::Environment environment = [](const char* name) -> std::string_view {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : value;
  };
  return {.address = options.tracing_address,
          .resource = {.service_name = options.tracing_service_name,
                       .instance_id = options.tracing_instance_id,
                       .attributes = tracing::ReadResourceAttributes(environment)},
          .tracer = {.samples_per_million = options.tracing_sampling_rate,
                     .max_txn_ops = options.max_txn_ops},
          .settings = tracing::ReadExportSettings(environment)};
}

archive::StoreSettings ArchiveStoreOf(const Options& options) {
  return {.url = options.archive_url,
          .endpoint = options.archive_endpoint,
          .region = options.archive_region,
          .style = archive::ParseBucketStyle(options.archive_path_style)
                       .value_or(archive::BucketStyle::kAuto),
          .credentials = {.file = options.archive_credentials_file},
          .ca_file = options.archive_ca_file};
}

archive::ArchiverOptions ArchiverOptionsOf(const Options& options) {
  return {.interval = options.archive_interval,
          .base_interval = options.archive_base_interval,
          .keep_for = options.archive_keep_for,
          .keep_bases = options.archive_keep_bases,
          .new_history = options.archive_new_history};
}

}  // namespace kvorum::server
