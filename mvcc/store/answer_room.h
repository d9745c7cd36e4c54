// Bounds the memory of one request's answer while it is collected: each row takes room, and a row
// without room is neither collected nor read. So an answer to any request costs no more memory than
// its limit; and an answer without a waiter, on all members but the one that was asked and at each
// replay, costs nothing.
//
// Used by one thread. Writes never depend on it: the room decides what is read, never what is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "mvcc/records/range.h"

namespace kvorum::mvcc {

class AnswerRoom {
 public:
  struct Hooks {
    // Returns true if a client waits for the answer: called before the first read for it, and not
    // again. Empty: yes.
    std::move_only_function<bool()> is_wanted;
    // Asks the budget of all answers for so much more, in steps of kStepBytes at least, from the
    // second step on. Empty: there is enough.
    std::move_only_function<bool(std::size_t bytes)> reserve;
  };
  static constexpr std::size_t kStepBytes = std::size_t{64} << 10;

  AnswerRoom() = default;  // unlimited
  explicit AnswerRoom(std::size_t limit_bytes) : AnswerRoom(limit_bytes, Hooks{}) {}
  AnswerRoom(std::size_t limit_bytes, Hooks hooks)
      : room_bytes_(limit_bytes), hooks_(std::move(hooks)) {}

  // True if reading on for the answer is of any use.
  bool IsOpen();
  // False if it does not fit, and from then on.
  bool Take(std::size_t bytes);
  // Returns a part of what was taken: it can be taken again.
  void GiveBack(std::size_t bytes) { taken_bytes_ -= bytes; }

  bool is_exceeded() const { return is_exceeded_; }
  // Includes the part that did not fit.
  std::size_t taken_bytes() const { return taken_bytes_; }
  // The room for it: the limit, or less if reserving more failed.
  std::size_t room_bytes() const { return room_bytes_; }

 private:
  std::size_t room_bytes_ = SIZE_MAX;
  std::size_t taken_bytes_ = 0;
  std::size_t reserved_bytes_ = kStepBytes;
  bool is_exceeded_ = false;
  bool is_unwanted_ = false;
  Hooks hooks_;
};

// Collects rows as long as there is room for them.
class RoomyRows final : public RowSink {
 public:
  RoomyRows(AnswerRoom& room, RowBuffer& rows) : room_(room), rows_(rows) {}
  // The error is for the range's caller; the room decides how to go on.
  Result<void> Add(const Row& row) override;
  Result<void> BeginBlock(std::size_t bytes) override { return Take(bytes); }
  void EndBlock(std::size_t bytes) override { room_.GiveBack(bytes); }

 private:
  Result<void> Take(std::size_t bytes);

  AnswerRoom& room_;
  RowBuffer& rows_;
};

}  // namespace kvorum::mvcc
