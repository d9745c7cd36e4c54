#include "tools/shell/exec_thread.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tools/shell/run_program.h"

namespace kvorum::ctl {

ExecThread::ExecThread(std::string command, const std::vector<std::string>& environment,
                       Reporter& reporter, ExecWork work)
    : command_({"/bin/sh", "-c", std::move(command)}),
      environment_(WithoutSecrets(environment)),
      reporter_(reporter),
      work_(std::move(work)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void ExecThread::Wake() {
  {
    const std::lock_guard lock(mutex_);
    is_due_ = true;
  }
  wake_.notify_one();
}

bool ExecThread::WaitForWork(const std::stop_token& stop) {
  const auto is_due = [this] { return is_due_; };
  std::unique_lock lock(mutex_);
  if (retry_at_ == TimePoint::max())
    wake_.wait(lock, stop, is_due);
  else
    wake_.wait_until(lock, stop, retry_at_, is_due);
  is_due_ = false;
  return !stop.stop_requested();
}

void ExecThread::Run(const std::stop_token& stop) {
  while (WaitForWork(stop)) {
    const bool is_retry = std::chrono::steady_clock::now() >= retry_at_;
    if (is_retry) {
      retry_at_ = TimePoint::max();
      work_.retry();
    }
    bool has_failed = false;
    while (!stop.stop_requested()) {
      const auto run = work_.next();
      if (!run) break;
      const bool is_ok = RunOnce(*run, stop);
      if (stop.stop_requested()) return;
      work_.ended(is_ok);
      has_failed = has_failed || !is_ok;
    }
    if (is_retry && !has_failed) pause_ = kFirstPause;
    if (!has_failed || retry_at_ != TimePoint::max()) continue;
    retry_at_ = std::chrono::steady_clock::now() + pause_;
    pause_ = std::min(pause_ * 2, kLongestPause);
  }
}

bool ExecThread::RunOnce(const ExecRun& run, const std::stop_token& stop) {
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
  if (stop.stop_requested()) return false;
  const std::string why = ended ? ended->reason : ended.error();
  if (!why.empty()) reporter_.Warn(run.about + ": --exec: " + why);
  return why.empty();
}

}  // namespace kvorum::ctl
