#include "client/token_source.h"

#include <algorithm>
#include <utility>

#include "base/api_errors.h"

namespace kvorum::client {
namespace {

constexpr std::chrono::seconds kRefusalHolds(1);

// True if the server has refused the log-in; false if it was not reached in this caller's time.
bool IsRefusal(const Error& error) {
  return error.code != Code::kDeadlineExceeded && error.code != Code::kUnavailable &&
         error.code != Code::kCanceled;
}

bool WaitUntil(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
               TokenSource::TimePoint deadline, const std::function<bool()>& done) {
  // Waiting until the maximum time overflows in some libraries.
  if (deadline == TokenSource::TimePoint::max()) {
    condition.wait(lock, done);
    return true;
  }
  return condition.wait_until(lock, deadline, done);
}

}  // namespace

bool IsHeaderText(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

TokenSource::TokenSource(std::string token, LogIn log_in, Now now)
    : log_in_(std::move(log_in)), now_(std::move(now)), token_{.text = std::move(token)} {}

Token TokenSource::Current() const {
  const std::lock_guard lock(mutex_);
  return token_;
}

Result<void> TokenSource::Renew(std::uint64_t generation, TimePoint deadline) {
  {
    std::unique_lock lock(mutex_);
    if (!WaitUntil(renewed_, lock, deadline, [this] { return !is_renewing_; }))
      return kErrDeadlineExceeded.Fail();
    if (token_.generation > generation) return {};
    if (refusal_ && now_() < refusal_->until) return Fail(refusal_->error);
    is_renewing_ = true;
  }
  return Finish(log_in_(deadline));
}

Result<void> TokenSource::Finish(Result<std::string> token) {
  const std::lock_guard lock(mutex_);
  is_renewing_ = false;
  renewed_.notify_all();
  refusal_.reset();
  if (token) {
    token_.text = *std::move(token);
    ++token_.generation;
    return {};
  }
  if (IsRefusal(token.error())) refusal_ = {token.error(), now_() + kRefusalHolds};
  return Fail(std::move(token).error());
}

}  // namespace kvorum::client
