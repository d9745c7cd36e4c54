#include "mvcc/store/answer_room.h"

#include <algorithm>

namespace kvorum::mvcc {

bool AnswerRoom::IsOpen() {
  if (hooks_.is_wanted) is_unwanted_ = !std::exchange(hooks_.is_wanted, nullptr)();
  return !is_unwanted_ && !is_exceeded_;
}

bool AnswerRoom::Take(std::size_t bytes) {
  if (is_exceeded_) return false;
  taken_bytes_ += bytes;
  if (taken_bytes_ > room_bytes_) {
    is_exceeded_ = true;
  } else if (hooks_.reserve && taken_bytes_ > reserved_bytes_) {
    const std::size_t more = std::max(kStepBytes, taken_bytes_ - reserved_bytes_);
    if (hooks_.reserve(more)) {
      reserved_bytes_ += more;
    } else {
      is_exceeded_ = true;
      room_bytes_ = reserved_bytes_;
    }
  }
  return !is_exceeded_;
}

Result<void> RoomyRows::Take(std::size_t bytes) {
  if (!room_.Take(bytes)) return Fail(Code::kResourceExhausted, "mvcc: the answer is too large");
  return {};
}

Result<void> RoomyRows::Add(const Row& row) {
  KV_RETURN_IF_ERROR(Take(row.EncodedSize() + RowBuffer::kBytesBesideRow));
  return rows_.Add(row);
}

}  // namespace kvorum::mvcc
