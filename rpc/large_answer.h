// A unary answer that is not held as a whole: its beginning, and who makes the rest of it in pieces
// while the client takes them. The size of all of it is known from the start, since it stands in
// front of a gRPC message.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/answer_memory.h"

namespace kvorum::rpc {

struct AnswerPiece {
  ByteChain bytes;
  AnswerMemory::Reservation held;  // until the connection counts the bytes
};

// Makes the rest of one answer.
class AnswerRest {
 public:
  using Taker = std::move_only_function<void(Result<AnswerPiece>)>;

  virtual ~AnswerRest() = default;
  // Makes the next piece, of at least a byte, and gives it to `taker`, once, on any thread. Called
  // on the answer's loop, again only when the last piece was taken and bytes are missing; must not
  // wait. After an error the answer is broken off: too late for a status.
  virtual void MakeNext(Taker taker) = 0;
};

struct LargeAnswer {
  AnswerPiece begun;                 // as much as is there already
  std::shared_ptr<AnswerRest> rest;  // null if that is all; dropped when the client leaves
  std::size_t rest_bytes = 0;        // how much it will make
};

}  // namespace kvorum::rpc
