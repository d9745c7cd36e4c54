#include "server/services/kv/answer_pieces.h"

#include <string>
#include <utility>
#include <variant>

#include "base/api_errors.h"
#include "base/failpoint/failpoint.h"
#include "mvcc/store/store.h"
#include "server/call/reads.h"

namespace kvorum::server {

// Takes rows until it has its size, then ends the range with an arbitrary error.
class AnswerPieces::Piece final : public mvcc::RowSink {
 public:
  explicit Piece(std::size_t size_bytes) : size_bytes_(size_bytes) { bytes_.reserve(size_bytes); }

  Result<void> Add(const mvcc::Row& row) override {
    if (is_full()) {
      next_ = row.key;
      return Fail(Code::kOk, "");
    }
    AppendRow(bytes_, row);
    ++rows_;
    return {};
  }
  void Append(std::string_view bytes) { bytes_ += bytes; }

  bool is_full() const { return bytes_.size() >= size_bytes_; }
  std::size_t size_bytes() const { return bytes_.size(); }
  SharedBytes Take() { return SharedBytes::Own(std::move(bytes_)); }
  // The rows added from the range read last, and the first row that was not.
  void BeginRange() {
    rows_ = 0;
    next_.reset();
  }
  std::int64_t rows() const { return rows_; }
  const std::optional<std::string>& next() const { return next_; }

 private:
  const std::size_t size_bytes_;
  std::string bytes_;
  std::int64_t rows_ = 0;
  std::optional<std::string> next_;
};

void AnswerPieces::MakeNext(Taker taker) {
  reads_.executors.readers->Post([self = shared_from_this(), taker = std::move(taker)]() mutable {
    self->Make(std::move(taker));
  });
}

void AnswerPieces::Make(Taker taker) {
  KV_FAILPOINT("beforeAnswerPiece");
  const AnswerLimits& limits = reads_.limits.answers;
  rpc::AnswerPiece made{.bytes = {}, .held = AnswerMemory::Reservation(&reads_.answers)};
  if (!made.held.Grow(limits.piece_bytes)) {
    const TimePoint now = reads_.executors.readers->clock().Now();
    if (!waits_until_) waits_until_ = now + limits.piece_wait;
    if (now >= *waits_until_) return taker(kErrAnswersFull.Fail());
    return reads_.executors.readers->PostAt(
        now + limits.piece_retry, [self = shared_from_this(), taker = std::move(taker)]() mutable {
          self->Make(std::move(taker));
        });
  }
  waits_until_.reset();
  Piece piece(limits.piece_bytes);
  if (auto filled = Fill(piece); !filled.has_value()) return taker(Fail(std::move(filled).error()));
  made.bytes.push_back(piece.Take());
  taker(std::move(made));
}

Result<void> AnswerPieces::Fill(Piece& piece) {
  while (next_part_ < parts_.size() && !piece.is_full()) {
    PlannedAnswer::Part& part = parts_[next_part_];
    if (auto* bytes = std::get_if<std::string>(&part)) {
      piece.Append(std::exchange(*bytes, {}));
    } else {
      KV_TRY(const bool done, FillFrom(std::get<RowsLeft>(part), piece));
      if (!done) return {};
    }
    ++next_part_;
  }
  return {};
}

Result<bool> AnswerPieces::FillFrom(RowsLeft& rows, Piece& piece) {
  const std::size_t before = piece.size_bytes();
  piece.BeginRange();
  KV_TRY(mvcc::ReadView view, reads_.store.Read());
  const Result<void> read = view.Rows(rows.Request(), piece);
  if (!read.has_value() && !piece.next().has_value()) return std::unexpected(read.error());
  const std::size_t added = piece.size_bytes() - before;
  // Otherwise the rows of the revision have changed, or its end was cut off.
  if (added > rows.bytes() || piece.next().has_value() == (added == rows.bytes()))
    return Fail(Code::kDataLoss, "the rows of a large answer changed while it was sent");
  if (!piece.next().has_value()) return true;
  rows.GoOnFrom(*piece.next(), piece.rows(), added);
  return false;
}

}  // namespace kvorum::server
