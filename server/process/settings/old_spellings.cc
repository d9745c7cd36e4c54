#include "server/process/settings/old_spellings.h"

#include <fmt/format.h>

#include <algorithm>

namespace kvorum::server {
namespace {

constexpr std::string_view kNoV2 = "there is no v2 API";
constexpr std::string_view kNoProxy = "there is no v2 proxy";

constexpr OldSpelling kOldSpellings[] = {
    {.name = "experimental-backend-bbolt-freelist-type", .flag = "backend-bbolt-freelist-type"},
    {.name = "experimental-bootstrap-defrag-threshold-megabytes",
     .flag = "bootstrap-defrag-threshold-megabytes"},
    {.name = "experimental-compact-hash-check-enabled", .gate = "CompactHashCheck"},
    {.name = "experimental-compact-hash-check-time", .flag = "compact-hash-check-time"},
    {.name = "experimental-compaction-batch-limit", .flag = "compaction-batch-limit"},
    {.name = "experimental-compaction-sleep-interval", .flag = "compaction-sleep-interval"},
    {.name = "experimental-corrupt-check-time", .flag = "corrupt-check-time"},
    {.name = "experimental-distributed-tracing-address", .flag = "distributed-tracing-address"},
    {.name = "experimental-distributed-tracing-instance-id",
     .flag = "distributed-tracing-instance-id"},
    {.name = "experimental-distributed-tracing-sampling-rate",
     .flag = "distributed-tracing-sampling-rate"},
    {.name = "experimental-distributed-tracing-service-name",
     .flag = "distributed-tracing-service-name"},
    {.name = "experimental-downgrade-check-time", .flag = "downgrade-check-time"},
    {.name = "experimental-enable-distributed-tracing", .flag = "enable-distributed-tracing"},
    {.name = "experimental-enable-lease-checkpoint", .gate = "LeaseCheckpoint"},
    {.name = "experimental-enable-lease-checkpoint-persist", .gate = "LeaseCheckpointPersist"},
    {.name = "experimental-enable-v2v3", .reason = kNoV2},
    {.name = "experimental-initial-corrupt-check", .gate = "InitialCorruptCheck"},
    {.name = "experimental-max-learners", .flag = "max-learners"},
    {.name = "experimental-memory-mlock", .flag = "memory-mlock"},
    {.name = "experimental-peer-skip-client-san-verification",
     .flag = "peer-skip-client-san-verification"},
    // The key of the configuration file of 3.5 and 3.6.
    {.name = "experimental-snapshot-catch-up-entries", .flag = "snapshot-catchup-entries"},
    {.name = "experimental-snapshot-catchup-entries", .flag = "snapshot-catchup-entries"},
    {.name = "experimental-stop-grpc-service-on-defrag", .gate = "StopGRPCServiceOnDefrag"},
    {.name = "experimental-txn-mode-write-with-shared-buffer",
     .gate = "TxnModeWriteWithSharedBuffer"},
    {.name = "experimental-warning-apply-duration", .flag = "warning-apply-duration"},
    {.name = "experimental-warning-unary-request-duration",
     .flag = "warning-unary-request-duration"},
    {.name = "experimental-watch-progress-notify-interval",
     .flag = "watch-progress-notify-interval"},
    // Flags of 3.5 that mean nothing without its v2 API; `proxy` itself and `discovery` would.
    {.name = "enable-v2", .reason = kNoV2, .is_switch = true},
    {.name = "proxy-dial-timeout", .reason = kNoProxy},
    {.name = "proxy-failure-wait", .reason = kNoProxy},
    {.name = "proxy-read-timeout", .reason = kNoProxy},
    {.name = "proxy-refresh-interval", .reason = kNoProxy},
    {.name = "proxy-write-timeout", .reason = kNoProxy},
};

}  // namespace

std::span<const OldSpelling> OldSpellings() { return kOldSpellings; }

const OldSpelling* FindOldSpelling(std::string_view name) {
  const auto* const it = std::ranges::find(kOldSpellings, name, &OldSpelling::name);
  return it == std::end(kOldSpellings) ? nullptr : it;
}

std::string WarningOf(const OldSpelling& old, std::string_view value) {
  if (old.flag.empty() && old.gate.empty())
    return fmt::format("--{} has no effect here: {}", old.name, old.reason);
  const std::string modern = old.gate.empty() ? std::string(old.flag)
                                              : fmt::format("feature-gates={}={}", old.gate, value);
  return fmt::format("--{} is a spelling that ended with 3.7: use --{}", old.name, modern);
}

}  // namespace kvorum::server
