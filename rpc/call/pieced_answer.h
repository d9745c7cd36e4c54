// The part of a large answer (large_answer.h) that is not made yet: asked for piece by piece as the
// client reads, until all of it was made or the answer is broken off.
//
// Belongs to the loop's thread, except Put: the maker of a piece writes it on any thread before it
// hands the call back to the loop, which reads it only then.
// Invariants: one piece is asked for at a time; the bytes to come never rise.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call/large_answer.h"

namespace kvorum::rpc {

class PiecedAnswer {
 public:
  // `begun`: the memory of the answer's start, held until the connection counts it.
  PiecedAnswer(std::shared_ptr<AnswerRest> rest, std::size_t rest_bytes,
               AnswerMemory::Reservation begun)
      : rest_(std::move(rest)), to_come_bytes_(rest_bytes), held_(std::move(begun)) {}

  // The bytes that are not made yet.
  std::size_t to_come_bytes() const { return to_come_bytes_; }
  // The connection counts the answer's start from here on.
  void ReleaseStart() { held_.Release(); }
  // True once the answer's start was delivered, from the second call on.
  bool Begin() { return std::exchange(begun_, true); }

  // True if the next piece should be made while this much of the others waits for the client.
  bool WantsMore(std::size_t unsent_bytes) const {
    return to_come_bytes_ > 0 && unsent_bytes < kAskBytes && !asked_ && rest_ != nullptr;
  }
  void Ask(AnswerRest::Taker taker) {
    asked_ = true;
    rest_->MakeNext(std::move(taker));
  }
  void Put(Result<AnswerPiece> piece) { made_ = std::move(piece); }
  Result<AnswerPiece> TakePut() { return std::exchange(made_, AnswerPiece()); }
  // Checks a piece that was asked for; with an error the answer is to be broken off.
  Result<AnswerPiece> Accept(Result<AnswerPiece> piece);
  // Asks for nothing more.
  void BreakOff() { rest_.reset(); }

 private:
  static constexpr std::size_t kAskBytes = 256 * 1024;

  std::shared_ptr<AnswerRest> rest_;  // null: all is made, or broken off
  std::size_t to_come_bytes_;
  AnswerMemory::Reservation held_;
  bool begun_ = false;
  bool asked_ = false;
  Result<AnswerPiece> made_;
};

}  // namespace kvorum::rpc
