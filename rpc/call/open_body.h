// The HttpInput of a connection that serves one request at a time: keeps the bytes that are still
// unread. Its session stops taking input while it is full, and so bounds it.
//
// Belongs to the connection's loop.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/http/http_input.h"

namespace kvorum::rpc {

class Loop;

class OpenBody final : public HttpInput {
 public:
  static constexpr std::size_t kFullBytes = 64 * 1024;

  // `on_read` runs within each Read: there may be room again.
  OpenBody(Loop& loop, std::move_only_function<void()> on_read)
      : loop_(loop), on_read_(std::move(on_read)) {}

  void Read(Arrived arrived) override;

  // The session's side. After End and Fail nothing comes; Fail drops what was not read, and both
  // let go of the session.
  void Put(std::string_view bytes);
  void End();
  void Fail(const Error& reason);
  bool is_full() const { return unread_.size() >= kFullBytes; }
  std::size_t held_bytes() const { return unread_.size(); }

 private:
  void Tell();

  Loop& loop_;
  std::move_only_function<void()> on_read_;  // null once the session is let go
  std::string unread_;
  std::optional<Error> failure_;
  bool ended_ = false;
  Arrived arrived_;
};

}  // namespace kvorum::rpc
