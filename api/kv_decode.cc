#include "api/kv_decode.h"

#include "api/tables.h"
#include "api/txn_fields.h"
#include "base/api_errors.h"
#include "proto/inline_fields.h"

namespace kvorum::server {
namespace {

constexpr int kMaxTxnDepth = 1'000;

template <class T, class Fields>
Result<T> Decode(Fields fields, std::string_view bytes) {
  T request{};
  if (!wire::ReadInline(fields, bytes, request)) return MalformedRequest();
  return request;
}

namespace f = txn_fields;

using mvcc::CompareTarget;
using mvcc::DeleteRangeRequest;
using mvcc::PutRequest;
using mvcc::RangeRequest;

constexpr std::string_view kSortOrders[] = {"NONE", "ASCEND", "DESCEND"};
constexpr std::string_view kSortTargets[] = {"KEY", "VERSION", "CREATE", "MOD", "VALUE"};
using RangeFields =
    wire::Fields<Field<1, &RangeRequest::key, "key", kShown>,
                 Field<2, &RangeRequest::range_end, "range_end", kShown>,
                 Field<3, &RangeRequest::limit, "limit", kShown>,
                 Field<4, &RangeRequest::revision, "revision", kShown>,
                 Enum<5, &RangeRequest::sort_order, kSortOrders, "sort_order", kShown>,
                 Enum<6, &RangeRequest::sort_target, kSortTargets, "sort_target", kShown>,
                 Field<7, &RangeRequest::serializable, "serializable", kShown>,
                 Field<8, &RangeRequest::keys_only, "keys_only", kShown>,
                 Field<9, &RangeRequest::count_only, "count_only", kShown>,
                 Field<10, &RangeRequest::min_mod_revision, "min_mod_revision", kShown>,
                 Field<11, &RangeRequest::max_mod_revision, "max_mod_revision", kShown>,
                 Field<12, &RangeRequest::min_create_revision, "min_create_revision", kShown>,
                 Field<13, &RangeRequest::max_create_revision, "max_create_revision", kShown>>;
using PutFields = wire::Fields<Field<1, &PutRequest::key, "key", kShown>,
                               Field<2, &PutRequest::value, "value", kSizeShown>,
                               Field<3, &PutRequest::lease, "lease", kShown>,
                               Field<4, &PutRequest::prev_kv, "prev_kv", kShown>,
                               Field<5, &PutRequest::ignore_value, "ignore_value", kShown>,
                               Field<6, &PutRequest::ignore_lease, "ignore_lease", kShown>>;
using DeleteRangeFields =
    wire::Fields<Field<1, &DeleteRangeRequest::key, "key", kShown>,
                 Field<2, &DeleteRangeRequest::range_end, "range_end", kShown>,
                 Field<3, &DeleteRangeRequest::prev_kv, "prev_kv", kShown>>;

// The oneof's last member wins; one that does not match the target counts as zero or empty.
struct TargetUnion {
  std::uint32_t field = 0;
  std::int64_t number = 0;
  std::string_view value;
};

bool ReadCompare(mvcc::Compare& compare, std::string_view bytes) {
  TargetUnion target;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.tag()) {
      case wire::VarintTag(f::kResult):
        wire::ReadMember(reader, compare.result);
        break;
      case wire::VarintTag(f::kTarget):
        wire::ReadMember(reader, compare.target);
        break;
      case wire::BytesTag(f::kKey):
        compare.key = reader.Bytes();
        break;
      case wire::VarintTag(f::UnionOf(CompareTarget::kVersion)):
      case wire::VarintTag(f::UnionOf(CompareTarget::kCreate)):
      case wire::VarintTag(f::UnionOf(CompareTarget::kMod)):
      case wire::VarintTag(f::UnionOf(CompareTarget::kLease)):
        target = {.field = reader.field(), .number = reader.Int(), .value = {}};
        break;
      case wire::BytesTag(f::UnionOf(CompareTarget::kValue)):
        target = {.field = reader.field(), .number = 0, .value = reader.Bytes()};
        break;
      case wire::BytesTag(f::kRangeEnd):
        compare.range_end = reader.Bytes();
        break;
      default:
        reader.Skip();
    }
  }
  if (target.field == f::UnionOf(compare.target)) {
    compare.number = target.number;
    compare.value = target.value;
  }
  return reader.ok();
}

bool ReadTxn(mvcc::TxnRequest& request, std::string_view bytes, int depth);

// Parts of one operation are merged, as proto3 requires for a message that comes in parts; an
// operation of another kind replaces the previous one.
template <class T>
T& OpOf(mvcc::RequestOp& op) {
  T* same = std::get_if<T>(&op);
  return same != nullptr ? *same : op.emplace<T>();
}

bool ReadRequestOp(mvcc::RequestOp& op, std::string_view bytes, int depth) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    bool read = true;
    switch (reader.tag()) {
      case wire::BytesTag(f::kRange):
        read = wire::ReadInline(RangeFields(), reader.Bytes(), OpOf<RangeRequest>(op));
        break;
      case wire::BytesTag(f::kPut):
        read = wire::ReadInline(PutFields(), reader.Bytes(), OpOf<PutRequest>(op));
        break;
      case wire::BytesTag(f::kDeleteRange):
        read = wire::ReadInline(DeleteRangeFields(), reader.Bytes(), OpOf<DeleteRangeRequest>(op));
        break;
      case wire::BytesTag(f::kTxn): {
        auto& nested = OpOf<std::unique_ptr<mvcc::TxnRequest>>(op);
        if (nested == nullptr) nested = std::make_unique<mvcc::TxnRequest>();
        read = ReadTxn(*nested, reader.Bytes(), depth + 1);
        break;
      }
      default:
        reader.Skip();
    }
    if (!read) return false;
  }
  return reader.ok();
}

bool ReadTxn(mvcc::TxnRequest& request, std::string_view bytes, int depth) {
  if (depth > kMaxTxnDepth) return false;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    bool read = true;
    switch (reader.tag()) {
      case wire::BytesTag(f::kCompare):
        read = ReadCompare(request.compare.emplace_back(), reader.Bytes());
        break;
      case wire::BytesTag(f::kSuccess):
        read = ReadRequestOp(request.success.emplace_back(), reader.Bytes(), depth);
        break;
      case wire::BytesTag(f::kFailure):
        read = ReadRequestOp(request.failure.emplace_back(), reader.Bytes(), depth);
        break;
      default:
        reader.Skip();
    }
    if (!read) return false;
  }
  return reader.ok();
}

constexpr auto kEmpty = Describe<EmptyMessage>(
    "etcdserverpb.LeaseLeasesRequest etcdserverpb.StatusRequest etcdserverpb.DefragmentRequest "
    "etcdserverpb.HashRequest etcdserverpb.SnapshotRequest etcdserverpb.AuthEnableRequest "
    "etcdserverpb.AuthDisableRequest "
    "etcdserverpb.AuthStatusRequest etcdserverpb.AuthUserListRequest "
    "etcdserverpb.AuthRoleListRequest");

constexpr const wire::Table* kKvTables[] = {&kResponseHeader,
                                            &kKeyValue,
                                            &kRangeRequest,
                                            &kRangeResponse,
                                            &kPutRequest,
                                            &kPutResponse,
                                            &kDeleteRangeRequest,
                                            &kDeleteRangeResponse,
                                            &kCompactionRequest,
                                            &kTxnRequest,
                                            &kTxnResponse,
                                            &kTxnCompare,
                                            &kRequestOp,
                                            &kResponseOp,
                                            &kRangeStreamResponse,
                                            &kHeaderAlone,
                                            &kEmpty};

}  // namespace

constexpr wire::Message<RangeRequest> kRangeRequest =
    wire::DescribeFields<RangeRequest>(RangeFields(), "etcdserverpb.RangeRequest");
constexpr wire::Message<PutRequest> kPutRequest =
    wire::DescribeFields<PutRequest>(PutFields(), "etcdserverpb.PutRequest");
constexpr wire::Message<DeleteRangeRequest> kDeleteRangeRequest =
    wire::DescribeFields<DeleteRangeRequest>(DeleteRangeFields(),
                                             "etcdserverpb.DeleteRangeRequest");
constexpr wire::Message<CompactionRequest> kCompactionRequest =
    Describe<CompactionRequest, Field<1, &CompactionRequest::revision, "revision", kShown>,
             Field<2, &CompactionRequest::physical, "physical", kShown>>(
        "etcdserverpb.CompactionRequest");

constexpr wire::Table kTxnRequest = wire::ByHand("etcdserverpb.TxnRequest", f::kTxnRows);
constexpr wire::Table kRequestOp = wire::ByHand("etcdserverpb.RequestOp", f::kOpRows);
constexpr wire::Table kTxnCompare = wire::ByHand("etcdserverpb.Compare", f::kCompareRows);

MessageTables KvTables() { return kKvTables; }

std::unexpected<Error> MalformedRequest() { return kErrMalformedRequest.Fail(); }
std::unexpected<Error> InvalidUtf8Request() { return kErrInvalidUtf8Request.Fail(); }

Result<mvcc::RangeRequest> DecodeRange(std::string_view bytes) {
  return Decode<RangeRequest>(RangeFields(), bytes);
}

Result<mvcc::PutRequest> DecodePut(std::string_view bytes) {
  return Decode<PutRequest>(PutFields(), bytes);
}

Result<mvcc::DeleteRangeRequest> DecodeDeleteRange(std::string_view bytes) {
  return Decode<DeleteRangeRequest>(DeleteRangeFields(), bytes);
}

Result<mvcc::TxnRequest> DecodeTxn(std::string_view bytes) {
  mvcc::TxnRequest request;
  if (!ReadTxn(request, bytes, 0)) return MalformedRequest();
  return request;
}

Result<CompactionRequest> DecodeCompaction(std::string_view bytes) {
  return wire::DecodeRequest(kCompactionRequest, bytes);
}

Result<EmptyMessage> DecodeEmptyMessage(std::string_view bytes) {
  return wire::DecodeRequest(kEmpty, bytes);
}

}  // namespace kvorum::server
