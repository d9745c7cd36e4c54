#include "tools/exec_thread.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tools/run_program.h"

namespace kvorum::ctl {

ExecThread::ExecThread(std::string command, std::vector<std::string> environment,
                       Reporter& reporter, Next next)
    : command_({"/bin/sh", "-c", std::move(command)}),
      environment_(std::move(environment)),
      reporter_(reporter),
      next_(std::move(next)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void ExecThread::Wake() {
  {
    const std::lock_guard lock(mutex_);
    is_due_ = true;
  }
  wake_.notify_one();
}

void ExecThread::Run(const std::stop_token& stop) {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [this] { return is_due_; })) return;
      is_due_ = false;
    }
    while (!stop.stop_requested()) {
      const auto run = next_();
      if (!run) break;
      RunOnce(*run, stop);
    }
  }
}

void ExecThread::RunOnce(const ExecRun& run, const std::stop_token& stop) {
  std::vector<std::string> environment = run.environment;
  const auto is_set = [&](std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    return std::ranges::any_of(run.environment,
                               [&](const auto& each) { return each.starts_with(name); });
  };
  for (const std::string& variable : environment_) {
    if (!is_set(variable)) environment.push_back(variable);
  }
  const auto ended = RunProgram(command_, environment,
                                {.input = run.input, .output_to_error = true, .stop = stop});
  if (stop.stop_requested()) return;
  const std::string why = ended ? ended->reason : ended.error();
  if (!why.empty()) reporter_.Warn(run.about + ": --exec: " + why);
}

}  // namespace kvorum::ctl
