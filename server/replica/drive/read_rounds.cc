#include "server/replica/drive/read_rounds.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/api_errors.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"

namespace kvorum::server {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(500);

}  // namespace

void ReadRounds::Add(std::vector<ReadTask> tasks, TimePoint now) {
  for (ReadTask& task : tasks)
    next_.push_back({.task = std::move(task), .deadline = now + timeout_});
  AskNext(now);
}

void ReadRounds::AskNext(TimePoint now) {
  if (!asked_.empty() || next_.empty()) return;
  asked_ = std::exchange(next_, {});
  asked_at_ = now;
  counts_.rounds.Add();
  context_ = ask_();
}

std::vector<ReadRounds::Read> ReadRounds::TakeConfirmed(std::uint64_t context) {
  if (asked_.empty() || context != context_) return {};
  return std::exchange(asked_, {});
}

void ReadRounds::AskAgain(TimePoint now) {
  if (asked_.empty()) return;
  std::ranges::move(next_, std::back_inserter(asked_));
  next_.clear();
  asked_at_ = now;
  counts_.rounds.Add();
  context_ = ask_();
}

void ReadRounds::LeaderFound(TimePoint now) { AskAgain(now); }

void ReadRounds::Tick(TimePoint now) {
  const auto fail_expired = [&](std::vector<Read>& reads) {
    std::vector<Read> expired;
    std::erase_if(reads, [&](Read& read) {
      if (now < read.deadline) return false;
      expired.push_back(std::move(read));
      return true;
    });
    counts_.expired.Add(expired.size());
    for (Read& read : expired) read.task(kErrTimeout.Fail());
  };
  fail_expired(asked_);
  fail_expired(next_);
  if (asked_.empty()) {
    AskNext(now);
  } else if (now >= asked_at_ + kRetry) {
    counts_.repeated.Add();
    KV_WARN("waiting for ReadIndex response took too long, retrying",
            {"retry-timeout", FormatDuration(kRetry)}, {"reads", asked_.size()});
    AskAgain(now);
  }
}

void ReadRounds::FailAll(const Error& error) {
  const Result<void> failed = std::unexpected(error);
  for (Read& read : std::exchange(asked_, {})) read.task(failed);
  for (Read& read : std::exchange(next_, {})) read.task(failed);
}

}  // namespace kvorum::server
