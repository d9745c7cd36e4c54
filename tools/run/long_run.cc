#include "tools/run/long_run.h"

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/text/json.h"

namespace kvorum::ctl {

Flag LongRun::MetricsFlag() {
  return {"metrics-address", FlagType::kString, "",
          "serve metrics for Prometheus at this HOST:PORT, under /metrics"};
}

Flag LongRun::ServedSocketFlag() {
  return {"socket", FlagType::kString, "", "answer other kvorumctl commands at this unix socket"};
}

Flag SocketFlag() {
  return {.name = "socket",
          .type = FlagType::kString,
          .help = "the unix socket of the running command",
          .required = true};
}

Outcome<void> OfThisMachine(Result<void> result) {
  if (!result) return Fail(ExitCode::kError, std::move(result).error().message);
  return {};
}

Outcome<std::unique_ptr<LongRun>> LongRun::Open(Invocation& invocation, ReporterOptions options) {
  auto signals = std::make_unique<StopSignals>();
  KV_TRY(Session session, Session::Open(invocation));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json"}));
  options.in_json = format == "json";
  options.stop = signals->token();
  std::unique_ptr<LongRun> run(
      new LongRun(invocation, std::move(signals), std::move(session), std::move(options)));
  const std::string& address = invocation.flags.String("metrics-address");
  if (!address.empty()) {
    auto endpoint = MetricsEndpoint::Open(address, run->metrics_);
    if (!endpoint && endpoint.error().code == Code::kInvalidArgument)
      return BadArguments("--metrics-address " + endpoint.error().message);
    KV_TRY(run->endpoint_, OfThisMachine(std::move(endpoint)));
    const std::string& bound = run->endpoint_->address();
    run->reporter_.Event("metrics", {{"address", JsonString(bound)}},
                         "metrics at http://" + bound + "/metrics");
  }
  return run;
}

LongRun::LongRun(Invocation& invocation, std::unique_ptr<StopSignals> signals, Session session,
                 ReporterOptions options)
    : signals_(std::move(signals)),
      session_(std::move(session)),
      socket_(invocation.flags.Find("socket") == nullptr ? std::string()
                                                         : invocation.flags.String("socket")),
      reporter_(invocation.world, std::move(options)) {}

Outcome<void> LongRun::Serve(Executor& executor, ControlHandlers handlers) {
  if (socket_.empty()) return {};
  KV_TRY(control_, OfThisMachine(ControlServer::Open(socket_, executor, std::move(handlers))));
  return {};
}

void LongRun::WaitForStop() const {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, signals_->token(), [] { return false; });
}

void LongRun::StopServing() { control_ = nullptr; }

}  // namespace kvorum::ctl
