// "archive prune": deletes what retention does not keep, as a server's own retention does.
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "archive/catalog/retention.h"
#include "archive/catalog/survey.h"
#include "base/clock.h"
#include "tools/utl/utl_archive.h"
#include "tools/utl/utl_archive_printer.h"
#include "tools/utl/utl_archive_store.h"
#include "tools/utl/utl_archive_target.h"

namespace kvorum::utl {
namespace {

using archive::HistoryId;
using archive::Retention;
using archive::UnixMillis;
using ctl::FlagType;
using ctl::Outcome;

constexpr std::size_t kDeletedAtOnce = 500;
// A history whose mark is older has no writer.
constexpr UnixMillis kDeadAfterMs = UnixMillis{24} * 3'600'000;

struct LockedObject {
  std::string key;
  std::string lock;
};

struct Pruned {
  std::vector<std::string> keys;  // deleted, or those that would be
  std::vector<LockedObject> locked;
};

std::unexpected<ctl::Failure> FailStore(const archive::StoreError& error) {
  return Fail(ctl::ExitCode::kError, error.text);
}

// Deletes in the order of a Retention. A store with versions accepts the deletion of a locked
// object and keeps its bytes, so that each one is asked for its lock before.
class Deletion {
 public:
  Deletion(archive::ObjectStore& store, bool is_dry_run) : store_(store), is_dry_run_(is_dry_run) {}

  Outcome<Pruned> Run(const Retention& retention) {
    bool are_manifests_gone = true;
    for (const Retention::OldBase& base : retention.bases) {
      if (base.has_manifest) {
        const archive::ObjectKey key = {.history = base.history,
                                        .name = archive::ManifestName{base.name}};
        KV_TRY(const bool is_gone, DeleteAll(std::vector{KeyText(key)}));
        are_manifests_gone = are_manifests_gone && is_gone;
        if (!is_gone) continue;
      }
      KV_RETURN_IF_ERROR(DeleteAll(base.parts));
    }
    if (are_manifests_gone) KV_RETURN_IF_ERROR(DeleteAll(retention.objects));
    return std::move(pruned_);
  }

 private:
  // False if some are left.
  Outcome<bool> DeleteAll(std::span<const std::string> keys) {
    const std::size_t locked = pruned_.locked.size();
    std::vector<std::string> batch;
    for (const std::string& key : keys) {
      const auto head = store_.Head(key);
      if (!head.has_value()) {
        if (head.error().kind == archive::StoreErrorKind::kAbsent) continue;
        return FailStore(head.error());
      }
      if (!head->lock.empty()) {
        pruned_.locked.push_back({.key = key, .lock = head->lock});
        continue;
      }
      batch.push_back(key);
      if (batch.size() == kDeletedAtOnce) KV_RETURN_IF_ERROR(DeleteBatch(batch));
    }
    KV_RETURN_IF_ERROR(DeleteBatch(batch));
    return pruned_.locked.size() == locked;
  }

  Outcome<void> DeleteBatch(std::vector<std::string>& batch) {
    std::map<std::string, archive::StoreError> left;
    if (!is_dry_run_ && !batch.empty()) {
      const auto failures = store_.Delete(batch);
      if (!failures.has_value()) return FailStore(failures.error());
      for (const archive::DeleteFailure& failure : *failures) {
        if (failure.error.kind != archive::StoreErrorKind::kLocked) return FailStore(failure.error);
        left.emplace(failure.key, failure.error);
      }
    }
    for (std::string& key : batch) {
      if (const auto lock = left.find(key); lock != left.end()) {
        pruned_.locked.push_back({.key = key, .lock = lock->second.text});
      } else {
        pruned_.keys.push_back(std::move(key));
      }
    }
    batch.clear();
    return {};
  }

  archive::ObjectStore& store_;
  const bool is_dry_run_;
  Pruned pruned_;
};

Outcome<archive::RetentionOptions> RetentionOf(const ctl::FlagSet& flags) {
  const auto keep_for =
      std::chrono::duration_cast<std::chrono::milliseconds>(flags.Duration("keep-for"));
  const std::uint64_t keep_bases = flags.Uint("keep-bases");
  if (keep_for.count() < 0) return ctl::BadArguments("--keep-for is not negative");
  if (keep_for.count() == 0 && keep_bases == 0)
    return ctl::BadArguments("what to keep is given by --keep-for or --keep-bases, or both");
  return archive::RetentionOptions{.keep_for_ms = keep_for.count(), .keep_bases = keep_bases};
}

// The history whose line is pruned: the one that was named, or the only one that none left.
Outcome<HistoryId> HeadToPrune(const archive::Contents& contents,
                               const std::optional<HistoryId>& named) {
  if (named) {
    if (contents.histories.contains(*named)) return *named;
    return Fail(ctl::ExitCode::kError, "the archive has no history " + HistoryText(*named));
  }
  const std::vector<HistoryId> heads = contents.Heads();
  if (heads.size() == 1) return heads.front();
  if (heads.empty()) return Fail(ctl::ExitCode::kError, "the archive is empty");
  std::string text = "the archive has several histories; name one of";
  for (const HistoryId head : heads) text += " " + HistoryText(head);
  return Fail(ctl::ExitCode::kError, std::move(text));
}

Outcome<Retention> PlanOf(archive::ObjectStore& store, const std::optional<HistoryId>& named,
                          const archive::RetentionOptions& options) {
  const auto survey = archive::TakeSurvey(store);
  if (!survey.has_value()) return FailStore(survey.error());
  KV_TRY(const HistoryId head, HeadToPrune(survey->contents, named));
  std::map<HistoryId, UnixMillis> marks;
  for (const auto& [id, details] : survey->details) {
    // Without a record it is not known whether another history needs it.
    if (!survey->contents.histories.at(id).record) {
      return Fail(ctl::ExitCode::kError,
                  "history " + HistoryText(id) +
                      " has no record that can be read, so that it is not known which histories "
                      "came from which: nothing is pruned");
    }
    if (details.mark) marks[id] = details.mark->time_ms;
  }
  const UnixMillis now_ms = SystemClock().WallNanos() / 1'000'000;
  const auto line = PrunableLine(survey->contents, head, marks, now_ms,
                                 std::max(options.keep_for_ms, kDeadAfterMs));
  return PlanRetention(survey->contents, line, options, now_ms);
}

ArchiveJson FloorJson(const Retention& retention) {
  if (!retention.floor) return nullptr;
  const archive::BaseName& base = retention.floor->name;
  ArchiveJson json = {{"history", HistoryText(retention.floor->history)}};
  json.update(StateJson({.index = base.index, .revision = base.revision, .time_ms = base.time_ms}));
  return json;
}

void PrintPrunedJson(std::ostream& out, const Retention& retention, const Pruned& pruned,
                     bool is_dry_run) {
  ArchiveJson json = {{"dryRun", is_dry_run},
                      {"floor", FloorJson(retention)},
                      {"objects", pruned.keys.size()},
                      {"locked", ArchiveJson::array()}};
  for (const LockedObject& one : pruned.locked)
    json["locked"].push_back({{"key", one.key}, {"lock", one.lock}});
  if (is_dry_run) json["keys"] = pruned.keys;
  out << ArchiveJsonText(json) << '\n';
}

void PrintPrunedText(std::ostream& out, const Retention& retention, const Pruned& pruned,
                     bool is_dry_run) {
  if (!retention.floor) {
    out << "the history has no complete base: everything is kept\n";
    return;
  }
  const archive::BaseName& base = retention.floor->name;
  if (is_dry_run) {
    for (const std::string& key : pruned.keys) out << "would delete " << key << '\n';
  }
  for (const LockedObject& one : pruned.locked)
    out << "locked, and left: " << one.key << ": " << one.lock << '\n';
  out << fmt::format("{} {} objects; {} are locked; kept from index {}, revision {}, {} on\n",
                     is_dry_run ? "would delete" : "deleted", pruned.keys.size(),
                     pruned.locked.size(), base.index.value(), base.revision,
                     TimeText(base.time_ms));
}

Outcome<void> RunArchivePrune(ctl::Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "archive prune takes no arguments"));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json"}));
  KV_TRY(const archive::RetentionOptions options, RetentionOf(invocation.flags));
  const bool is_dry_run = invocation.flags.Switch("dry-run");
  KV_TRY(const auto opened, OpenedArchive::Open(invocation, is_dry_run ? ArchiveAccess::kRead
                                                                       : ArchiveAccess::kDelete));
  KV_TRY(const Retention retention, PlanOf(opened->store(), opened->history(), options));
  KV_TRY(const Pruned pruned, Deletion(opened->store(), is_dry_run).Run(retention));
  if (format == "json") {
    PrintPrunedJson(invocation.world.out, retention, pruned, is_dry_run);
  } else {
    PrintPrunedText(invocation.world.out, retention, pruned, is_dry_run);
  }
  return {};
}

}  // namespace

ctl::Command ArchivePruneCommand() {
  return {
      .use = "prune --url u (--keep-for d | --keep-bases n) [--dry-run]",
      .brief = "Deletes the old bases of an archive and the log before them",
      .description =
          R"(Keeps what a restore to any time of the last --keep-for needs, or to any state since the oldest of
the last --keep-bases bases; the newest base always stays. A server does the same by itself with
--archive-keep-for and --archive-keep-bases. Objects under a lock are named and left.
)",
      .flags = {{"keep-for", FlagType::kDuration, "0s",
                 "how far back a restore to any time stays possible, 0 for no limit by time"},
                {"keep-bases", FlagType::kUint, "0",
                 "how many bases stay at most, 0 for no limit by number"},
                {.name = "dry-run", .help = "tell what would be deleted, and delete nothing"}},
      .run = RunArchivePrune};
}

}  // namespace kvorum::utl
