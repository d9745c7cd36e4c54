#include "server/services/kv/range_stream.h"

#include <algorithm>
#include <limits>

#include "api/kv_encode.h"
#include "base/failpoint/failpoint.h"
#include "server/call/reads.h"

namespace kvorum::server {
namespace {

constexpr std::int64_t kFirstChunkRows = 10;

// Aims at chunks of about the largest request's size: smaller ones waste round trips, larger ones
// hold memory.
std::int64_t NextChunkRows(std::int64_t rows, std::size_t chunk_bytes, std::size_t target_bytes) {
  if (chunk_bytes < target_bytes / 2) return rows * 2;
  if (chunk_bytes > target_bytes * 2) return std::max<std::int64_t>(rows / 2, 1);
  return rows;
}

// The maximum of one chunk, independent of its number of rows: earlier rows may have been much
// smaller.
std::size_t MostChunkBytes(std::size_t target_bytes) { return 8 * target_bytes; }

// Reads as much of the range as one chunk holds; if that is not all of it, there is more.
Result<mvcc::RangeSummary> ReadChunk(mvcc::ReadView& view, const mvcc::RangeRequest& request,
                                     RangeEncoder& encoder) {
  Result<mvcc::RangeSummary> summary = view.Range(request, encoder);
  if (encoder.is_exceeded()) summary = mvcc::RangeSummary{.count = 0, .more = true, .revision = 0};
  return summary;
}

}  // namespace

RangeStreamSession::RangeStreamSession(const Reads& reads,
                                       std::shared_ptr<rpc::ServerStream> stream, SharedBytes bytes,
                                       const mvcc::RangeRequest& request)
    : reads_(reads),
      stream_(std::move(stream)),
      bytes_(std::move(bytes)),
      request_(request),
      total_limit_(request.limit > 0 ? request.limit : std::numeric_limits<std::int64_t>::max()) {
  request_.limit = std::min(kFirstChunkRows, total_limit_);
}

void RangeStreamSession::Start() {
  reads_.executors.readers->Post([self = shared_from_this()] {
    if (self->request_.count_only) return self->SendCount();
    self->Step();
  });
}

void RangeStreamSession::Fail(const Error& error) { stream_->Finish(error); }

void RangeStreamSession::SendCount() {
  auto held = reads_.ReadFor(stream_->context().caller, request_);
  if (!held.has_value()) return Fail(held.error());
  mvcc::ReadView& view = **held;
  RangeEncoder encoder(reads_.cluster.Header(view.revision()));
  const auto summary = view.Range(request_, encoder);
  if (!summary.has_value()) return Fail(summary.error());
  Send(encoder.Finish(/*more=*/false, summary->count), /*last=*/true);
}

void RangeStreamSession::Step() {
  if (stream_->context().cancelled()) return;
  KV_FAILPOINT("beforeRangeStreamChunk");
  auto held = reads_.ReadFor(stream_->context().caller, request_);
  if (!held.has_value()) return Fail(held.error());
  mvcc::ReadView& view = **held;
  if (header_revision_ == 0) {
    header_revision_ = view.revision();
    if (request_.revision <= 0) request_.revision = header_revision_;
  }
  RangeEncoder encoder;
  encoder.KeepLastKey();
  encoder.SetMaxBytes(MostChunkBytes(reads_.limits.max_request_bytes));
  auto summary = ReadChunk(view, request_, encoder);
  if (!summary.has_value()) return Fail(summary.error());
  const auto is_last = [&] {
    return !summary->more || sent_rows_ + encoder.rows() == total_limit_;
  };
  if (request_.sort_target != mvcc::SortTarget::kKey && !is_last()) {
    // A target without an order, which passes the checks, sorts rows that are sent at once. Further
    // rows come in key order: the next chunk begins after the last key of this one.
    request_.sort_target = mvcc::SortTarget::kKey;
    encoder = RangeEncoder();
    encoder.KeepLastKey();
    encoder.SetMaxBytes(MostChunkBytes(reads_.limits.max_request_bytes));
    summary = ReadChunk(view, request_, encoder);
    if (!summary.has_value()) return Fail(summary.error());
  }
  const bool last = is_last();
  sent_rows_ += encoder.rows();
  if (!last) {
    next_key_ = encoder.last_key() + '\0';
    request_.key = next_key_;
    request_.limit = std::min(
        NextChunkRows(request_.limit, encoder.size_bytes(), reads_.limits.max_request_bytes),
        total_limit_ - sent_rows_);
    return Send(encoder.Finish(false, 0), last);
  }
  // The range's own count covers the rest of it when this chunk began.
  const std::int64_t count = sent_rows_ - encoder.rows() + summary->count;
  std::string tail;
  AppendHeader(tail, reads_.cluster.Header(header_revision_));
  std::string message(encoder.Finish(summary->more, count).view());
  message += tail;
  Send(SharedBytes::Own(std::move(message)), last);
}

void RangeStreamSession::Send(SharedBytes chunk, bool last) {
  stream_->Write(WrapStreamChunk(std::move(chunk)),
                 [self = shared_from_this(), last](Result<void> written) {
                   if (!written.has_value()) return;  // the client has left
                   if (last) return self->stream_->FinishOk();
                   self->reads_.executors.readers->Post([self] { self->Step(); });
                 });
}

}  // namespace kvorum::server
