// Makes the rest of a large answer (PlannedAnswer) on the readers' executor, a piece each time its
// client has taken the one before. Between two pieces it holds no view and no rows: a client that
// does not read costs a piece.
//
// A revision that is compacted meanwhile breaks the answer off, and so does memory that stays full
// for AnswerLimits::piece_wait.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/shared_bytes.h"
#include "rpc/large_answer.h"
#include "server/call/service_context.h"
#include "server/services/planned_answer.h"

namespace kvorum::server {

class AnswerPieces final : public rpc::AnswerRest,
                           public std::enable_shared_from_this<AnswerPieces> {
 public:
  // `request` owns what the parts point into.
  AnswerPieces(ServiceContext& context, SharedBytes request, PlannedAnswer& answer)
      : context_(context),
        request_(std::move(request)),
        parts_(answer.TakeRest()),
        held_(answer.TakeRestReservation()) {}

  void MakeNext(Taker taker) override;

 private:
  class Piece;

  void Make(Taker taker);
  Result<void> Fill(Piece& piece);
  // One part of it; false if the piece is full.
  Result<bool> FillFrom(RowsLeft& rows, Piece& piece);

  ServiceContext& context_;
  const SharedBytes request_;
  // The readers', while a piece is made.
  std::vector<PlannedAnswer::Part> parts_;
  std::size_t next_part_ = 0;
  rpc::AnswerMemory::Reservation held_;  // for parts that were kept
  std::optional<TimePoint> waits_until_;
};

}  // namespace kvorum::server
