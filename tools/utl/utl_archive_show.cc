// "archive show": keys as they were, without a restore.
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/key_range.h"
#include "mvcc/records/key_value.h"
#include "mvcc/records/range.h"
#include "mvcc/store/store.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/stop_signals.h"
#include "tools/text/json.h"
#include "tools/text/prefix_range.h"
#include "tools/utl/utl_archive.h"
#include "tools/utl/utl_archive_state.h"
#include "tools/utl/utl_archive_store.h"
#include "tools/utl/utl_archive_target.h"
#include "tools/utl/utl_log.h"

namespace kvorum::utl {
namespace {

using archive::Plan;
using archive::Plans;
using ctl::Command;
using ctl::FlagType;
using ctl::Invocation;
using ctl::Outcome;

struct ShownKeys {
  std::string key;
  std::string range_end;
};

Outcome<ShownKeys> KeysToShow(const ctl::FlagSet& flags) {
  if (flags.IsSet("key") == flags.IsSet("prefix"))
    return ctl::BadArguments("exactly one of --key and --prefix is required");
  if (flags.IsSet("prefix")) {
    const std::string& prefix = flags.String("prefix");
    return ShownKeys{.key = ctl::FirstKey(prefix), .range_end = PrefixEnd(prefix)};
  }
  if (flags.String("key").empty()) return ctl::BadArguments("--key is empty");
  return ShownKeys{.key = flags.String("key"), .range_end = ""};
}

// A row as it comes: the key and the value on a line each, as etcdctl's get has them, or a JSON
// object in a line.
class KeyPrinter final : public mvcc::RowSink {
 public:
  KeyPrinter(std::ostream& out, bool as_json) : out_(out), as_json_(as_json) {}

  Result<void> Add(const mvcc::Row& row) override {
    KV_TRY(const mvcc::KeyValue kv, mvcc::DecodeKeyValue(row.encoded));
    if (as_json_) {
      ctl::JsonObject object;
      object.Add("key", ctl::JsonBytes(kv.key))
          .Add("create_revision", std::to_string(kv.create_revision))
          .Add("mod_revision", std::to_string(kv.mod_revision))
          .Add("version", std::to_string(kv.version))
          .Add("value", ctl::JsonBytes(kv.value));
      if (kv.lease != 0) object.Add("lease", std::to_string(kv.lease));
      out_ << object.Finish() << '\n';
    } else {
      out_ << kv.key << '\n' << kv.value << '\n';
    }
    return {};
  }

 private:
  std::ostream& out_;
  const bool as_json_;
};

// The state that is shown, in a folder that goes with it.
struct ShownState {
  std::unique_ptr<ScratchFolder> folder;  // goes last
  std::unique_ptr<server::Replay> replay;
};

archive::Read<ShownState> StateToShow(ctl::World& world, archive::ObjectStore& store,
                                      const Plans& plans, const Plan& plan) {
  ShownState state;
  auto folder = ScratchFolder::Create();
  if (!folder.has_value())
    return std::unexpected(Error{Code::kUnknown, std::move(folder).error().message});
  state.folder = *std::move(folder);
  ArchiveProgress progress;
  const ctl::ProgressBar bar(world, [&] { return progress.State(); }, ctl::kBarDelay);
  KV_TRY(state.replay, ReplayInto(state.folder->path(), store, plans, plan, nullptr, progress));
  return state;
}

Outcome<void> RunArchiveShow(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "archive show takes no arguments"));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json"}));
  KV_TRY(const archive::Target target, ArchiveTarget(invocation, TargetFlags::kShow));
  KV_TRY(const ShownKeys keys, KeysToShow(invocation.flags));
  const ctl::StopSignals signals;
  KV_TRY(const auto opened, OpenedArchive::Open(invocation, ArchiveAccess::kRead));
  const std::stop_callback stop(signals.token(), [&] { opened->stop().Stop(); });
  KV_TRY(archive::Contents contents, ListArchive(invocation.world, opened->store()));
  Plans plans(opened->store(), std::move(contents), opened->history(), target);
  ShownState state;
  KV_RETURN_IF_ERROR(
      AlongPlans(invocation.world, plans, [&](const Plan& plan) -> archive::Read<void> {
        WarnOfWhatIsMissing(invocation.world, opened->store(), plan);
        KV_TRY(state, StateToShow(invocation.world, opened->store(), plans, plan));
        return {};
      }));
  KeyPrinter printer(invocation.world.out, format == "json");
  const auto shown = [&]() -> Result<void> {
    KV_TRY(mvcc::ReadView view, state.replay->store().Read());
    KV_RETURN_IF_ERROR(view.Range({.key = keys.key, .range_end = keys.range_end}, printer));
    return {};
  }();
  if (!shown.has_value()) return ctl::FailLocally(shown.error());
  LogInfo(invocation.world, "shown as of",
          {{"revision", std::to_string(state.replay->revision())},
           {"index", std::to_string(state.replay->applied().value())}});
  return {};
}

}  // namespace

Command ArchiveShowCommand() {
  std::vector<ctl::Flag> flags = ArchiveTargetFlags(TargetFlags::kShow);
  flags.insert(flags.end(), {{"key", FlagType::kString, "", "the key to show"},
                             {"prefix", FlagType::kString, "",
                              "shows the keys that begin so; empty: all keys"}});
  return {
      .use = "show --url U [--revision R | --time T] {--key K | --prefix P}",
      .brief = "Shows keys as they were at a revision or a time",
      .description =
          R"(Prints keys and values in the state that the cluster had at a revision or a time, or in the newest
one that the archive has. The state is made in the folder for temporary files ($TMPDIR), which needs
room for the database twice, and is removed afterwards. With -w json each key is an object in a line,
with key and value in base64.
)",
      .flags = std::move(flags),
      .run = RunArchiveShow};
}

}  // namespace kvorum::utl
