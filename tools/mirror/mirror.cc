// kvorumctl mirror: the keys of a prefix as files.
#include <atomic>
#include <memory>
#include <utility>

#include "sync/store/client_store.h"
#include "tools/mirror/mirror_commands.h"
#include "tools/mirror/mirror_sync.h"
#include "tools/run/exec_counts.h"
#include "tools/run/long_run.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/exec_thread.h"
#include "tools/text/json.h"

namespace kvorum::ctl {
namespace {

// Values may be large, and a page of them is in memory at once.
constexpr std::size_t kMirrorPageKeys = 100;

// Runs the program once for all that has changed since it was last begun, and until it has
// succeeded for the newest: the folder remembers for the next start that it has not.
class BatchProgram {
 public:
  BatchProgram(const std::string& command, const World& world, LongRun& run, std::string name,
               MirrorFolder& folder)
      : name_(std::move(name)),
        mark_(folder.mark()),
        counts_(run.metrics()),
        thread_(command, world.environment, run.reporter(),
                {.next = [this] { return Next(); },
                 .ended = [this](bool is_ok) { Ended(is_ok); },
                 .retry = [this] { Retry(); }}) {}

  void Run(std::int64_t revision) {
    revision_ = revision;
    thread_.Wake();
  }

 private:
  std::optional<ExecRun> Next() {
    running_changes_ = mark_.changes();
    running_ = revision_.exchange(0);
    if (running_ == 0) return std::nullopt;
    return ExecRun{
        .about = name_,
        .environment = {"KVORUM_MIRROR=" + name_, "KVORUM_REVISION=" + std::to_string(running_)}};
  }

  void Ended(bool is_ok) {
    failed_ = is_ok ? 0 : running_;
    counts_.Ended(is_ok, is_ok ? 0 : 1);
    if (is_ok) mark_.Clear(running_changes_);
  }

  // A newer revision, if there is one, stands for the one that failed.
  void Retry() {
    counts_.Due();
    std::int64_t none = 0;
    if (failed_ != 0) revision_.compare_exchange_strong(none, failed_);
  }

  const std::string name_;
  MirrorMark& mark_;
  std::atomic<std::int64_t> revision_ = 0;  // 0: nothing has changed
  // The thread's.
  ExecCounts counts_;
  std::int64_t running_ = 0;
  std::int64_t failed_ = 0;  // 0: the last run has succeeded
  std::uint64_t running_changes_ = 0;
  ExecThread thread_;
};

// The numbers of the terminal's line.
struct MirrorCounts {
  std::atomic<std::int64_t> revision = 0;  // 0: the first list has not ended
  std::atomic<std::size_t> files = 0;
  std::atomic<std::size_t> skipped = 0;

  void Take(const MirrorBatch& batch) {
    files = batch.files;
    skipped = batch.skipped;
    revision = batch.revision;
  }
  std::string Line() const {
    if (revision == 0) return "listing";
    std::string line = std::to_string(files) + " files at revision " + std::to_string(revision);
    if (skipped > 0) line += ", " + std::to_string(skipped) + " keys without a file";
    return line;
  }
};

void TellList(Reporter& reporter, const MirrorCounts& counts) {
  reporter.Event("synced",
                 {{"files", std::to_string(counts.files)},
                  {"revision", std::to_string(counts.revision)},
                  {"skipped", std::to_string(counts.skipped)}},
                 "synced: " + counts.Line());
}

MirrorEvents Tell(Reporter& reporter, MirrorCounts& counts, const MirrorMark& mark,
                  BatchProgram* program) {
  const auto tell = [&reporter](std::string_view name) {
    return [&reporter, name](const std::string& path) {
      reporter.Event(name, {{"path", JsonString(path)}}, std::string(name) + " " + ShownName(path));
    };
  };
  return {.on_written = tell("written"),
          .on_removed = tell("removed"),
          .on_warning = [&reporter](const std::string& text) { reporter.Warn(text); },
          .on_batch =
              [&reporter, &counts, &mark, program](const MirrorBatch& batch) {
                counts.Take(batch);
                if (batch.ends_list) TellList(reporter, counts);
                const bool is_due = batch.changed > 0 || (batch.ends_list && mark.is_set());
                if (program != nullptr && is_due) program->Run(batch.revision);
              }};
}

Outcome<void> RunMirror(Invocation& invocation) {
  if (invocation.args.size() != 2) return BadArguments("mirror takes a prefix and a folder");
  std::string prefix = invocation.args[0];
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  const std::string& folder_name = invocation.args[1];
  MirrorCounts counts;
  const auto progress = [&counts, shown = ShownName(folder_name)] {
    return shown + ": " + counts.Line();
  };
  KV_TRY(const auto run, LongRun::Open(invocation, {.progress = progress}));
  KV_TRY(const auto client, run->session().Connect());
  KV_TRY(const auto folder, OfThisMachine(MirrorFolder::Open(folder_name, prefix)));

  std::unique_ptr<BatchProgram> program;
  if (const std::string& command = invocation.flags.String("exec"); !command.empty())
    program = std::make_unique<BatchProgram>(command, invocation.world, *run, folder_name, *folder);
  ThreadExecutor executor("mirror");
  sync::ClientStore store(*client);
  MirrorSync mirror(store, executor, *folder,
                    {.prefix = prefix, .page_keys = kMirrorPageKeys, .metrics = &run->metrics()},
                    Tell(run->reporter(), counts, folder->mark(), program.get()));
  mirror.Start();
  run->WaitForStop();
  mirror.Stop();
  return {};
}

}  // namespace

Command MirrorCommand() {
  return {
      .use = "mirror [options] <prefix> <folder>",
      .brief = "Keeps the keys of a prefix as files",
      .description =
          R"(Writes the value of each key PREFIX/PATH to FOLDER/PATH, then every change as it comes, until it is
interrupted. A file appears whole or not at all, and goes with its key; folders that are left empty
go too. After a restart the folder is made equal to the store again; files whose content is equal
are not touched. Only files that the mirror made are removed: FOLDER/.kvorum-mirror lists them.

A key whose path is not one (an empty part, a dot or two dots, a zero byte, a part of more than 255
bytes) is named in a warning and has no file. Nor has a key with keys below it, a beside a/b, as
long as there are any. Symbolic links are not followed.

The shell command of --exec is run when files have changed, once for all changes that came while it
ran, with KVORUM_MIRROR (the folder) and KVORUM_REVISION in its environment. A run that failed, or
was cut off by a stop or a crash, is shown and run again: after a second, then after pauses of up to
half a minute, and by the next start. Its output goes to the error stream. ETCDCTL_PASSWORD is not in
its environment.
)",
      .group = kSyncGroup,
      .flags = {{"exec", FlagType::kString, "", "run this shell command after files have changed"},
                LongRun::MetricsFlag()},
      .run = RunMirror};
}

}  // namespace kvorum::ctl
