#include <chrono>
#include <memory>
#include <thread>

#include "datadir/database_file.h"
#include "mvcc/backend.h"
#include "tools/utl_commands.h"
#include "tools/utl_database.h"

namespace kvorum::utl {
namespace {

using ctl::Outcome;

constexpr std::chrono::milliseconds kLockPause(50);

// Waits for the process that has it open.
Result<std::unique_ptr<mvcc::Backend>> OpenAlone(const std::string& path, Duration timeout) {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    auto backend = mvcc::OpenLmdbBackend({.path = path});
    if (backend.has_value() || backend.error().code != Code::kFailedPrecondition) return backend;
    if (timeout.count() > 0 && std::chrono::steady_clock::now() - begin >= timeout) return backend;
    std::this_thread::sleep_for(kLockPause);
  }
}

Result<void> Defragment(const std::string& path, Duration timeout) {
  KV_TRY(const datadir::DatabaseKind kind, datadir::KindOfDatabase(path));
  if (kind != datadir::DatabaseKind::kKvorum) {
    return kvorum::Fail(Code::kFailedPrecondition,
                        path + " is a database of etcd: its own etcdutl defragments it");
  }
  KV_TRY(const auto backend, OpenAlone(path, timeout));
  KV_TRY(auto copy, backend->StartDefragment());
  KV_RETURN_IF_ERROR(copy->Copy());
  const auto finished = backend->FinishDefragment(std::move(copy));
  if (!finished.has_value()) return std::unexpected(finished.error().error);
  return {};
}

Outcome<void> RunDefrag(ctl::Invocation& invocation) {
  const std::string& dir = invocation.flags.String("data-dir");
  const std::string path = dir + "/member/snap/db";
  const auto failed = [&dir](const std::string& why) {
    return Fail(ctl::ExitCode::kError, "Failed to defragment etcd data[" + dir + "] (" + why + ")");
  };
  if (const auto there = CheckFile(path); !there) return failed(there.error().message);
  const auto done = Defragment(path, invocation.flags.Duration("timeout"));
  if (!done.has_value()) return failed(done.error().message);
  return {};
}

}  // namespace

ctl::Command DefragCommand() {
  return {.use = "defrag",
          .brief = "Defragments the storage of a member that is stopped",
          .description =
              "Writes the database anew without what deletions have left free. A member that runs "
              "does it by\n`kvorumctl defrag`, while it goes on serving.",
          .flags = {{.name = "data-dir",
                     .type = ctl::FlagType::kString,
                     .help = "Required. Defragments a data directory not in use by a server.",
                     .required = true}},
          .run = RunDefrag};
}

}  // namespace kvorum::utl
