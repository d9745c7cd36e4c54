// How much the answer of one request may hold while it is collected: each row takes room, and what
// finds none is not collected, nor read. So an answer costs no more memory than its limit, whatever
// it asks for; and one that nobody waits for, on all members but the one that was asked and at each
// replay, costs nothing.
//
// Used by one thread. Nothing that is written depends on it: the room says what is read, never what
// is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "mvcc/range.h"

namespace kvorum::mvcc {

class AnswerRoom {
 public:
  struct Hooks {
    // Tells if somebody waits for the answer: asked when something is first to be read for it, and
    // not again. Empty: yes.
    std::move_only_function<bool()> is_wanted;
    // Asks who counts the memory of all answers for so much more, in steps of kStepBytes at least,
    // from the second step on. Empty: there is enough.
    std::move_only_function<bool(std::size_t bytes)> reserve;
  };
  static constexpr std::size_t kStepBytes = std::size_t{64} << 10;

  AnswerRoom() = default;  // for all there is
  explicit AnswerRoom(std::size_t limit_bytes) : AnswerRoom(limit_bytes, Hooks{}) {}
  AnswerRoom(std::size_t limit_bytes, Hooks hooks)
      : room_bytes_(limit_bytes), hooks_(std::move(hooks)) {}

  // True if reading on for the answer is of any use.
  bool IsOpen();
  // False, from then on, if it does not fit.
  bool Take(std::size_t bytes);

  bool is_exceeded() const { return is_exceeded_; }
  // With what did not fit, if something did not.
  std::size_t taken_bytes() const { return taken_bytes_; }
  // The room there is for it: the limit, or less where reserving more failed.
  std::size_t room_bytes() const { return room_bytes_; }

 private:
  std::size_t room_bytes_ = SIZE_MAX;
  std::size_t taken_bytes_ = 0;
  std::size_t reserved_bytes_ = kStepBytes;
  bool is_exceeded_ = false;
  bool is_unwanted_ = false;
  Hooks hooks_;
};

// Rows as long as there is room for them.
class RoomyRows final : public RowSink {
 public:
  RoomyRows(AnswerRoom& room, RowBuffer& rows) : room_(room), rows_(rows) {}
  // The error is for who asked the range; the room says what is to be done.
  Result<void> Add(const Row& row) override;

 private:
  AnswerRoom& room_;
  RowBuffer& rows_;
};

}  // namespace kvorum::mvcc
