#include "rpc/call/call_context.h"

#include <memory>
#include <utility>

#include "rpc/call/service.h"

namespace kvorum::rpc {

std::string_view CallContext::path() const {
  return method_ == nullptr ? std::string_view() : std::string_view(method_->path);
}

Error CallContext::cancel_reason() const {
  std::lock_guard lock(mutex_);
  return cancel_reason_ == nullptr ? Error{} : *cancel_reason_;
}

void CallContext::OnCancel(CancelCallback callback) {
  Error reason;
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::kRunning) {
      if (cancel_callback_ == nullptr) {
        cancel_callback_ = std::move(callback);
      } else {
        if (more_callbacks_ == nullptr)
          more_callbacks_ = std::make_unique<std::vector<CancelCallback>>();
        more_callbacks_->push_back(std::move(callback));
      }
      return;
    }
    if (state_ == State::kDone) return;
    reason = *cancel_reason_;
  }
  callback(reason);
}

void CallContext::Cancel(Error reason) {
  CancelCallback first;
  std::unique_ptr<std::vector<CancelCallback>> more;
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::kRunning) return;
    state_ = State::kCancelled;
    cancel_reason_ = std::make_unique<const Error>(reason);
    first = std::exchange(cancel_callback_, nullptr);
    more = std::move(more_callbacks_);
    cancelled_.store(true, std::memory_order_release);
  }
  if (first != nullptr) first(reason);
  if (more == nullptr) return;
  for (CancelCallback& callback : *more) callback(reason);
}

void CallContext::Done() {
  CancelCallback dropped;  // destroyed outside of the lock, both
  std::unique_ptr<std::vector<CancelCallback>> more_dropped;
  std::lock_guard lock(mutex_);
  if (state_ != State::kRunning) return;
  state_ = State::kDone;
  dropped = std::exchange(cancel_callback_, nullptr);
  more_dropped = std::move(more_callbacks_);
}

}  // namespace kvorum::rpc
