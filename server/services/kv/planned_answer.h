// The answer of a range, or of a read-only transaction, that may be too large to be held: the part
// kept so far, and a plan of the rest. Each range is walked once for its size, which precedes its
// rows; the rows themselves are kept while they are few and AnswerMemory has room, and the others
// are read again, piece by piece, as the client takes them (answer_pieces.h). The same revision has
// the same rows, so the sizes hold.
//
// Used by one thread, over one view. Borrows the requests' bytes, which outlive it and its parts.
// Errors: AnswerSizeError's for an answer that gRPC cannot carry, kErrAnswersFull for one that must
// be kept whole (sorted by anything but the key) and finds no room, those of the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/kv_encode.h"
#include "base/error.h"
#include "base/shared_bytes.h"
#include "mvcc/store/store_view.h"
#include "rpc/call/large_answer.h"
#include "server/call/service_limits.h"

namespace kvorum::server {

// Rows in key order that are read when their turn comes.
class RowsLeft {
 public:
  // From this key on; `bytes` of them, framed, at the request's revision.
  RowsLeft(const mvcc::RangeRequest& range, std::string_view from) : range_(range), from_(from) {}

  // Valid until it changes.
  mvcc::RangeRequest Request();
  // `rows` of them were taken; `next` is the first that was not.
  void GoOnFrom(std::string_view next, std::int64_t rows, std::size_t bytes);
  void Add(std::size_t bytes) { bytes_ += bytes; }
  std::size_t bytes() const { return bytes_; }

 private:
  mvcc::RangeRequest range_;
  std::string from_;
  std::string end_;
  std::size_t bytes_ = 0;
};

class PlannedAnswer {
 public:
  using Part = std::variant<std::string, RowsLeft>;

  // `memory` may be null: then it is not counted.
  PlannedAnswer(const AnswerLimits& limits, AnswerMemory* memory)
      : limits_(limits), memory_(memory), held_(memory), rest_held_(memory) {}

  // Call one of these, once.
  Result<void> MakeRange(mvcc::ReadView& view, const ResponseHeader& header,
                         const mvcc::RangeRequest& request);
  Result<void> MakeTxn(mvcc::ReadView& view, const ResponseHeader& header,
                       const mvcc::TxnRequest& request);

  // True if its rows exceed AnswerLimits::max_bytes, which caused the error.
  bool is_too_large() const { return row_bytes_ > limits_.max_bytes; }

  // The kept bytes; then the parts that follow, and their total size.
  rpc::AnswerPiece TakeKept();
  bool is_whole() const { return rest_.empty(); }
  std::size_t rest_bytes() const { return rest_bytes_; }
  // The keys in the range, of a txn those in its last one; -1 without any.
  std::int64_t count() const { return count_; }
  // The rows of each range of a txn, of the first few hundred.
  std::vector<std::int64_t> TakeRangeRows() { return std::move(range_rows_); }
  std::vector<Part> TakeRest() { return std::move(rest_); }
  AnswerMemory::Reservation TakeRestReservation() { return std::move(rest_held_); }

 private:
  class Rows;
  // One range: its rows and the fields after them.
  struct Body {
    std::vector<Part> parts;
    std::size_t bytes = 0;
  };

  Result<Body> Read(mvcc::ReadView& view, const mvcc::RangeRequest& request);
  // True if this many more bytes may be kept; once they may not, only bytes that `must` be kept
  // are.
  bool Keep(std::size_t bytes, bool must);
  void Add(std::string bytes);
  void Add(Body body);

  const AnswerLimits& limits_;
  AnswerMemory* const memory_;
  AnswerMemory::Reservation held_;
  AnswerMemory::Reservation rest_held_;  // for bytes kept after rows that are not
  bool rest_begun_ = false;
  std::size_t kept_bytes_ = 0;
  std::size_t row_bytes_ = 0;
  std::vector<Part> kept_;  // strings only
  std::vector<Part> rest_;
  std::size_t rest_bytes_ = 0;
  std::int64_t count_ = -1;
  std::int64_t rows_ = 0;  // of the range that was read last
  std::vector<std::int64_t> range_rows_;
};

}  // namespace kvorum::server
