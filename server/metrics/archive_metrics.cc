// The archive's metrics. Without an archive none has a series.
#include <functional>
#include <string_view>

#include "archive/ship/archive_status.h"
#include "server/metrics/sources.h"

namespace kvorum::server {
namespace {

using archive::ArchiveStatus;
using archive::ShipState;

constexpr ShipState kShipStates[] = {ShipState::kStarting, ShipState::kFollowing,
                                     ShipState::kArchiving, ShipState::kFailing,
                                     ShipState::kRefused};

// A series of the status.
void AddArchiveRow(MetricsRegistry& registry, const MetricSources& of, MetricType type,
                   std::string_view name, std::string_view help,
                   std::function<double(const ArchiveStatus&)> read) {
  registry.Family(name, type, {}, help, [&of, read = std::move(read)](Samples& out) {
    if (of.archive != nullptr) out.Add({}, read(*of.archive));
  });
}

void AddArchiveCounter(MetricsRegistry& registry, const MetricSources& of, std::string_view name,
                       std::string_view help, Counter ArchiveStatus::* counter) {
  AddArchiveRow(registry, of, MetricType::kCounter, name, help,
                [counter](const ArchiveStatus& status) {
                  return static_cast<double>((status.*counter).value());
                });
}

double InSeconds(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 1000; }

void AddArchivePlaces(MetricsRegistry& registry, const MetricSources& of) {
  const auto add = [&](std::string_view name, std::string_view help,
                       std::function<double(const ArchiveStatus::Values&)> read) {
    AddArchiveRow(
        registry, of, MetricType::kGauge, name, help,
        [read = std::move(read)](const ArchiveStatus& status) { return read(status.values()); });
  };
  using Values = ArchiveStatus::Values;
  add("kvorum_archive_index", "The last entry of the log that this member knows to be archived.",
      [](const Values& values) { return static_cast<double>(values.archived.index.value()); });
  add("kvorum_archive_revision", "The store's revision with that entry.",
      [](const Values& values) { return static_cast<double>(values.archived.revision); });
  add("kvorum_archive_time_seconds",
      "Unix time at which all that was applied was archived, as far as this member knows.",
      [](const Values& values) { return InSeconds(values.archived.time_ms); });
  add("kvorum_archive_base_index", "The last entry in the newest base; 0: none is known.",
      [](const Values& values) { return static_cast<double>(values.base.index.value()); });
  add("kvorum_archive_base_revision", "The store's revision in the newest base.",
      [](const Values& values) { return static_cast<double>(values.base.revision); });
  add("kvorum_archive_base_time_seconds", "Unix time of the newest base; 0: none is known.",
      [](const Values& values) { return InSeconds(values.base.time_ms); });
}

}  // namespace

void AddArchiveMetrics(MetricsRegistry& registry, const MetricSources& of) {
  registry.Family("kvorum_archive_state", MetricType::kGauge, {"state"},
                  "What this member's archive does: 1 for one of starting, following (another "
                  "member leads), archiving, failing (the store), refused (it is of other data).",
                  [&of](Samples& out) {
                    if (of.archive == nullptr) return;
                    const ShipState now = of.archive->values().state;
                    for (const ShipState state : kShipStates)
                      out.Add({archive::ShipStateName(state)}, state == now ? 1 : 0);
                  });
  AddArchivePlaces(registry, of);
  AddArchiveRow(registry, of, MetricType::kGauge, "kvorum_archive_lag_seconds",
                "Age of the oldest applied entry that this leader has not archived; 0 on others.",
                [&of](const ArchiveStatus&) { return InSeconds(of.archive_lag_ms()); });
  AddArchiveCounter(registry, of, "kvorum_archive_objects_total",
                    "Objects of the log that were archived.", &ArchiveStatus::log_objects);
  AddArchiveCounter(registry, of, "kvorum_archive_bytes_total", "Bytes of these, as stored.",
                    &ArchiveStatus::log_bytes);
  AddArchiveCounter(registry, of, "kvorum_archive_bases_total", "Bases that were archived.",
                    &ArchiveStatus::bases);
  AddArchiveCounter(registry, of, "kvorum_archive_base_bytes_total", "Bytes of these, as stored.",
                    &ArchiveStatus::base_bytes);
  AddArchiveCounter(registry, of, "kvorum_archive_abandoned_bases_total",
                    "Bases that were given up before they were whole.",
                    &ArchiveStatus::abandoned_bases);
  AddArchiveCounter(registry, of, "kvorum_archive_failures_total",
                    "Calls of the archive's store that failed, with all their tries.",
                    &ArchiveStatus::failures);
  AddArchiveCounter(registry, of, "kvorum_archive_retries_total",
                    "Calls of the store that were tried again.", &ArchiveStatus::retries);
  AddArchiveCounter(registry, of, "kvorum_archive_gaps_total",
                    "Runs of entries that no object has, since the log no longer had them.",
                    &ArchiveStatus::gaps);
  AddArchiveCounter(registry, of, "kvorum_archive_pruned_objects_total",
                    "Objects that retention has deleted.", &ArchiveStatus::pruned_objects);
  AddArchiveCounter(registry, of, "kvorum_archive_locked_objects_total",
                    "Objects that retention left, since a lock protects them.",
                    &ArchiveStatus::locked_objects);
}

}  // namespace kvorum::server
