// The memory that one connection holds for its calls: requests that are not handed to their
// handlers, and answers that its client has not taken. Says what may be added to it.
//
// Used by one thread, but the AnswerMemory behind it. Each connection has its own bounds (Options);
// past the bound of all together (AnswerMemory) only a connection that holds next to nothing goes
// on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/answer_memory.h"
#include "rpc/call/request_body.h"
#include "rpc/session/options.h"

namespace kvorum::rpc {

class HeldBytes {
 public:
  // Keeps both.
  HeldBytes(const Options& options, const AnswerMemory& all) : options_(options), all_(all) {}

  std::size_t size() const { return unsent_ + requests_; }
  std::uint64_t unsent() const { return unsent_; }
  // True if the sum is worth telling to AnswerMemory.
  bool unsent_counts() const { return unsent_ >= AnswerMemory::kStepBytes; }
  bool requests_count() const { return requests_ >= AnswerMemory::kStepBytes; }

  void AddUnsent(std::size_t bytes) { unsent_ += bytes; }
  void SubtractUnsent(std::size_t bytes) { unsent_ -= bytes; }
  // Counts what the request holds now; false if all are too much.
  [[nodiscard]] bool Count(RequestBody& request) {
    const std::uint64_t before = requests_;
    request.CountIn(requests_);
    if (requests_ > before && requests_count() && all_.exhausted()) return false;
    return requests_ <= options_.max_buffered_request_bytes;
  }
  void Forget(RequestBody& request) { request.CountOut(requests_); }

  // True while so much is unsent that the client's next requests are left in the socket.
  bool stalls_input() const { return unsent_ > options_.max_unsent_bytes; }
  // True if another request may be started.
  bool MayStart() const { return MayStart(options_.max_unsent_bytes); }
  // The same for requests that wait: at half the bound, so that they are not admitted one by one.
  bool MayResume() const { return MayStart(options_.max_unsent_bytes / 2); }
  // False if there is no memory for the answer to a request that was started when there was.
  bool HasRoomFor(std::size_t answer_bytes) const {
    return unsent_ <= kUnsentWhenFull || answer_bytes <= kSmallAnswerBytes || !all_.full();
  }

 private:
  // While there is no memory for more answers: the bound of a connection's unsent ones, and the
  // size of an answer that it gets all the same.
  static constexpr std::size_t kUnsentWhenFull = 1024 * 1024;
  static constexpr std::size_t kSmallAnswerBytes = 4096;

  bool MayStart(std::uint64_t max_unsent) const {
    return unsent_ <= max_unsent && (!unsent_counts() || !all_.full());
  }

  const Options& options_;
  const AnswerMemory& all_;
  std::uint64_t requests_ = 0;
  std::uint64_t unsent_ = 0;
};

}  // namespace kvorum::rpc
