// Encodes the answers of the KV service: etcdserverpb responses by hand, since rows go from the
// store into the answer with one copy. An encoder is used by one thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/shared_bytes.h"
#include "mvcc/records/range.h"
#include "mvcc/records/txn.h"
#include "proto/raft_types.h"

namespace kvorum::server {

struct ResponseHeader {
  std::uint64_t cluster_id = 0;
  raft::MemberId member_id = raft::kNone;
  std::int64_t revision = 0;
  raft::Term raft_term = 0;
};

// The header as field 1 of a response, with which every response starts.
void AppendHeader(std::string& out, const ResponseHeader& header);

// A row as an element of a RangeResponse, and its size in bytes.
void AppendRow(std::string& out, const mvcc::Row& row);
std::size_t FramedSize(const mvcc::Row& row);
// The fields that follow a RangeResponse's rows.
void AppendRangeEnd(std::string& out, bool more, std::int64_t count);
// A txn's answer around those of its operations: its start, and the bytes before each range, whose
// rows and end are `body_bytes`.
void AppendSucceeded(std::string& out, bool succeeded);
void AppendRangeOpHead(std::string& out, std::int64_t revision, std::size_t body_bytes);

// Encodes a range's rows as they are found: one RangeResponse, row after row. Past its bound it
// ends the range with an error, and reports that.
class RangeEncoder final : public mvcc::RowSink {
 public:
  RangeEncoder() = default;  // a chunk without a header
  explicit RangeEncoder(const ResponseHeader& header, std::size_t max_bytes = SIZE_MAX)
      : max_bytes_(max_bytes) {
    AppendHeader(out_, header);
  }

  Result<void> Add(const mvcc::Row& row) override;
  std::int64_t rows() const { return rows_; }
  const std::string& last_key() const { return last_key_; }
  // For a chunk with a successor: it has a row of any size.
  void KeepLastKey() { keep_last_key_ = true; }
  std::size_t size_bytes() const { return out_.size(); }
  // True if a row did not fit.
  bool is_exceeded() const { return is_exceeded_; }
  void SetMaxBytes(std::size_t max_bytes) { max_bytes_ = max_bytes; }

  // The whole message; the encoder is used up.
  SharedBytes Finish(bool more, std::int64_t count);

 private:
  std::size_t max_bytes_ = SIZE_MAX;
  bool is_exceeded_ = false;
  std::string out_;
  std::string last_key_;
  std::int64_t rows_ = 0;
  bool keep_last_key_ = false;
};

// RangeStreamResponse around one RangeResponse.
ByteChain WrapStreamChunk(SharedBytes range_response);

SharedBytes EncodePutResponse(const ResponseHeader& header, const mvcc::PutResult& result);
SharedBytes EncodeDeleteRangeResponse(const ResponseHeader& header,
                                      const mvcc::DeleteRangeResult& result);
SharedBytes EncodeTxnResponse(const ResponseHeader& header, const mvcc::TxnResult& result);
// A response with nothing but its header.
SharedBytes EncodeHeaderOnly(const ResponseHeader& header);

}  // namespace kvorum::server
