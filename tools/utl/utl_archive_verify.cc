// "archive verify": reads everything, names what is damaged, and tells what can still be restored.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "archive/check/archive_check.h"
#include "base/text/human_bytes.h"
#include "tools/session/table.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/step_progress.h"
#include "tools/utl/utl_archive.h"
#include "tools/utl/utl_archive_printer.h"
#include "tools/utl/utl_archive_store.h"
#include "tools/utl/utl_archive_target.h"

namespace kvorum::utl {
namespace {

using archive::Checked;
using archive::Finding;

std::string KindText(const Finding& finding) {
  return std::string(archive::FindingKindName(finding.kind));
}

void PrintCheckedJson(std::ostream& out, const Checked& checked) {
  ArchiveJson json = {{"whole", checked.is_whole()},      {"objects", checked.objects},
                      {"sizeBytes", checked.size_bytes},  {"damageCount", checked.damage_count},
                      {"findings", ArchiveJson::array()}, {"restorable", ArchiveJson::array()}};
  for (const Finding& finding : checked.findings) {
    json["findings"].push_back({{"kind", KindText(finding)},
                                {"harmless", archive::IsNote(finding.kind)},
                                {"key", finding.key},
                                {"text", finding.text}});
  }
  for (const auto& [id, ranges] : checked.ranges) {
    ArchiveJson shown = {{"history", HistoryText(id)}, {"ranges", ArchiveJson::array()}};
    for (const archive::StateRange& range : ranges) shown["ranges"].push_back(RangeJson(range));
    json["restorable"].push_back(std::move(shown));
  }
  out << ArchiveJsonText(json) << '\n';
}

void PrintCheckedText(std::ostream& out, const Checked& checked) {
  for (const Finding& finding : checked.findings)
    out << KindText(finding) << ": " << finding.key << ": " << finding.text << '\n';
  for (const auto& [id, ranges] : checked.ranges) {
    for (const archive::StateRange& range : ranges)
      out << "history " << HistoryText(id) << " can be restored: " << RangeText(range) << '\n';
    if (ranges.empty()) out << "history " << HistoryText(id) << ": nothing can be restored\n";
  }
  out << fmt::format("{} objects read, {}: ", checked.objects, HumanBytes(checked.size_bytes));
  if (checked.is_whole()) {
    out << "the archive is whole\n";
  } else {
    out << fmt::format("the archive is damaged, {} findings\n", checked.damage_count);
  }
}

void PrintCheckedTables(std::ostream& out, const Checked& checked) {
  ctl::Table findings{.header = {"kind", "object", "finding"}, .rows = {}};
  for (const Finding& finding : checked.findings)
    findings.rows.push_back({KindText(finding), finding.key, finding.text});
  ctl::Table ranges{
      .header = {"history", "from revision", "to revision", "from index", "to index", "from", "to"},
      .rows = {}};
  for (const auto& [id, of_history] : checked.ranges) {
    for (const archive::StateRange& range : of_history) {
      ranges.rows.push_back({HistoryText(id), std::to_string(range.first.revision),
                             std::to_string(range.last.revision),
                             std::to_string(range.first.index.value()),
                             std::to_string(range.last.index.value()),
                             TimeText(range.first.time_ms), TimeText(range.last.time_ms)});
    }
  }
  out << ctl::DrawTable(findings) << ctl::DrawTable(ranges);
}

ctl::Outcome<void> RunArchiveVerify(ctl::Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "archive verify takes no arguments"));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json", "table"}));
  KV_TRY(const auto opened, OpenedArchive::Open(invocation, ArchiveAccess::kRead));
  ctl::StepProgress progress;
  const auto checked = [&] {
    const ctl::ProgressBar bar(invocation.world, [&] { return progress.State(); }, ctl::kBarDelay);
    archive::CheckOptions options;
    options.history = opened->history();
    options.on_progress = [tell = progress.Callback()](std::uint64_t done, std::uint64_t total) {
      tell("reading the archive", done, total);
    };
    return archive::CheckArchive(opened->store(), opened->stop(), options);
  }();
  if (!checked.has_value()) return Fail(ctl::ExitCode::kError, checked.error().text);
  std::ostream& out = invocation.world.out;
  if (format == "json") {
    PrintCheckedJson(out, *checked);
  } else if (format == "table") {
    PrintCheckedTables(out, *checked);
  } else {
    PrintCheckedText(out, *checked);
  }
  // Everything was said already.
  if (!checked->is_whole()) return Fail(ctl::ExitCode::kError, "");
  return {};
}

}  // namespace

ctl::Command ArchiveVerifyCommand() {
  return {
      .use = "verify --url u",
      .brief = "Reads every object of an archive and names what is damaged or missing",
      .description =
          R"(Checks each object of all histories, or of the one that --history names, against its name, its
checksums and the other objects, and tells what can still be restored without what is damaged. A
server may archive meanwhile. The exit code is 0 if everything is whole and there is no gap, else 1.
)",
      .run = RunArchiveVerify};
}

}  // namespace kvorum::utl
