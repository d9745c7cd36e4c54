// Writes the answers of the KV service: etcdserverpb responses by hand, since rows go from the
// store into the answer with one copy.
#pragma once

#include <cstdint>
#include <string>

#include "base/shared_bytes.h"
#include "mvcc/range.h"
#include "mvcc/txn.h"

namespace kvorum::server {

struct ResponseHeader {
  std::uint64_t cluster_id = 0;
  std::uint64_t member_id = 0;
  std::int64_t revision = 0;
  std::uint64_t raft_term = 0;
};

// The header as field 1 of a response; what every response starts with.
void AppendHeader(std::string& out, const ResponseHeader& header);

// Takes a range's rows while they are found: one RangeResponse, row after row.
class RangeEncoder final : public mvcc::RowSink {
 public:
  RangeEncoder() = default;  // a chunk without a header
  explicit RangeEncoder(const ResponseHeader& header) { AppendHeader(out_, header); }

  Result<void> Add(const mvcc::Row& row) override;
  std::int64_t rows() const { return rows_; }
  const std::string& last_key() const { return last_key_; }
  void KeepLastKey() { keep_last_key_ = true; }
  std::size_t size_bytes() const { return out_.size(); }

  // The whole message; the encoder is used up.
  SharedBytes Finish(bool more, std::int64_t count);

 private:
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
// A response that has nothing but its header.
SharedBytes EncodeHeaderOnly(const ResponseHeader& header);

}  // namespace kvorum::server
