// "archive ls": histories, bases and the states that can be restored, by names and marks alone.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "archive/catalog/ranges.h"
#include "archive/catalog/survey.h"
#include "base/clock.h"
#include "base/text/human_bytes.h"
#include "tools/session/table.h"
#include "tools/utl/utl_archive.h"
#include "tools/utl/utl_archive_printer.h"
#include "tools/utl/utl_archive_store.h"
#include "tools/utl/utl_archive_target.h"

namespace kvorum::utl {
namespace {

using archive::HistoryId;

// A history with all that is shown of it.
struct Listed {
  HistoryId id = 0;
  const archive::History* history = nullptr;
  const archive::HistoryDetails* details = nullptr;
  std::vector<archive::StateRange> ranges;
};

std::vector<Listed> HistoriesToList(const archive::Survey& survey,
                                    const std::optional<HistoryId>& only) {
  std::vector<Listed> all;
  for (const auto& [id, history] : survey.contents.histories) {
    if (only && *only != id) continue;
    all.push_back({.id = id,
                   .history = &history,
                   .details = &survey.details.at(id),
                   .ranges = archive::RestorableRanges(history)});
  }
  // Parents are older than what came from them.
  std::ranges::sort(all, {}, [](const Listed& one) {
    const auto& record = one.history->record;
    return std::pair(record ? record->began_ms : 0, one.id);
  });
  return all;
}

std::uint64_t BytesOf(const Listed& listed, const archive::Base& base) {
  const auto found = listed.details->base_bytes.find(base.name);
  return found == listed.details->base_bytes.end() ? 0 : found->second;
}

std::vector<std::string> ProblemsOf(const Listed& listed) {
  std::vector<std::string> problems;
  const auto add = [&](const std::string& problem, bool is_there, std::string_view missing) {
    if (!problem.empty()) {
      problems.push_back(problem);
    } else if (!is_there) {
      problems.emplace_back(missing);
    }
  };
  add(listed.details->record_problem, listed.history->record.has_value(),
      "its record is missing: where it came from is not known");
  add(listed.details->mark_problem, listed.details->mark.has_value(),
      "its mark is missing: whether its writer lives is not known");
  return problems;
}

std::string AgeText(archive::UnixMillis time_ms, archive::UnixMillis now_ms) {
  return fmt::format("{} s", std::max<archive::UnixMillis>(now_ms - time_ms, 0) / 1'000);
}

ArchiveJson HistoryJson(const Listed& listed) {
  ArchiveJson json = {{"history", HistoryText(listed.id)}};
  json["reason"] = nullptr;
  json["parent"] = nullptr;
  if (const auto& record = listed.history->record) {
    json["reason"] = record->reason;
    json["clusterID"] = record->cluster_id;
    json["began"] = TimeText(record->began_ms);
    json["firstIndex"] = record->first.value();
    if (record->parent) {
      json["parent"] = {{"history", HistoryText(record->parent->history)},
                        {"index", record->parent->index.value()},
                        {"revision", record->parent->revision}};
    }
  }
  json["mark"] = nullptr;
  if (const auto& mark = listed.details->mark) {
    json["mark"] =
        StateJson({.index = mark->index, .revision = mark->revision, .time_ms = mark->time_ms});
    json["mark"]["memberID"] = mark->member;
  }
  json["logObjects"] = listed.history->logs.size();
  json["logBytes"] = listed.details->log_bytes;
  json["bases"] = ArchiveJson::array();
  for (const archive::Base& base : listed.history->bases) {
    ArchiveJson shown = StateJson(
        {.index = base.name.index, .revision = base.name.revision, .time_ms = base.name.time_ms});
    shown["sizeBytes"] = BytesOf(listed, base);
    shown["parts"] = base.parts;
    shown["complete"] = base.has_manifest;
    json["bases"].push_back(std::move(shown));
  }
  json["gaps"] = ArchiveJson::array();
  for (const archive::GapName& gap : listed.history->gaps)
    json["gaps"].push_back({{"from", gap.from.value()}, {"to", gap.to.value()}});
  json["restorable"] = ArchiveJson::array();
  for (const archive::StateRange& range : listed.ranges)
    json["restorable"].push_back(RangeJson(range));
  json["problems"] = ProblemsOf(listed);
  return json;
}

void PrintListedJson(std::ostream& out, const archive::Survey& survey,
                     const std::vector<Listed>& histories) {
  ArchiveJson json;
  json["histories"] = ArchiveJson::array();
  for (const Listed& listed : histories) json["histories"].push_back(HistoryJson(listed));
  json["heads"] = ArchiveJson::array();
  for (const HistoryId head : survey.contents.Heads()) json["heads"].push_back(HistoryText(head));
  json["objects"] = survey.objects;
  json["sizeBytes"] = survey.size_bytes;
  json["strangers"] = survey.contents.stranger_count;
  out << ArchiveJsonText(json) << '\n';
}

void PrintHistory(std::ostream& out, const Listed& listed, archive::UnixMillis now_ms) {
  out << "history " << HistoryText(listed.id);
  if (const auto& record = listed.history->record) {
    out << fmt::format(": {}, began {}, cluster {:x}", record->reason, TimeText(record->began_ms),
                       record->cluster_id);
    if (record->parent) {
      out << fmt::format("\n  came from history {} at index {}, revision {}",
                         HistoryText(record->parent->history), record->parent->index.value(),
                         record->parent->revision);
    }
  }
  out << '\n';
  if (const auto& mark = listed.details->mark) {
    out << fmt::format("  archived up to index {}, revision {}; writer alive {}, {} ago\n",
                       mark->index.value(), mark->revision, TimeText(mark->time_ms),
                       AgeText(mark->time_ms, now_ms));
  }
  out << fmt::format("  log: {} objects, {}\n", listed.history->logs.size(),
                     HumanBytes(listed.details->log_bytes));
  for (const archive::Base& base : listed.history->bases) {
    out << fmt::format("  base: index {}, revision {}, {}, {}{}\n", base.name.index.value(),
                       base.name.revision, TimeText(base.name.time_ms),
                       HumanBytes(BytesOf(listed, base)),
                       base.has_manifest ? "" : ", not complete");
  }
  for (const archive::GapName& gap : listed.history->gaps)
    out << fmt::format("  gap: entries {} to {}\n", gap.from.value(), gap.to.value());
  if (listed.ranges.empty()) out << "  nothing can be restored\n";
  for (const archive::StateRange& range : listed.ranges)
    out << "  can be restored: " << RangeText(range) << '\n';
  for (const std::string& problem : ProblemsOf(listed)) out << "  problem: " << problem << '\n';
}

void PrintListedText(std::ostream& out, const archive::Survey& survey,
                     const std::vector<Listed>& histories) {
  const archive::UnixMillis now_ms = SystemClock().WallNanos() / 1'000'000;
  for (const Listed& listed : histories) PrintHistory(out, listed, now_ms);
  if (histories.empty()) out << "the archive is empty\n";
  if (survey.contents.stranger_count > 0) {
    out << fmt::format("{} objects have names that no archive writes, as {}\n",
                       survey.contents.stranger_count, survey.contents.strangers.front());
  }
}

void PrintListedTables(std::ostream& out, const std::vector<Listed>& histories) {
  ctl::Table heads{.header = {"history", "reason", "began", "parent", "at index", "archived index",
                              "revision", "alive"},
                   .rows = {}};
  ctl::Table bases{.header = {"history", "index", "revision", "time", "size", "complete"},
                   .rows = {}};
  ctl::Table ranges{
      .header = {"history", "from revision", "to revision", "from index", "to index", "from", "to"},
      .rows = {}};
  for (const Listed& listed : histories) {
    const std::string id = HistoryText(listed.id);
    std::vector<std::string> row = {id, "unknown", "", "", "", "", "", "unknown"};
    if (const auto& record = listed.history->record) {
      row[1] = record->reason;
      row[2] = TimeText(record->began_ms);
      if (record->parent) {
        row[3] = HistoryText(record->parent->history);
        row[4] = std::to_string(record->parent->index.value());
      }
    }
    if (const auto& mark = listed.details->mark) {
      row[5] = std::to_string(mark->index.value());
      row[6] = std::to_string(mark->revision);
      row[7] = TimeText(mark->time_ms);
    }
    heads.rows.push_back(std::move(row));
    for (const archive::Base& base : listed.history->bases) {
      bases.rows.push_back({id, std::to_string(base.name.index.value()),
                            std::to_string(base.name.revision), TimeText(base.name.time_ms),
                            HumanBytes(BytesOf(listed, base)),
                            base.has_manifest ? "true" : "false"});
    }
    for (const archive::StateRange& range : listed.ranges) {
      ranges.rows.push_back(
          {id, std::to_string(range.first.revision), std::to_string(range.last.revision),
           std::to_string(range.first.index.value()), std::to_string(range.last.index.value()),
           TimeText(range.first.time_ms), TimeText(range.last.time_ms)});
    }
  }
  out << ctl::DrawTable(heads) << ctl::DrawTable(bases) << ctl::DrawTable(ranges);
}

ctl::Outcome<void> RunArchiveLs(ctl::Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "archive ls takes no arguments"));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json", "table"}));
  KV_TRY(const auto opened, OpenedArchive::Open(invocation, ArchiveAccess::kRead));
  const auto survey = archive::TakeSurvey(opened->store());
  if (!survey.has_value()) return Fail(ctl::ExitCode::kError, survey.error().text);
  const auto histories = HistoriesToList(*survey, opened->history());
  if (opened->history() && histories.empty()) {
    return Fail(ctl::ExitCode::kError,
                "the archive has no history " + HistoryText(*opened->history()));
  }
  std::ostream& out = invocation.world.out;
  if (format == "json") {
    PrintListedJson(out, *survey, histories);
  } else if (format == "table") {
    PrintListedTables(out, histories);
  } else {
    PrintListedText(out, *survey, histories);
  }
  return {};
}

}  // namespace

ctl::Command ArchiveLsCommand() {
  return {
      .use = "ls --url u",
      .brief = "Lists an archive's histories, bases and the states that can be restored",
      .description =
          R"(Reads the names of the objects, and each history's record and mark; "archive verify" reads the
objects themselves.
)",
      .run = RunArchiveLs};
}

}  // namespace kvorum::utl
