// The token that a client shows, and its renewal.
//
// Thread-safe. However many calls find that their token is refused, one of them logs in and the
// others wait for it. Errors are those of the log-in. One by which the server has refused it (a
// wrong password) is given to all that ask within the next second too, without asking the server
// again.
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
  std::string text;              // empty: none is shown
  std::uint64_t generation = 0;  // each renewal's is one more
};

// Whether a header can carry it: printable ASCII and nothing else. gRPC ends the process that gives
// it another.
bool IsHeaderText(std::string_view text);

class TokenSource {
 public:
  using TimePoint = CallOptions::Deadline;
  // Gives a new token until the deadline; an empty one if the server wants none.
  using LogIn = std::function<Result<std::string>(TimePoint deadline)>;
  using Now = std::function<TimePoint()>;

  // `token` is shown until the first renewal.
  TokenSource(std::string token, LogIn log_in, Now now = std::chrono::steady_clock::now);

  Token Current() const;
  // Sees to it that the token is a newer one than that of `generation`. kDeadlineExceeded if that
  // took too long.
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
