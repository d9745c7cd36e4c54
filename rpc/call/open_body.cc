#include "rpc/call/open_body.h"

#include <utility>

#include "rpc/io/loop.h"

namespace kvorum::rpc {

void OpenBody::Read(Arrived arrived) {
  arrived_ = std::move(arrived);
  Tell();
  if (on_read_ != nullptr) on_read_();
}

void OpenBody::Put(std::string_view bytes) {
  if (ended_) return;
  unread_.append(bytes);
  Tell();
}

void OpenBody::End() {
  ended_ = true;
  on_read_ = nullptr;
  Tell();
}

void OpenBody::Fail(const Error& reason) {
  if (!ended_) failure_ = reason;
  ended_ = true;
  on_read_ = nullptr;
  if (failure_) unread_.clear();
  Tell();
}

void OpenBody::Tell() {
  if (arrived_ == nullptr || (unread_.empty() && !ended_)) return;
  Result<std::string> bytes = std::exchange(unread_, {});
  if (failure_) bytes = std::unexpected(*failure_);
  loop_.Post([arrived = std::exchange(arrived_, nullptr), bytes = std::move(bytes)]() mutable {
    arrived(std::move(bytes));
  });
}

}  // namespace kvorum::rpc
