#include <algorithm>
#include <ostream>

#include "client/lease_session.h"
#include "client/mutex.h"
#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/run_program.h"
#include "tools/shell/stop_signals.h"

namespace kvorum::ctl {
namespace {

// Variables that the environment already has are not changed.
std::vector<std::string> WithLock(std::vector<std::string> environment,
                                  const client::Mutex& mutex) {
  const std::string key = "ETCD_LOCK_KEY=";
  const std::string revision = "ETCD_LOCK_REV=";
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(environment, [&](const auto& v) { return v.starts_with(name); });
  };
  if (!has(key)) environment.push_back(key + mutex.key());
  if (!has(revision)) environment.push_back(revision + std::to_string(mutex.revision()));
  return environment;
}

// Signals do not end the program, nor the lock before it.
Outcome<void> RunLocked(Invocation& invocation, client::Mutex& mutex, StopSignals& signals) {
  invocation.world.out.flush();
  std::expected<ProgramEnd, std::string> ended;
  signals.RunThrough([&] {
    ended = RunProgram(std::span(invocation.args).subspan(1),
                       WithLock(invocation.world.environment, mutex));
  });
  const auto unlocked = mutex.Unlock();
  if (!ended) return Fail(ExitCode::kError, ended.error());
  if (!ended->reason.empty()) return Fail(static_cast<ExitCode>(ended->code), ended->reason);
  KV_RETURN_IF_ERROR(unlocked);
  return {};
}

// Shows the key, and holds the lock until it is stopped.
Outcome<void> HoldLock(Invocation& invocation, Printer& printer, client::LeaseSession& lease,
                       client::Mutex& mutex, const std::stop_token& stop) {
  etcdserverpb::RangeRequest request;
  request.set_key(mutex.key());
  KV_TRY(const auto key, lease.client().Range(request));
  if (key.kvs_size() == 0) return Fail(ExitCode::kError, "lock lost on init");
  auto shown = printer.Get(key);
  invocation.world.out.flush();
  if (shown && lease.WaitForEnd(stop)) return Fail(ExitCode::kError, "session expired");
  const auto unlocked = mutex.Unlock();
  if (shown) KV_RETURN_IF_ERROR(unlocked);
  return shown;
}

Outcome<void> RunLock(Invocation& invocation) {
  if (invocation.args.empty()) {
    return BadArguments("lock takes a lock name argument and an optional command to execute");
  }
  StopSignals signals;
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  KV_TRY(const auto lease,
         client::LeaseSession::Open(*client, {.ttl_s = invocation.flags.Int("ttl")}));
  client::Mutex mutex(*lease, invocation.args.front());
  KV_RETURN_IF_ERROR(mutex.Lock(signals.token()));
  if (invocation.args.size() > 1) return RunLocked(invocation, mutex, signals);
  return HoldLock(invocation, session.printer(), *lease, mutex, signals.token());
}

}  // namespace

Command LockCommand() {
  return {.use = "lock <lockname> [exec-command arg1 arg2 ...]",
          .brief = "Acquires a named lock",
          .description =
              R"(Waits for the lock, shows its key, and holds it until it is interrupted.

With a command, runs it while the lock is held, with ETCD_LOCK_KEY and ETCD_LOCK_REV in its
environment, and ends with its exit code. Flags of the command come behind `--`.
)",
          .group = kConcurrencyGroup,
          .flags = {{"ttl", FlagType::kInt, "10", "timeout for session"}},
          .run = RunLock};
}

}  // namespace kvorum::ctl
