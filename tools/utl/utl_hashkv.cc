#include <memory>

#include "datadir/database_status.h"
#include "mvcc/store/hash.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/step_progress.h"
#include "tools/utl/utl_commands.h"
#include "tools/utl/utl_database.h"
#include "tools/utl/utl_printer.h"

namespace kvorum::utl {
namespace {

ctl::Outcome<void> CheckOneFile(const ctl::Invocation& invocation) {
  if (invocation.args.size() == 1) return {};
  return Fail(ctl::ExitCode::kError,
              "accepts 1 arg(s), received " + std::to_string(invocation.args.size()));
}

std::string_view WithoutPrefix(std::string_view text) {
  constexpr std::string_view kPrefix = "etcdserver: ";
  return text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text;
}

ctl::Outcome<void> RunHashKv(ctl::Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckFormat(invocation));
  const std::string& path = invocation.args.front();
  KV_RETURN_IF_ERROR(CheckFile(path));
  ctl::StepProgress progress;
  KV_TRY(const auto file, OpenDatabase(invocation, path, progress.Callback()));
  const auto hash = [&] {
    const ctl::ProgressBar bar(invocation.world, [&] { return progress.State(); }, ctl::kBarDelay);
    return datadir::ReadHashKv(*file, invocation.flags.Int("rev"));
  }();
  // A server's prefix is not for a file.
  if (!hash.has_value())
    return Fail(ctl::ExitCode::kError, std::string(WithoutPrefix(hash.error().message)));
  return PrintHashKv(invocation, *hash);
}

}  // namespace

ctl::Command HashKvCommand() {
  return {.use = "hashkv <filename>",
          .brief = "Prints the KV history hash of a given file",
          .flags = {{"rev", ctl::FlagType::kInt, "0",
                     "maximum revision to hash (default: latest revision)"}},
          .check = CheckOneFile,
          .run = RunHashKv};
}

}  // namespace kvorum::utl
