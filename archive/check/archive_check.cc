#include "archive/check/archive_check.h"

#include <chrono>
#include <utility>

#include "archive/catalog/survey.h"
#include "archive/check/base_check.h"
#include "archive/check/history_check.h"
#include "archive/check/log_check.h"
#include "archive/check/object_read.h"

namespace kvorum::archive {
namespace {

constexpr std::chrono::seconds kLookAgainAfter(1);

StoreResult<void> CheckHistory(ObjectReader& reader, const Survey& survey, HistoryId id,
                               Report& report) {
  const History& history = survey.contents.histories.at(id);
  TermClaims claims;
  CheckRecord(survey, id, report);
  CheckMark(survey, id, report, claims);
  KV_RETURN_IF_ERROR(CheckGaps(reader, id, history, report));
  const bool may_all_go = IsLeft(survey, id);
  const raft::Index floor =
      may_all_go ? FloorOf(history) : OldestBase(history).value_or(raft::Index{0});
  for (const Base& base : history.bases)
    KV_RETURN_IF_ERROR(CheckBase(reader, id, base, floor, report, claims));
  if (!may_all_go) CheckHasBase(id, history, report);
  return LogCheck(id, history, claims, report).Run(reader);
}

// Looks again for what is missing, until nothing is or the patience has an end.
StoreResult<void> LookAgain(ObjectStore& store, StopSignal& stop, Duration patience,
                            Report& report) {
  for (Duration waited = Duration::zero();; waited += kLookAgainAfter) {
    KV_TRY(const Survey survey, TakeSurvey(store));
    report.Explain(survey);
    if (!report.has_absences() || waited >= patience) break;
    if (stop.WaitFor(kLookAgainAfter))
      return StoreFail(StoreErrorKind::kStopped, store.name() + ": stopped");
  }
  report.Confirm();
  return {};
}

}  // namespace

StoreResult<Checked> CheckArchive(ObjectStore& store, StopSignal& stop,
                                  const CheckOptions& options) {
  KV_TRY(Survey survey, TakeSurvey(store));
  if (options.history && !survey.contents.histories.contains(*options.history)) {
    return StoreFail(StoreErrorKind::kAbsent,
                     "the archive has no history " + HistoryText(*options.history));
  }
  ObjectReader reader(store, [&](std::uint64_t, std::uint64_t done_bytes) {
    if (options.on_progress) options.on_progress(done_bytes, survey.size_bytes);
  });
  Report report;
  for (const std::string& stranger : survey.contents.strangers)
    report.Add(FindingKind::kStranger, stranger, "no archive writes such a name");
  for (const auto& [id, history] : survey.contents.histories) {
    if (options.history && id != *options.history) continue;
    KV_RETURN_IF_ERROR(CheckHistory(reader, survey, id, report));
  }
  if (report.has_absences()) KV_RETURN_IF_ERROR(LookAgain(store, stop, options.patience, report));
  Checked checked = {.findings = report.findings(),
                     .damage_count = report.damage_count(),
                     .objects = reader.objects(),
                     .size_bytes = reader.size_bytes(),
                     .sound = report.Sound(std::move(survey.contents)),
                     .ranges = {}};
  for (const auto& [id, history] : checked.sound.histories) {
    if (options.history && id != *options.history) continue;
    checked.ranges.emplace(id, RestorableRanges(history));
  }
  return checked;
}

}  // namespace kvorum::archive
