// The token that a client sends, and its renewal.
//
// Thread-safe. If several calls find their token refused, one of them logs in and the others wait
// for it. Errors are those of the log-in. An error by which the server refused it (a wrong
// password) is also returned to all calls within the next second, without asking the server again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "client/client.h"

namespace kvorum::client {

struct Token {
  std::string text;              // empty: no token is sent
  std::uint64_t generation = 0;  // incremented by each renewal
};

// True if a header can carry the text: printable ASCII only. gRPC aborts the process on any other
// text.
bool IsHeaderText(std::string_view text);

class TokenSource {
 public:
  using TimePoint = CallOptions::Deadline;
  // Returns a new token before the deadline; an empty one if the server needs none.
  using LogIn = std::function<Result<std::string>(TimePoint deadline)>;
  using Now = std::function<TimePoint()>;

  // `token` is used until the first renewal.
  TokenSource(std::string token, LogIn log_in, Now now = std::chrono::steady_clock::now);

  Token Current() const;
  // Makes sure that the token is newer than that of `generation`. kDeadlineExceeded if that took
  // too long.
  Result<void> Renew(std::uint64_t generation, TimePoint deadline);

 private:
  struct Refusal {
    Error error;
    TimePoint until;
  };
  Result<void> Finish(Result<std::string> token);

  const LogIn log_in_;
  const Now now_;
  mutable std::mutex mutex_;  // guards what follows; not held over a log-in
  std::condition_variable renewed_;
  Token token_;
  bool is_renewing_ = false;
  std::optional<Refusal> refusal_;
};

}  // namespace kvorum::client
