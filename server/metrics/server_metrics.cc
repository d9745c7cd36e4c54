#include <algorithm>

#include "api/alarm.h"
#include "api/member_id.h"
#include "api/version.h"
#include "server/apply/apply_times.h"
#include "server/apply/wait_table.h"
#include "server/call/reads.h"
#include "server/metrics/sources.h"
#include "server/replica/drive/replica.h"
#include "server/replica/member/local_member.h"
#include "server/services/maintenance/health.h"
#include "server/state/alarms.h"
#include "server/state/auth_states.h"
#include "server/state/leases.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

using enum MetricType;

void AddRaftRows(MetricsRegistry& registry, const MetricSources& of) {
  const auto raft = [&of]() -> const RaftStatus& { return of.reads->cluster.replica.status(); };
  registry.Gauge("etcd_server_has_leader", "1 if this member knows a leader, else 0.",
                 [raft] { return raft().leader() != raft::kNone; });
  registry.Gauge("etcd_server_is_leader", "1 if this member leads, else 0.", [&of] {
    return of.reads->cluster.replica.leader() == of.reads->cluster.member_id;
  });
  registry.Gauge("etcd_server_is_learner", "1 if this member has no vote, else 0.",
                 [&of] { return of.reads->cluster.membership.is_learner(); });
  registry.Counter("etcd_server_leader_changes_seen_total", "Leaders that this member has seen.",
                   [raft] { return raft().counters().leader_changes.value(); });
  registry.Gauge("etcd_server_proposals_committed_total", "The commit index.",
                 [raft] { return raft().commit_index().value(); });
  registry.Gauge("etcd_server_proposals_applied_total", "The applied index.",
                 [raft] { return raft().applied_index().value(); });
  registry.Gauge("etcd_server_proposals_pending", "Proposals of this member without an answer yet.",
                 [&of] { return of.reads->cluster.replica.waiting_proposals().pending(); });
  registry.Counter("etcd_server_proposals_failed_total", "Proposals of this member that failed.",
                   [&of] { return of.reads->cluster.replica.waiting_proposals().failed(); });
  registry.Counter("etcd_server_heartbeat_send_failures_total",
                   "Heartbeats that this leader sent an interval late or more.",
                   [raft] { return raft().counters().late_ticks.value(); });
  registry.Counter("etcd_server_slow_apply_total",
                   "Batches of entries that took longer than --warning-apply-duration to apply.",
                   [raft] { return raft().counters().slow_applies.value(); });
  registry.Counter("etcd_server_slow_read_indexes_total",
                   "Confirmation rounds of linearizable reads that were repeated.",
                   [&of] { return of.reads->cluster.replica.read_counts().repeated.value(); });
  registry.Counter("etcd_server_read_indexes_failed_total",
                   "Linearizable reads that were not confirmed in time.",
                   [&of] { return of.reads->cluster.replica.read_counts().expired.value(); });
  registry.Gauge("etcd_server_snapshot_apply_in_progress_total",
                 "1 while a leader's snapshot is installed, else 0.", [raft] {
                   const RaftCounters& counters = raft().counters();
                   return counters.installations.value() - counters.installed.value();
                 });
  registry.Counter("etcd_server_learner_promote_successes",
                   "Learners that this leader found ready for a vote.",
                   [raft] { return raft().counters().promotions.value(); });
  registry.Family("etcd_server_learner_promote_failures", kCounter, {"Reason"},
                  "Learners that this leader did not promote.", [raft](Samples& out) {
                    const auto refused = raft().counters().refused_promotions.value();
                    if (refused > 0) out.Add({"LEARNER_NOT_READY"}, static_cast<double>(refused));
                  });
}

void AddIdentityRows(MetricsRegistry& registry, const MetricSources& of) {
  registry.Family("etcd_server_id", kGauge, {"server_id"}, "The member's id, with the value 1.",
                  [&of](Samples& out) { out.Add({IdText(of.reads->cluster.member_id)}, 1); });
  registry.Family("etcd_server_version", kGauge, {"server_version"},
                  "The version of the API, with the value 1.",
                  [](Samples& out) { out.Add({std::string(kApiVersion)}, 1); });
  registry.Family("etcd_server_go_version", kGauge, {"server_go_version"},
                  "The compiler, with the value 1: there is no Go here.",
                  [](Samples& out) { out.Add({"gcc" __VERSION__}, 1); });
  registry.Family(
      "etcd_cluster_version", kGauge, {"cluster_version"},
      "The cluster's version, once it is decided, with the value 1.", [&of](Samples& out) {
        const std::string version = of.reads->cluster.membership.View()->cluster_version;
        if (!version.empty()) out.Add({version.substr(0, version.rfind('.'))}, 1);
      });
  registry.Family("etcd_server_feature_enabled", kGauge, {"name", "stage"},
                  "1 for each feature gate that is on, else 0.", [&of](Samples& out) {
                    for (const auto& [name, stage, is_on] : of.features)
                      out.Add({std::string(name), std::string(stage)}, is_on);
                  });
  registry.Gauge("etcd_server_quota_backend_bytes", "The size at which writes are refused.",
                 [&of] { return of.reads->limits.quota_bytes; });
  registry.Gauge("etcd_debugging_auth_revision", "The revision of users and roles.",
                 [&of] { return of.member->auth_states().Newest()->revision(); });
}

void AddApplyRows(MetricsRegistry& registry, const MetricSources& of) {
  registry.Family("etcd_server_apply_duration_seconds", kHistogram, {"op", "success", "version"},
                  "Time of applying an entry: an equal share of its batch's.", [&of](Samples& out) {
                    of.member->apply_times().ForEach(
                        [&](std::string_view op, bool succeeded, const Histogram& times) {
                          out.Add({std::string(op), succeeded ? "true" : "false", "v3"},
                                  times.values());
                        });
                  });
}

void AddHealthRows(MetricsRegistry& registry, const MetricSources& of) {
  registry.Counter("etcd_server_health_success", "Requests for /health answered with true.",
                   [&of] { return of.health->successes(); });
  registry.Counter("etcd_server_health_failures", "Requests for /health answered with false.",
                   [&of] { return of.health->failures(); });
  registry.Family("etcd_server_healthcheck", kGauge, {"name", "type"},
                  "1 if a probe's check passed the last time, else 0.", [&of](Samples& out) {
                    for (const Health::Check& check : of.health->checks()) {
                      if (!check.is_known) continue;
                      out.Add({std::string(check.name), std::string(check.probe)},
                              check.last_passed);
                    }
                  });
  registry.Family("etcd_server_healthchecks_total", kCounter, {"name", "status", "type"},
                  "Runs of the probes' checks.", [&of](Samples& out) {
                    for (const Health::Check& check : of.health->checks()) {
                      const auto add = [&](const char* status, std::uint64_t runs) {
                        if (runs == 0) return;
                        out.Add({std::string(check.name), status, std::string(check.probe)},
                                static_cast<double>(runs));
                      };
                      add("success", check.passed.value());
                      add("error", check.failed.value());
                    }
                  });
  registry.Family("etcd_debugging_server_alarms", kGauge, {"alarm_type", "server_id"},
                  "1 for every alarm that stands.", [&of](Samples& out) {
                    for (const Alarm& alarm : of.reads->cluster.alarms.List())
                      out.Add({AlarmName(alarm.type), IdText(alarm.member)}, 1);
                  });
}

void AddLeaseRows(MetricsRegistry& registry, const MetricSources& of) {
  const auto counters = [&of]() -> LeaseCounters& { return of.member->leases().counters(); };
  registry.Counter("etcd_debugging_lease_granted_total", "Leases granted.",
                   [counters] { return counters().granted.load(); });
  registry.Counter("etcd_debugging_lease_revoked_total", "Leases revoked, expired ones included.",
                   [counters] { return counters().revoked.load(); });
  registry.Counter("etcd_debugging_lease_renewed_total", "Renewals that this leader has granted.",
                   [counters] { return counters().renewed.load(); });
  registry.Counter("etcd_debugging_server_lease_expired_total",
                   "Expired leases that this leader has revoked.",
                   [counters] { return counters().expired.load(); });
  registry.Histogram("etcd_debugging_lease_ttl_total", "The seconds that leases were granted for.",
                     [counters]() -> const Histogram& { return counters().ttl_s; });
}

}  // namespace

void AddServerMetrics(MetricsRegistry& registry, const MetricSources& of) {
  AddRaftRows(registry, of);
  AddIdentityRows(registry, of);
  AddApplyRows(registry, of);
  AddHealthRows(registry, of);
  AddLeaseRows(registry, of);
}

void AddAllMetrics(MetricsRegistry& registry, const MetricSources& of) {
  AddServerMetrics(registry, of);
  AddStoreMetrics(registry, of);
  AddNetworkMetrics(registry, of);
  AddCallMetrics(registry, of);
  AddProcessMetrics(registry);
  AddThreadMetrics(registry);
  AddOwnMetrics(registry, of);
  AddArchiveMetrics(registry, of);
  AddQueueMetrics(registry, of);
}

}  // namespace kvorum::server
