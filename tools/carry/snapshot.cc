#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <ostream>
#include <thread>

#include "base/file_system.h"
#include "base/words.h"
#include "client/client.h"
#include "tools/carry/carry_commands.h"
#include "tools/carry/snapshot_download.h"
#include "tools/session/session.h"
#include "tools/session/table.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/progress_bar.h"

namespace kvorum::ctl {
namespace {

using DownloadClock = std::chrono::steady_clock;

constexpr std::string_view kSeriesPart = "snapshot.part";

ProgressBar::State StateOf(const DownloadProgress& progress, DownloadClock::time_point begin) {
  const std::uint64_t done = progress.done_bytes;
  const std::uint64_t whole = progress.whole_bytes;
  if (whole == 0) return {.share = 0, .text = "waiting for the member"};
  return ByteProgress(done, whole,
                      std::chrono::duration<double>(DownloadClock::now() - begin).count());
}

class Saves {
 public:
  static Outcome<Saves> Open(Invocation& invocation) {
    KV_TRY(auto session, Session::Open(invocation));
    KV_TRY(const auto endpoints, session.Endpoints());
    if (endpoints.size() != 1) {
      return Fail(ExitCode::kInterrupted,
                  "snapshot must be requested to one selected node, not multiple [" +
                      Join(endpoints, " ") + "]");
    }
    return Saves(invocation, std::move(session));
  }

  Outcome<void> SaveTo(const std::string& path) {
    return Save({.path = path,
                 .part_path = path + ".part",
                 .compress = invocation_.flags.Switch("compress")});
  }

  // One more snapshot of the series in the folder, and the oldest ones gone.
  Outcome<void> SaveToSeries(const std::string& folder) {
    const bool compress = invocation_.flags.Switch("compress");
    const std::string name = SeriesName(std::time(nullptr), compress);
    KV_RETURN_IF_ERROR(Save({.path = (folder + "/").append(name),
                             .part_path = (folder + "/").append(kSeriesPart),
                             .compress = compress}));
    const std::uint64_t keep = invocation_.flags.Uint("keep");
    if (keep == 0) return {};
    const auto names = PosixFileSystem().List(folder);
    if (!names.has_value()) return Fail(ExitCode::kError, names.error().message);
    for (const std::string& outdated : OutdatedNames(*names, keep, name)) {
      const auto removed = PosixFileSystem().Remove((folder + "/").append(outdated));
      if (!removed.has_value()) return Fail(ExitCode::kError, removed.error().message);
    }
    return {};
  }

  // Until the process is ended. A failed save is reported, and the next one is made at its time.
  Outcome<void> Repeat(const std::string& folder, std::chrono::nanoseconds interval) {
    // A save that takes longer than the interval puts the next one off: none are made up for.
    for (DownloadClock::time_point next = DownloadClock::now();;
         next = std::max(next + interval, DownloadClock::now())) {
      std::this_thread::sleep_until(next);
      if (const auto saved = SaveToSeries(folder); !saved)
        invocation_.world.err << "Error: " << saved.error().message << '\n' << std::flush;
      invocation_.world.out.flush();
    }
  }

 private:
  Saves(Invocation& invocation, Session session)
      : invocation_(invocation), session_(std::move(session)) {}

  // Unlike other commands it has no time-out unless one is given.
  client::CallOptions Call() const {
    return invocation_.flags.IsSet("command-timeout") ? session_.Call() : client::CallOptions{};
  }

  Outcome<void> Save(const SnapshotDownload& download) {
    KV_TRY(const auto client, session_.Connect());
    DownloadProgress progress;
    Outcome<std::string> version;
    {
      const ProgressBar bar(invocation_.world, [&progress, begin = DownloadClock::now()] {
        return StateOf(progress, begin);
      });
      version = DownloadSnapshot(*client, Call(), download, progress);
    }
    if (!version) return std::unexpected(version.error());
    invocation_.world.out << "Snapshot saved at " << download.path << '\n';
    if (!version->empty()) invocation_.world.out << "Server version " << *version << '\n';
    return {};
  }

  Invocation& invocation_;
  Session session_;
};

Outcome<void> RunSave(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 1, "snapshot save expects one argument <filename>"));
  const std::string& path = invocation.args.front();
  const FlagSet& flags = invocation.flags;
  const bool repeats = flags.IsSet("every");
  const bool is_series = repeats || flags.IsSet("keep");
  if (repeats && flags.Duration("every") < std::chrono::seconds(1))
    return BadArguments("--every must be at least 1s");
  if (is_series && !std::filesystem::is_directory(path))
    return BadArguments("with --every and --keep the argument is a directory: " + path);
  if (!is_series && std::filesystem::is_directory(path))
    return BadArguments(path +
                        " is a directory: name a file, or save a series by --keep or --every");
  KV_TRY(Saves saves, Saves::Open(invocation));
  if (repeats) return saves.Repeat(path, flags.Duration("every"));
  return is_series ? saves.SaveToSeries(path) : saves.SaveTo(path);
}

}  // namespace

Command SnapshotCommand() {
  return {
      .use = "snapshot <subcommand>",
      .brief = "Manages etcd node snapshots",
      .group = kClusterGroup,
      .children = {
          {.use = "save <filename>",
           .brief = "Stores an etcd node backend snapshot to a given file",
           .description =
               R"(Stores an etcd node backend snapshot to a given file

The file gets its name when it is whole, compared with its SHA-256 and synced; until then it is
<filename>.part. kvorumutl and etcdutl look into it and restore it.

With --every or --keep the argument is a directory, and each snapshot is named by its time (UTC):
snapshot-20261124T093000Z.db. --keep alone saves once, for cron; --every goes on until it is ended,
tells what fails and tries again at the next time. Older snapshots go only after a new one has come,
and no other file is touched.
)",
           .flags =
               {{.name = "compress",
                 .help =
                     "compress with gzip; kvorumutl reads the file directly, etcdutl after gunzip"},
                {"every", FlagType::kDuration, "0s", "save repeatedly at this interval"},
                {"keep", FlagType::kUint, "0",
                 "number of snapshots to keep in the directory (0: all)"}},
           .run = RunSave}}};
}

}  // namespace kvorum::ctl
