// A unary answer that is not held as a whole: its start, and the maker of the rest, which makes
// pieces while the client reads them. The total size is known from the start, since a gRPC message
// begins with it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/answer_memory.h"
#include "base/error.h"
#include "base/shared_bytes.h"

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
  // wait. After an error the answer is broken off: it is too late for a status.
  virtual void MakeNext(Taker taker) = 0;
};

struct LargeAnswer {
  AnswerPiece begun;                 // the part that is made already
  std::shared_ptr<AnswerRest> rest;  // null if that is all; dropped when the client leaves
  std::size_t rest_bytes = 0;        // the number of bytes that it will make
};

}  // namespace kvorum::rpc
