#include "api/kv_encode.h"

#include <array>

#include "api/client_messages.h"
#include "api/tables.h"
#include "mvcc/records/key_value_fields.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace kv_fields = mvcc::key_value_fields;

constexpr wire::Message<ResponseHeader> kResponseHeader =
    Describe<ResponseHeader, Field<1, &ResponseHeader::cluster_id, "cluster_id">,
             Field<2, &ResponseHeader::member_id, "member_id">,
             Field<3, &ResponseHeader::revision, "revision">,
             Field<4, &ResponseHeader::raft_term, "raft_term">>("etcdserverpb.ResponseHeader");
constexpr wire::Message<ReceivedKeyValue> kKeyValue = Describe<
    ReceivedKeyValue, Field<kv_fields::kKey, &ReceivedKeyValue::key, "key">,
    Field<kv_fields::kCreateRevision, &ReceivedKeyValue::create_revision, "create_revision">,
    Field<kv_fields::kModRevision, &ReceivedKeyValue::mod_revision, "mod_revision">,
    Field<kv_fields::kVersion, &ReceivedKeyValue::version, "version">,
    Field<kv_fields::kValue, &ReceivedKeyValue::value, "value">,
    Field<kv_fields::kLease, &ReceivedKeyValue::lease, "lease">>("mvccpb.KeyValue");
constexpr wire::Message<RangeAnswer> kRangeResponse =
    Describe<RangeAnswer, Nested<1, &RangeAnswer::header, kResponseHeader, "header">,
             Nested<2, &RangeAnswer::rows, kKeyValue, "kvs">, Field<3, &RangeAnswer::more, "more">,
             Field<4, &RangeAnswer::count, "count">>("etcdserverpb.RangeResponse");

namespace {

using wire::ByHand;
using wire::Either;
using wire::Many;
using wire::NumberOf;
using wire::Part;
using wire::Row;

// KV's answers are written by hand, by these rows' numbers.
constexpr Row kHeaderAloneRows[] = {Part(1, "header", kResponseHeader)};
constexpr Row kPutRows[] = {Part(1, "header", kResponseHeader), Part(2, "prev_kv", kKeyValue)};
constexpr Row kDeleteRangeRows[] = {Part(1, "header", kResponseHeader),
                                    wire::Bare(2, "deleted", FieldType::kInt64),
                                    Many(Part(3, "prev_kvs", kKeyValue))};
constexpr Row kTxnRows[] = {Part(1, "header", kResponseHeader),
                            wire::Bare(2, "succeeded", FieldType::kBool),
                            Many(Part(3, "responses", kResponseOp))};

constexpr Row kRangeStreamRows[] = {Part(1, "range_response", kRangeResponse)};

constexpr Row kResponseOpRows[] = {
    Either("response", Part(1, "response_range", kRangeResponse)),
    Either("response", Part(2, "response_put", kPutResponse)),
    Either("response", Part(3, "response_delete_range", kDeleteRangeResponse)),
    Either("response", Part(4, "response_txn", kTxnResponse))};

constexpr std::uint32_t kHeader = NumberOf(kHeaderAloneRows, "header");  // in every response
constexpr std::uint32_t kKvs = NumberOf(kRangeResponse.rows, "kvs");
constexpr std::uint32_t kMore = NumberOf(kRangeResponse.rows, "more");
constexpr std::uint32_t kCount = NumberOf(kRangeResponse.rows, "count");
constexpr std::uint32_t kPrevKv = NumberOf(kPutRows, "prev_kv");
constexpr std::uint32_t kDeleted = NumberOf(kDeleteRangeRows, "deleted");
constexpr std::uint32_t kPrevKvs = NumberOf(kDeleteRangeRows, "prev_kvs");
constexpr std::uint32_t kSucceeded = NumberOf(kTxnRows, "succeeded");
constexpr std::uint32_t kResponses = NumberOf(kTxnRows, "responses");
constexpr std::uint32_t kStreamedRange = NumberOf(kRangeStreamRows, "range_response");
constexpr std::uint32_t kRangeOp = NumberOf(kResponseOpRows, "response_range");
constexpr std::uint32_t kPutOp = NumberOf(kResponseOpRows, "response_put");
constexpr std::uint32_t kDeleteRangeOp = NumberOf(kResponseOpRows, "response_delete_range");
constexpr std::uint32_t kTxnOp = NumberOf(kResponseOpRows, "response_txn");

constexpr std::uint32_t kClusterId = NumberOf(kResponseHeader.rows, "cluster_id");
constexpr std::uint32_t kMemberId = NumberOf(kResponseHeader.rows, "member_id");
constexpr std::uint32_t kHeaderRevision = NumberOf(kResponseHeader.rows, "revision");
constexpr std::uint32_t kRaftTerm = NumberOf(kResponseHeader.rows, "raft_term");

}  // namespace

constexpr wire::Table kHeaderAlone = ByHand(
    "etcdserverpb.CompactionResponse etcdserverpb.LeaseRevokeResponse "
    "etcdserverpb.DefragmentResponse etcdserverpb.MoveLeaderResponse "
    "etcdserverpb.AuthEnableResponse "
    "etcdserverpb.AuthDisableResponse etcdserverpb.AuthUserAddResponse "
    "etcdserverpb.AuthUserDeleteResponse "
    "etcdserverpb.AuthUserChangePasswordResponse etcdserverpb.AuthUserGrantRoleResponse "
    "etcdserverpb.AuthUserRevokeRoleResponse etcdserverpb.AuthRoleAddResponse "
    "etcdserverpb.AuthRoleDeleteResponse etcdserverpb.AuthRoleGrantPermissionResponse "
    "etcdserverpb.AuthRoleRevokePermissionResponse v3lockpb.UnlockResponse "
    "v3electionpb.ProclaimResponse v3electionpb.ResignResponse",
    kHeaderAloneRows);
constexpr wire::Table kPutResponse = ByHand("etcdserverpb.PutResponse", kPutRows);
constexpr wire::Table kDeleteRangeResponse =
    ByHand("etcdserverpb.DeleteRangeResponse", kDeleteRangeRows);
constexpr wire::Table kTxnResponse = ByHand("etcdserverpb.TxnResponse", kTxnRows);
constexpr wire::Table kRangeStreamResponse =
    ByHand("etcdserverpb.RangeStreamResponse", kRangeStreamRows);
constexpr wire::Table kResponseOp = ByHand("etcdserverpb.ResponseOp", kResponseOpRows);

namespace {

void GrowFor(std::string& out, std::size_t more_bytes) {
  const std::size_t needed = out.size() + more_bytes;
  if (needed > out.capacity()) out.reserve(std::max(needed, 2 * out.capacity()));
}

// Within a txn a header has only its revision.
std::size_t NestedHeaderSize(std::int64_t revision) {
  return wire::LengthDelimitedSize(kHeader, wire::IntFieldSize(kHeaderRevision, revision));
}
void AppendNestedHeader(std::string& out, std::int64_t revision) {
  wire::AppendLengthDelimitedHeader(out, kHeader, wire::IntFieldSize(kHeaderRevision, revision));
  wire::AppendInt(out, kHeaderRevision, revision);
}

std::size_t RowsSize(std::uint32_t field, const mvcc::RowBuffer& rows) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    size += wire::LengthDelimitedSize(field, rows[i].size());
  return size;
}
void AppendRows(std::string& out, std::uint32_t field, const mvcc::RowBuffer& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) wire::AppendBytesAlways(out, field, rows[i]);
}

// Each body is the response without its header.
std::size_t BodySize(const mvcc::RangeResult& result) {
  return RowsSize(kKvs, result.rows) + wire::UintFieldSize(kMore, result.more ? 1 : 0) +
         wire::IntFieldSize(kCount, result.count);
}
void AppendBody(std::string& out, const mvcc::RangeResult& result) {
  AppendRows(out, kKvs, result.rows);
  wire::AppendBool(out, kMore, result.more);
  wire::AppendInt(out, kCount, result.count);
}

std::size_t BodySize(const mvcc::PutResult& result) {
  return wire::BytesFieldSize(kPrevKv, result.prev_kv.size());
}
void AppendBody(std::string& out, const mvcc::PutResult& result) {
  wire::AppendBytes(out, kPrevKv, result.prev_kv.view());
}

std::size_t BodySize(const mvcc::DeleteRangeResult& result) {
  return wire::IntFieldSize(kDeleted, result.deleted) + RowsSize(kPrevKvs, result.prev_kvs);
}
void AppendBody(std::string& out, const mvcc::DeleteRangeResult& result) {
  wire::AppendInt(out, kDeleted, result.deleted);
  AppendRows(out, kPrevKvs, result.prev_kvs);
}

std::size_t OpSize(const mvcc::OpResult& op);
void AppendOp(std::string& out, const mvcc::OpResult& op);

std::size_t BodySize(const mvcc::TxnResult& result) {
  std::size_t size = wire::UintFieldSize(kSucceeded, result.succeeded ? 1 : 0);
  for (const mvcc::OpResult& op : result.responses)
    size += wire::LengthDelimitedSize(kResponses, OpSize(op));
  return size;
}
void AppendBody(std::string& out, const mvcc::TxnResult& result) {
  wire::AppendBool(out, kSucceeded, result.succeeded);
  for (const mvcc::OpResult& op : result.responses) {
    wire::AppendLengthDelimitedHeader(out, kResponses, OpSize(op));
    AppendOp(out, op);
  }
}

template <class T>
std::size_t NestedSize(const T& result) {
  return NestedHeaderSize(result.revision) + BodySize(result);
}
template <class T>
void AppendNested(std::string& out, std::uint32_t field, const T& result) {
  wire::AppendLengthDelimitedHeader(out, field, NestedSize(result));
  AppendNestedHeader(out, result.revision);
  AppendBody(out, result);
}

struct OpSizer {
  std::size_t operator()(std::monostate) const { return 0; }
  std::size_t operator()(const mvcc::RangeResult& r) const {
    return wire::LengthDelimitedSize(kRangeOp, NestedSize(r));
  }
  std::size_t operator()(const mvcc::PutResult& r) const {
    return wire::LengthDelimitedSize(kPutOp, NestedSize(r));
  }
  std::size_t operator()(const mvcc::DeleteRangeResult& r) const {
    return wire::LengthDelimitedSize(kDeleteRangeOp, NestedSize(r));
  }
  std::size_t operator()(const std::unique_ptr<mvcc::TxnResult>& r) const {
    return wire::LengthDelimitedSize(kTxnOp, NestedSize(*r));
  }
};

struct OpAppender {
  std::string& out;
  void operator()(std::monostate) const {}
  void operator()(const mvcc::RangeResult& r) const { AppendNested(out, kRangeOp, r); }
  void operator()(const mvcc::PutResult& r) const { AppendNested(out, kPutOp, r); }
  void operator()(const mvcc::DeleteRangeResult& r) const { AppendNested(out, kDeleteRangeOp, r); }
  void operator()(const std::unique_ptr<mvcc::TxnResult>& r) const {
    AppendNested(out, kTxnOp, *r);
  }
};

std::size_t OpSize(const mvcc::OpResult& op) { return std::visit(OpSizer{}, op); }
void AppendOp(std::string& out, const mvcc::OpResult& op) { std::visit(OpAppender{out}, op); }

constexpr std::size_t kHeaderBytesAtMost = 48;

template <class T>
SharedBytes EncodeResponse(const ResponseHeader& header, const T& result) {
  std::string out;
  out.reserve(kHeaderBytesAtMost + BodySize(result));
  AppendHeader(out, header);
  AppendBody(out, result);
  return SharedBytes::Own(std::move(out));
}

}  // namespace

void AppendHeader(std::string& out, const ResponseHeader& header) {
  std::array<char, kHeaderBytesAtMost> bytes;
  // Four fields have at most 44 bytes, so that tag and length have one each.
  char* const fields = bytes.data() + 2;
  char* end = fields;
  const auto add = [&](std::uint32_t field, std::uint64_t value) {
    if (value != 0) end = wire::WriteUint(end, field, value);
  };
  add(kClusterId, header.cluster_id);
  add(kMemberId, header.member_id.value());
  add(kHeaderRevision, static_cast<std::uint64_t>(header.revision));
  add(kRaftTerm, header.raft_term.value());
  bytes[0] = static_cast<char>(wire::BytesTag(kHeader));
  bytes[1] = static_cast<char>(end - fields);
  out.append(bytes.data(), static_cast<std::size_t>(end - bytes.data()));
}

std::size_t FramedSize(const mvcc::Row& row) {
  return wire::LengthDelimitedSize(kKvs, row.EncodedSize());
}

void AppendRow(std::string& out, const mvcc::Row& row) {
  const std::size_t size = row.EncodedSize();
  wire::AppendLengthDelimitedHeader(out, kKvs, size);
  if (!row.encoded.empty()) {
    out.append(row.encoded);
    return;
  }
  const std::size_t at = out.size();
  out.resize(at + size);
  row.EncodeTo(out.data() + at);
}

void AppendRangeEnd(std::string& out, bool more, std::int64_t count) {
  wire::AppendBool(out, kMore, more);
  wire::AppendInt(out, kCount, count);
}

void AppendSucceeded(std::string& out, bool succeeded) {
  wire::AppendBool(out, kSucceeded, succeeded);
}

void AppendRangeOpHead(std::string& out, std::int64_t revision, std::size_t body_bytes) {
  const std::size_t range_bytes = NestedHeaderSize(revision) + body_bytes;
  wire::AppendLengthDelimitedHeader(out, kResponses,
                                    wire::LengthDelimitedSize(kRangeOp, range_bytes));
  wire::AppendLengthDelimitedHeader(out, kRangeOp, range_bytes);
  AppendNestedHeader(out, revision);
}

Result<void> RangeEncoder::Add(const mvcc::Row& row) {
  const std::size_t framed = FramedSize(row);
  if (out_.size() + framed > max_bytes_ && (rows_ > 0 || !keep_last_key_)) {
    is_exceeded_ = true;
    return Fail(Code::kResourceExhausted, "the answer is larger than is read here");
  }
  GrowFor(out_, framed);
  AppendRow(out_, row);
  ++rows_;
  if (keep_last_key_) last_key_.assign(row.key);
  return {};
}

SharedBytes RangeEncoder::Finish(bool more, std::int64_t count) {
  AppendRangeEnd(out_, more, count);
  return SharedBytes::Own(std::move(out_));
}

ByteChain WrapStreamChunk(SharedBytes range_response) {
  std::string header;
  wire::AppendLengthDelimitedHeader(header, kStreamedRange, range_response.size());
  ByteChain chain;
  chain.push_back(SharedBytes::Copy(header));
  chain.push_back(std::move(range_response));
  return chain;
}

SharedBytes EncodePutResponse(const ResponseHeader& header, const mvcc::PutResult& result) {
  return EncodeResponse(header, result);
}

SharedBytes EncodeDeleteRangeResponse(const ResponseHeader& header,
                                      const mvcc::DeleteRangeResult& result) {
  return EncodeResponse(header, result);
}

SharedBytes EncodeTxnResponse(const ResponseHeader& header, const mvcc::TxnResult& result) {
  return EncodeResponse(header, result);
}

SharedBytes EncodeHeaderOnly(const ResponseHeader& header) {
  std::string out;
  AppendHeader(out, header);
  return SharedBytes::Own(std::move(out));
}

}  // namespace kvorum::server
