#include "rpc/call/pieced_answer.h"

namespace kvorum::rpc {

Result<AnswerPiece> PiecedAnswer::Accept(Result<AnswerPiece> piece) {
  asked_ = false;
  if (!piece.has_value()) return piece;
  const std::size_t size_bytes = SizeBytes(piece->bytes);
  if (size_bytes == 0 || size_bytes > to_come_bytes_)
    return Fail(Error{Code::kInternal, "a piece of another answer"});
  to_come_bytes_ -= size_bytes;
  if (to_come_bytes_ == 0) rest_.reset();
  return piece;
}

}  // namespace kvorum::rpc
