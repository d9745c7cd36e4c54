// The frame of a command that runs until it is stopped: SIGTERM and SIGINT as a clean end,
// what it says (reporter.h), its metrics over HTTP (--metrics-address), its control socket
// (--socket).
//
//   KV_TRY(const auto run, LongRun::Open(invocation, {.prefix = "n1: "}));
//   KV_TRY(const auto client, run->session().Connect());
//   ... build what works, with run->metrics() and run->reporter(), on an executor ...
//   KV_RETURN_IF_ERROR(run->Serve(executor, std::move(handlers)));
//   run->WaitForStop();
//   run->StopServing();
//   ... end what works ...
//   return {};  // exit code 0; the reporter writes the rest
//
// Threading: used by the command's thread; reporter, metrics and token are thread-safe. To be
// opened before any thread exists (stop_signals.h), and to be destroyed after what uses it.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "base/task.h"
#include "sync/kernel/metrics.h"
#include "tools/run/control.h"
#include "tools/run/control_server.h"
#include "tools/run/metrics_endpoint.h"
#include "tools/session/session.h"
#include "tools/shell/command.h"
#include "tools/shell/reporter.h"
#include "tools/shell/stop_signals.h"

namespace kvorum::ctl {

class LongRun {
 public:
  // --metrics-address, which every such command has.
  static Flag MetricsFlag();
  // --socket, of those that call Serve.
  static Flag ServedSocketFlag();
  // Sets in_json and stop of the options. Refuses output formats other than simple and json, and
  // addresses that it cannot serve metrics at.
  static Outcome<std::unique_ptr<LongRun>> Open(Invocation& invocation, ReporterOptions options);
  LongRun(const LongRun&) = delete;
  LongRun& operator=(const LongRun&) = delete;

  const Session& session() const { return session_; }
  Reporter& reporter() { return reporter_; }
  sync::Metrics& metrics() { return metrics_; }
  std::stop_token token() const { return signals_->token(); }

  // Opens the control socket, if the line names one. Handlers are called on the executor.
  Outcome<void> Serve(Executor& executor, ControlHandlers handlers);
  void WaitForStop() const;
  // No handler is called once it has returned. To be called before what handlers use is gone.
  void StopServing();

 private:
  LongRun(Invocation& invocation, std::unique_ptr<StopSignals> signals, Session session,
          ReporterOptions options);

  const std::unique_ptr<StopSignals> signals_;
  Session session_;
  const std::string socket_;
  sync::Metrics metrics_;
  Reporter reporter_;
  std::unique_ptr<MetricsEndpoint> endpoint_;
  std::unique_ptr<ControlServer> control_;
};

// The --socket of the commands that ask a running one.
Flag SocketFlag();

// An error of this machine's, which no server said: the text alone, without a code.
Outcome<void> OfThisMachine(Result<void> result);
template <class T>
Outcome<T> OfThisMachine(Result<T> result) {
  if (!result) return Fail(ExitCode::kError, std::move(result).error().message);
  return *std::move(result);
}

}  // namespace kvorum::ctl
