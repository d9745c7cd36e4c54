// "verify": would a member start from its directory, and what is lost if not?
#include <algorithm>
#include <chrono>
#include <string>

#include "base/file_system.h"
#include "datadir/acting_as_owner.h"
#include "datadir/verify.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/step_progress.h"
#include "tools/utl/utl_commands.h"
#include "tools/utl/utl_printer.h"

namespace kvorum::utl {
namespace {

using ctl::Command;
using ctl::FlagType;
using ctl::Invocation;
using ctl::Outcome;

Outcome<void> RunVerify(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckFormat(invocation));
  if (!invocation.args.empty()) return ctl::BadArguments("verify takes no arguments");
  auto acting = datadir::ActingAsOwner::OfMember(invocation.flags.String("data-dir"));
  if (!acting.has_value()) return Fail(ctl::ExitCode::kError, acting.error().message);
  const std::string data_dir = acting->Reach(invocation.flags.String("data-dir"));
  const std::string wal_dir = acting->Reach(invocation.flags.String("wal-dir"));
  ctl::StepProgress progress;
  auto verified = [&] {
    const ctl::ProgressBar bar(invocation.world, [&] { return progress.State(); }, ctl::kBarDelay);
    return datadir::Verify(
        PosixFileSystem(), data_dir, wal_dir,
        std::chrono::duration_cast<Duration>(invocation.flags.Duration("timeout")),
        progress.Callback());
  }();
  if (!verified.has_value())
    return Fail(ctl::ExitCode::kError, acting->Named(verified.error()).message);
  for (auto* texts : {&verified->problems, &verified->lost, &verified->notes})
    std::ranges::transform(*texts, texts->begin(),
                           [&](const std::string& text) { return acting->Named(text); });
  KV_RETURN_IF_ERROR(PrintVerified(invocation, *verified));
  // Everything was said already.
  if (!verified->would_start()) return Fail(ctl::ExitCode::kError, "");
  return {};
}

}  // namespace

Command VerifyCommand() {
  return {
      .use = "verify --data-dir dir",
      .brief = "Checks whether a stopped member would start and reports what is lost if not",
      .description =
          R"(Reads the log, its markers, the snapshot files and the database of a member of kvorum or etcd that
does not run, with all checksums that there are, and changes nothing. The exit code is 0 if the
member would start.
)",
      .flags = {{.name = "data-dir",
                 .type = FlagType::kString,
                 .help = "path of the member's directory",
                 .required = true},
                {"wal-dir", FlagType::kString, "",
                 "path of its log, if it is outside the data directory"}},
      .run = RunVerify};
}

}  // namespace kvorum::utl
