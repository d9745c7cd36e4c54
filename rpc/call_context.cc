#include "rpc/call_context.h"

#include <cstring>
#include <utility>

#include "rpc/service.h"

namespace kvorum::rpc {

std::string_view CallContext::path() const {
  return method_ == nullptr ? std::string_view() : std::string_view(method_->path);
}

std::optional<std::string_view> CallContext::Metadata(std::string_view name) const {
  for (std::size_t i = 0; i < entry_count_; ++i) {
    if (EntryAt(i).name == name) return EntryAt(i).value;
  }
  return std::nullopt;
}

std::vector<std::string_view> CallContext::MetadataValues(std::string_view name) const {
  std::vector<std::string_view> values;
  for (std::size_t i = 0; i < entry_count_; ++i) {
    if (EntryAt(i).name == name) values.push_back(EntryAt(i).value);
  }
  return values;
}

std::string_view CallContext::Keep(std::string_view bytes) {
  if (bytes.size() <= kInlineBytes - inline_used_bytes_) {
    char* copy = inline_bytes_.data() + inline_used_bytes_;
    if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
    inline_used_bytes_ += bytes.size();
    return {copy, bytes.size()};
  }
  return more_bytes_.emplace_back(SharedBytes::Copy(bytes)).view();
}

void CallContext::AddMetadata(std::string_view name, std::string_view value) {
  const Entry entry{Keep(name), Keep(value)};
  if (entry_count_ < kInlineEntries) {
    entries_[entry_count_] = entry;
  } else {
    more_entries_.push_back(entry);
  }
  ++entry_count_;
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
