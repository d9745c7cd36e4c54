#include "server/services/kv/planned_answer.h"

#include <algorithm>
#include <utility>

#include "base/api_errors.h"
#include "rpc/call/grpc_protocol.h"

namespace kvorum::server {
namespace {

// Rows are kept in blocks of this size, or of one row. The first block is not reserved, so that
// small answers touch nothing shared.
constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
// Ranges whose rows are listed; a log line shows no more of them.
constexpr std::size_t kMaxToldRanges = 256;

}  // namespace

mvcc::RangeRequest RowsLeft::Request() {
  mvcc::RangeRequest request = range_;
  if (request.range_end.empty()) return request;  // one key
  if (request.sort_order == mvcc::SortOrder::kDescend) {
    end_ = from_ + '\0';  // descending from this key
    request.range_end = end_;
  } else {
    request.key = from_;
  }
  return request;
}

void RowsLeft::GoOnFrom(std::string_view next, std::int64_t rows, std::size_t bytes) {
  from_ = next;
  if (range_.limit > 0) range_.limit -= rows;
  bytes_ -= bytes;
}

// Receives the rows of one range: the rows first, then only their sizes.
class PlannedAnswer::Rows final : public mvcc::RowSink {
 public:
  Rows(PlannedAnswer& answer, Body& body, mvcc::RangeRequest request)
      : answer_(answer),
        body_(body),
        request_(request),
        must_keep_(request.sort_target != mvcc::SortTarget::kKey) {}

  Result<void> BeginBlock(std::size_t bytes) override {
    auto& block = sorting_.emplace_back(answer_.memory_);
    if (bytes > kBlockBytes && !block.Grow(bytes)) return kErrAnswersFull.Fail();
    return {};
  }
  void EndBlock(std::size_t /*bytes*/) override { sorting_.erase(sorting_.begin()); }

  Result<void> Add(const mvcc::Row& row) override {
    const std::size_t framed = FramedSize(row);
    ++answer_.rows_;
    body_.bytes += framed;
    answer_.row_bytes_ += framed;
    if (answer_.is_too_large())
      return std::unexpected(AnswerSizeError(answer_.row_bytes_, answer_.limits_.max_bytes));
    if (left_ == nullptr && answer_.Keep(framed, must_keep_)) {
      AppendRow(BlockFor(framed), row);
      ++rows_;
      return {};
    }
    if (must_keep_) return kErrAnswersFull.Fail();
    if (left_ == nullptr) Leave(row.key);
    left_->Add(framed);
    return {};
  }

 private:
  std::string& BlockFor(std::size_t framed) {
    if (block_ == nullptr || block_->size() + framed > kBlockBytes) {
      block_ = &std::get<std::string>(body_.parts.emplace_back(std::string()));
      // The first one grows, since most answers are small.
      block_->reserve(rows_ == 0 ? framed : std::max(framed, kBlockBytes));
    }
    return *block_;
  }
  void Leave(std::string_view from) {
    if (request_.limit > 0) request_.limit -= rows_;
    left_ = &std::get<RowsLeft>(body_.parts.emplace_back(RowsLeft(request_, from)));
    answer_.rest_begun_ = true;
  }

  PlannedAnswer& answer_;
  Body& body_;
  mvcc::RangeRequest request_;
  const bool must_keep_;
  std::vector<AnswerMemory::Reservation> sorting_;  // the blocks of the sort
  std::string* block_ = nullptr;
  RowsLeft* left_ = nullptr;
  std::int64_t rows_ = 0;  // that were kept
};

bool PlannedAnswer::Keep(std::size_t bytes, bool must) {
  if (!must && (rest_begun_ || (kept_bytes_ > 0 && kept_bytes_ + bytes > limits_.keep_bytes)))
    return false;
  kept_bytes_ += bytes;
  if (kept_bytes_ <= kBlockBytes + held_.bytes() + rest_held_.bytes()) return true;
  return (rest_begun_ ? rest_held_ : held_).Grow(std::max(bytes, kBlockBytes));
}

Result<PlannedAnswer::Body> PlannedAnswer::Read(mvcc::ReadView& view,
                                                const mvcc::RangeRequest& request) {
  mvcc::RangeRequest at_revision = request;
  if (request.revision <= 0) at_revision.revision = view.revision();
  Body body;
  rows_ = 0;
  Rows rows(*this, body, at_revision);
  KV_TRY(const mvcc::RangeSummary summary, view.Range(request, rows));
  std::string end;
  AppendRangeEnd(end, summary.more, summary.count);
  count_ = summary.count;
  body.bytes += end.size();
  body.parts.emplace_back(std::move(end));
  return body;
}

void PlannedAnswer::Add(std::string bytes) {
  if (!rest_.empty()) rest_bytes_ += bytes.size();
  std::vector<Part>& parts = rest_.empty() ? kept_ : rest_;
  if (!parts.empty()) {
    std::string* last = std::get_if<std::string>(&parts.back());
    if (last != nullptr && last->size() + bytes.size() <= kBlockBytes) {
      last->append(bytes);
      return;
    }
  }
  parts.emplace_back(std::move(bytes));
}

void PlannedAnswer::Add(Body body) {
  for (Part& part : body.parts) {
    if (auto* bytes = std::get_if<std::string>(&part)) {
      Add(std::move(*bytes));
    } else {
      rest_bytes_ += std::get<RowsLeft>(part).bytes();
      rest_.push_back(std::move(part));
    }
  }
}

Result<void> PlannedAnswer::MakeRange(mvcc::ReadView& view, const ResponseHeader& header,
                                      const mvcc::RangeRequest& request) {
  std::string head;
  AppendHeader(head, header);
  Add(std::move(head));
  KV_TRY(Body body, Read(view, request));
  Add(std::move(body));
  return {};
}

Result<void> PlannedAnswer::MakeTxn(mvcc::ReadView& view, const ResponseHeader& header,
                                    const mvcc::TxnRequest& request) {
  KV_TRY(const bool succeeded, view.Succeeds(request));
  std::string head;
  AppendHeader(head, header);
  AppendSucceeded(head, succeeded);
  Add(std::move(head));
  const auto& ranges = succeeded ? request.success : request.failure;
  range_rows_.reserve(std::min(ranges.size(), kMaxToldRanges));
  for (const mvcc::RequestOp& op : ranges) {
    KV_TRY(Body body, Read(view, std::get<mvcc::RangeRequest>(op)));
    if (range_rows_.size() < kMaxToldRanges) range_rows_.push_back(rows_);
    std::string op_head;
    AppendRangeOpHead(op_head, view.revision(), body.bytes);
    Add(std::move(op_head));
    Add(std::move(body));
  }
  return {};
}

rpc::AnswerPiece PlannedAnswer::TakeKept() {
  rpc::AnswerPiece piece;
  for (Part& part : std::exchange(kept_, {}))
    piece.bytes.push_back(SharedBytes::Own(std::move(std::get<std::string>(part))));
  piece.held = std::move(held_);
  return piece;
}

}  // namespace kvorum::server
