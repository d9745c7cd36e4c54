// "archive export": every change behind a revision, as lines of JSON.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/log/logging.h"
#include "mvcc/records/key_value.h"
#include "mvcc/store/publish_listener.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/stop_signals.h"
#include "tools/text/json.h"
#include "tools/utl/utl_archive.h"
#include "tools/utl/utl_archive_state.h"
#include "tools/utl/utl_archive_store.h"
#include "tools/utl/utl_log.h"

namespace kvorum::utl {
namespace {

using archive::Plan;
using archive::Plans;
using ctl::Command;
using ctl::FlagType;
using ctl::Invocation;
using ctl::Outcome;

// Writes changes as they are applied. Used by the replay's thread while the main thread waits for
// it, and by that afterwards. A detour around a damaged object replays some revisions again, which
// are written once.
class ChangeWriter final : public mvcc::PublishListener {
 public:
  ChangeWriter(std::ostream& out, std::int64_t since, std::string prefix)
      : out_(out), written_(since), prefix_(std::move(prefix)) {}

  bool WantsRecords() const override { return true; }
  void OnPublished(Published published) override {
    if (!published.records.has_value() || published.last <= written_) return;
    published.records->Scan({.main = written_ + 1, .sub = 0},
                            [&](const mvcc::RevisionRecord& record) {
                              if (record.revision.main > published.last) return false;
                              Write(record);
                              return true;
                            });
    written_ = published.last;
  }
  void OnInstalled(std::int64_t) override {}

  std::uint64_t changes() const { return changes_; }
  std::int64_t revision() const { return written_; }

 private:
  // The record is one that the store has made itself.
  void Write(const mvcc::RevisionRecord& record) {
    const auto kv = mvcc::DecodeKeyValue(record.value);
    if (!kv.has_value() || !kv->key.starts_with(prefix_)) return;
    ctl::JsonObject object;
    object.Add("revision", std::to_string(record.revision.main))
        .Add("type", record.tombstone ? "\"delete\"" : "\"put\"")
        .Add("key", ctl::JsonBytes(kv->key));
    if (!record.tombstone) {
      object.Add("value", ctl::JsonBytes(kv->value))
          .Add("create_revision", std::to_string(kv->create_revision))
          .Add("version", std::to_string(kv->version));
      if (kv->lease != 0) object.Add("lease", std::to_string(kv->lease));
    }
    out_ << object.Finish() << '\n';
    ++changes_;
  }

  std::ostream& out_;
  std::int64_t written_;  // up to this revision
  const std::string prefix_;
  std::uint64_t changes_ = 0;
};

// Without the bases behind the revision, so that the log since then is replayed.
Outcome<archive::Contents> WithBasesUpTo(archive::Contents contents, std::int64_t revision) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  bool has_any = false;
  for (auto& [id, history] : contents.histories) {
    for (const archive::Base& base : history.bases) first = std::min(first, base.name.revision);
    std::erase_if(history.bases,
                  [&](const archive::Base& base) { return base.name.revision > revision; });
    has_any |= !history.bases.empty();
  }
  if (has_any) return contents;
  if (first == std::numeric_limits<std::int64_t>::max())
    return Fail(ctl::ExitCode::kError, "the archive is empty");
  return Fail(ctl::ExitCode::kError, "the archive does not hold the changes since revision " +
                                         std::to_string(revision) +
                                         ": its oldest base has revision " + std::to_string(first));
}

archive::Read<void> ExportAlong(ctl::World& world, archive::ObjectStore& store, const Plans& plans,
                                const Plan& plan, ChangeWriter& writer) {
  auto folder = ScratchFolder::Create();
  if (!folder.has_value())
    return std::unexpected(Error{Code::kUnknown, std::move(folder).error().message});
  ArchiveProgress progress;
  const ctl::ProgressBar bar(world, [&] { return progress.State(); }, ctl::kBarDelay);
  KV_RETURN_IF_ERROR(ReplayInto((*folder)->path(), store, plans, plan, &writer, progress));
  return {};
}

Outcome<void> RunArchiveExport(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "archive export takes no arguments"));
  const ctl::FlagSet& flags = invocation.flags;
  const std::uint64_t since = flags.Uint("since");
  if (since == 0 || since > std::numeric_limits<std::int64_t>::max())
    return ctl::BadArguments("--since is a revision, a number from 1 on");
  const auto revision = static_cast<std::int64_t>(since);
  const ctl::StopSignals signals;
  KV_TRY(const auto opened, OpenedArchive::Open(invocation, ArchiveAccess::kRead));
  const std::stop_callback stop(signals.token(), [&] { opened->stop().Stop(); });
  KV_TRY(archive::Contents listed, ListArchive(invocation.world, opened->store()));
  KV_TRY(archive::Contents contents, WithBasesUpTo(std::move(listed), revision));
  Plans plans(opened->store(), std::move(contents), opened->history(), archive::ToLatest{});
  ChangeWriter writer(invocation.world.out, revision, flags.String("prefix"));
  std::string history;
  KV_RETURN_IF_ERROR(AlongPlans(invocation.world, plans, [&](const Plan& plan) {
    history = archive::HistoryText(plan.history);
    return ExportAlong(invocation.world, opened->store(), plans, plan, writer);
  }));
  invocation.world.out.flush();
  if (!invocation.world.out.good())
    return Fail(ctl::ExitCode::kError, "the changes could not be written out");
  LogInfo(invocation.world, "exported",
          {{"history", ctl::JsonString(history)},
           {"changes", std::to_string(writer.changes())},
           {"up-to-revision", std::to_string(writer.revision())}});
  return {};
}

}  // namespace

Command ArchiveExportCommand() {
  return {
      .use = "export --url U --since R [--prefix P]",
      .brief = "Writes every change since a revision as lines of JSON",
      .description =
          R"(Writes the changes behind a revision up to the newest that the archive has, in their order, also
those that were compacted since: {"revision":7,"type":"put","key":"aw==","value":"dg==", ...} or
{"revision":8,"type":"delete","key":"aw=="}, with key and value in base64. The archive needs a base of
that revision or before. Of several histories it writes one's, up to where the next one left it.
)",
      .flags = {{.name = "since",
                 .type = FlagType::kUint,
                 .default_value = "0",
                 .help = "the revision behind which the changes are written",
                 .required = true},
                {"prefix", FlagType::kString, "", "writes the changes of keys that begin so"}},
      .run = RunArchiveExport};
}

}  // namespace kvorum::utl
