#include "server/options_check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "rpc/tls_context.h"
#include "server/feature_gates.h"
#include "server/url.h"

namespace kvorum::server {
namespace {

using std::chrono::nanoseconds;

Result<void> CheckTls(const Options& options) {
  KV_TRY(const rpc::TlsVersion min_version, rpc::ParseTlsVersion(options.tls_min_version));
  KV_TRY(const rpc::TlsVersion max_version, rpc::ParseTlsVersion(options.tls_max_version));
  const bool none = options.cipher_suites == std::vector<std::string>{""};
  return rpc::CheckTlsLimits(min_version, max_version,
                             none ? std::vector<std::string>() : options.cipher_suites);
}

}  // namespace

std::optional<UsageError> CheckOptions(const Options& options, const GivenFlags& given) {
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
  if (given.contains("listen-client-urls") && !given.contains("advertise-client-urls")) {
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

}  // namespace kvorum::server
