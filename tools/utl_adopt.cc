// "adopt" and "release": a member's directory goes from etcd to kvorum, and back.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "base/file_system.h"
#include "base/human_bytes.h"
#include "datadir/adopt.h"
#include "datadir/release.h"
#include "mvcc/backend.h"
#include "tools/progress_bar.h"
#include "tools/utl_commands.h"

namespace kvorum::utl {
namespace {

using ctl::Command;
using ctl::Flag;
using ctl::FlagType;
using ctl::Invocation;
using ctl::Outcome;
using ctl::ProgressBar;

std::vector<Flag> Flags(std::string old_database) {
  return {
      {.name = "data-dir",
       .type = FlagType::kString,
       .help = "path of the member's directory",
       .required = true},
      {.name = "wal-dir",
       .type = FlagType::kString,
       .help = "path of its log, if that is somewhere else"},
      {.name = "drop-old",
       .type = FlagType::kSwitch,
       .help = "remove " + std::move(old_database) + ", which is kept otherwise"},
  };
}

// Tells a bar on another thread the progress of a long copy.
class CopyProgress {
 public:
  datadir::OnProgress Callback() {
    return [this](std::uint64_t done, std::uint64_t total) {
      total_ = total;
      done_ = done;
    };
  }

  ProgressBar::State State() const {
    const std::uint64_t done = done_;
    const std::uint64_t total = std::max<std::uint64_t>(total_, 1);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
    const double rate = static_cast<double>(done) / std::max(took.count(), 1e-3);
    std::string text = fmt::format("{} of {}", HumanBytes(done), HumanBytes(total_));
    if (done > 0) {
      text += fmt::format(", {}/s", HumanBytes(static_cast<std::uint64_t>(rate)));
      if (done < total)
        text += fmt::format(", {:.0f} s left", static_cast<double>(total - done) / rate);
    }
    return {static_cast<double>(done) / static_cast<double>(total), std::move(text)};
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> total_{0};
};

template <class Options>
Outcome<Options> OptionsOf(const Invocation& invocation, mvcc::CommitSync sync) {
  if (!invocation.args.empty())
    return ctl::BadArguments(fmt::format("{} takes no arguments", invocation.path.back()->name()));
  return Options{.data_dir = invocation.flags.String("data-dir"),
                 .wal_dir = invocation.flags.String("wal-dir"),
                 .open =
                     [sync](const std::string& path) {
                       return mvcc::OpenLmdbBackend({.path = path, .sync = sync});
                     },
                 .drop_old = invocation.flags.Switch("drop-old"),
                 .on_progress = {}};
}

// Runs it beside a bar. The line after the bar is the caller's.
template <class Options, class Done>
Outcome<Done> RunWithBar(Invocation& invocation, mvcc::CommitSync sync,
                         Result<Done> (*run)(FileSystem& fs, const Options& options)) {
  KV_TRY(Options options, OptionsOf<Options>(invocation, sync));
  CopyProgress progress;
  options.on_progress = progress.Callback();
  const ProgressBar bar(invocation.world, [&] { return progress.State(); });
  Result<Done> done = run(PosixFileSystem(), options);
  if (!done.has_value()) return Fail(ctl::ExitCode::kError, done.error().message);
  return *std::move(done);
}

Outcome<void> RunAdopt(Invocation& invocation) {
  KV_TRY(const datadir::Adopted done,
         RunWithBar(invocation, mvcc::CommitSync::kByHand, datadir::Adopt));
  std::ostream& out = invocation.world.out;
  const std::string data_dir = invocation.flags.String("data-dir");
  if (done.was_ours) {
    out << fmt::format("{} is kvorum's already.\n", data_dir);
  } else if (done.member != raft::kNone) {
    out << fmt::format(
        "Adopted member {:x} of cluster {:x}: {} records at log index {}; the log goes on to {}.\n",
        done.member.value(), done.cluster, done.records, done.applied.value(),
        done.last_index.value());
  } else {
    out << fmt::format("Finished the adoption of {}.\n", data_dir);
  }
  if (!done.kept.empty())
    out << fmt::format("etcd's database is kept as {}; --drop-old removes it.\n", done.kept);
  return {};
}

Outcome<void> RunRelease(Invocation& invocation) {
  KV_TRY(const datadir::Released done,
         RunWithBar(invocation, mvcc::CommitSync::kEachCommit, datadir::Release));
  std::ostream& out = invocation.world.out;
  const std::string data_dir = invocation.flags.String("data-dir");
  if (done.was_etcds) {
    out << fmt::format("{} is etcd's already.\n", data_dir);
  } else if (done.member != raft::kNone) {
    out << fmt::format(
        "Released member {:x} of cluster {:x} at log index {}; the log goes on to {}. The storage "
        "version is {}.\n",
        done.member.value(), done.cluster, done.applied.value(), done.last_index.value(),
        done.storage_version.empty() ? "that of 3.5" : done.storage_version);
  } else {
    out << fmt::format("Finished the release of {}.\n", data_dir);
  }
  if (!done.kept.empty())
    out << fmt::format("kvorum's database is kept as {}; --drop-old removes it.\n", done.kept);
  return {};
}

}  // namespace

Command AdoptCommand() {
  return {
      .use = "adopt --data-dir dir",
      .brief = "Makes the directory of a stopped etcd member kvorum's",
      .description =
          R"(Turns the directory of an etcd member (3.4 to 3.7) that does not run into one of kvorum's. The
member keeps its id, its cluster, and all that is in its log and its database.

Etcd's database is kept beside the new one. Where this was interrupted, the same command goes on.
)",
      .flags = Flags("etcd's database"),
      .run = RunAdopt};
}

Command ReleaseCommand() {
  return {
      .use = "release --data-dir dir",
      .brief = "Makes the directory of a stopped kvorum member etcd's",
      .description =
          R"(Turns the directory of a kvorum member that does not run into one from which etcd of the cluster's
version starts: the way back of adopt.

Kvorum's database is kept beside the new one. Where this was interrupted, the same command goes on.
)",
      .flags = Flags("kvorum's database"),
      .run = RunRelease};
}

}  // namespace kvorum::utl
