#include "rpc/call_context.h"

#include <utility>

#include "rpc/service.h"

namespace kvorum::rpc {

std::string_view CallContext::path() const {
  return method_ == nullptr ? std::string_view() : std::string_view(method_->path);
}

std::vector<std::string_view> CallContext::MetadataValues(std::string_view name) const {
  std::vector<std::string_view> values;
  metadata_.ForEach([&](std::string_view other, std::string_view value) {
    if (other == name) values.push_back(value);
  });
  return values;
}

Error CallContext::cancel_reason() const {
  std::lock_guard lock(mutex_);
  return cancel_reason_;
}

void CallContext::OnCancel(CancelCallback callback) {
  Error reason;
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::kRunning) {
      cancel_callbacks_.push_back(std::move(callback));
      return;
    }
    if (state_ == State::kDone) return;
    reason = cancel_reason_;
  }
  callback(reason);
}

void CallContext::Cancel(Error reason) {
  std::vector<CancelCallback> callbacks;
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::kRunning) return;
    state_ = State::kCancelled;
    cancel_reason_ = reason;
    callbacks.swap(cancel_callbacks_);
    cancelled_.store(true, std::memory_order_release);
  }
  for (CancelCallback& callback : callbacks) callback(reason);
}

void CallContext::Done() {
  std::vector<CancelCallback> dropped;  // destroyed outside of the lock
  std::lock_guard lock(mutex_);
  if (state_ != State::kRunning) return;
  state_ = State::kDone;
  dropped.swap(cancel_callbacks_);
}

}  // namespace kvorum::rpc
