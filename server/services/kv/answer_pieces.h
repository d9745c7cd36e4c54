// Makes the rest of a large answer (PlannedAnswer) on the readers' executor, one piece each time
// its client has taken the previous one. Between two pieces it holds no view and no rows: a client
// that does not read costs one piece.
//
// If the revision is compacted meanwhile the answer is broken off, and so it is if memory stays
// full for AnswerLimits::piece_wait.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/shared_bytes.h"
#include "rpc/call/large_answer.h"
#include "server/services/kv/planned_answer.h"

namespace kvorum::server {

struct Reads;

class AnswerPieces final : public rpc::AnswerRest,
                           public std::enable_shared_from_this<AnswerPieces> {
 public:
  // `request` owns the bytes that the parts refer to.
  AnswerPieces(const Reads& reads, SharedBytes request, PlannedAnswer& answer)
      : reads_(reads),
        request_(std::move(request)),
        parts_(answer.TakeRest()),
        held_(answer.TakeRestReservation()) {}

  void MakeNext(Taker taker) override;

 private:
  class Piece;

  void Make(Taker taker);
  Result<void> Fill(Piece& piece);
  // Adds a part; false if the piece is full.
  Result<bool> FillFrom(RowsLeft& rows, Piece& piece);

  const Reads& reads_;
  const SharedBytes request_;
  // The readers', while a piece is made.
  std::vector<PlannedAnswer::Part> parts_;
  std::size_t next_part_ = 0;
  AnswerMemory::Reservation held_;  // for the parts kept
  std::optional<TimePoint> waits_until_;
};

}  // namespace kvorum::server
