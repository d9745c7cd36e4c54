#include "server/kv_decode.h"

#include "proto/wire.h"

namespace kvorum::server {
namespace {

constexpr int kMaxTxnDepth = 1'000;

template <class Enum>
Enum EnumOf(std::uint64_t value) {
  return static_cast<Enum>(
      static_cast<std::int32_t>(value));  // proto3 enums are open, 32 bits wide
}

template <class T, class Read>
Result<T> Decode(std::string_view bytes, Read&& read) {
  T value{};
  wire::Reader reader(bytes);
  while (reader.Next()) read(reader, value);
  if (!reader.ok()) return MalformedRequest();
  return value;
}

void ReadRangeField(wire::Reader& reader, mvcc::RangeRequest& request) {
  switch (reader.field()) {
    case 1:
      request.key = reader.Bytes();
      break;
    case 2:
      request.range_end = reader.Bytes();
      break;
    case 3:
      request.limit = reader.Int();
      break;
    case 4:
      request.revision = reader.Int();
      break;
    case 5:
      request.sort_order = EnumOf<mvcc::SortOrder>(reader.Varint());
      break;
    case 6:
      request.sort_target = EnumOf<mvcc::SortTarget>(reader.Varint());
      break;
    case 7:
      request.serializable = reader.Bool();
      break;
    case 8:
      request.keys_only = reader.Bool();
      break;
    case 9:
      request.count_only = reader.Bool();
      break;
    case 10:
      request.min_mod_revision = reader.Int();
      break;
    case 11:
      request.max_mod_revision = reader.Int();
      break;
    case 12:
      request.min_create_revision = reader.Int();
      break;
    case 13:
      request.max_create_revision = reader.Int();
      break;
    default:
      reader.Skip();
  }
}

void ReadPutField(wire::Reader& reader, mvcc::PutRequest& request) {
  switch (reader.field()) {
    case 1:
      request.key = reader.Bytes();
      break;
    case 2:
      request.value = reader.Bytes();
      break;
    case 3:
      request.lease = reader.Int();
      break;
    case 4:
      request.prev_kv = reader.Bool();
      break;
    case 5:
      request.ignore_value = reader.Bool();
      break;
    case 6:
      request.ignore_lease = reader.Bool();
      break;
    default:
      reader.Skip();
  }
}

void ReadDeleteRangeField(wire::Reader& reader, mvcc::DeleteRangeRequest& request) {
  switch (reader.field()) {
    case 1:
      request.key = reader.Bytes();
      break;
    case 2:
      request.range_end = reader.Bytes();
      break;
    case 3:
      request.prev_kv = reader.Bool();
      break;
    default:
      reader.Skip();
  }
}

// The oneof's last member wins; one that does not belong to the target counts as zero or empty.
struct TargetUnion {
  std::uint32_t field = 0;
  std::int64_t number = 0;
  std::string_view value;
};

constexpr std::uint32_t kCompareValueField = 7;

std::uint32_t UnionFieldOf(mvcc::CompareTarget target) {
  switch (target) {
    case mvcc::CompareTarget::kVersion:
      return 4;
    case mvcc::CompareTarget::kCreate:
      return 5;
    case mvcc::CompareTarget::kMod:
      return 6;
    case mvcc::CompareTarget::kValue:
      return kCompareValueField;
    case mvcc::CompareTarget::kLease:
      return 8;
  }
  return 0;  // an unknown target from the wire
}

Result<mvcc::Compare> DecodeCompare(std::string_view bytes) {
  mvcc::Compare compare;
  TargetUnion target;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        compare.result = EnumOf<mvcc::CompareResult>(reader.Varint());
        break;
      case 2:
        compare.target = EnumOf<mvcc::CompareTarget>(reader.Varint());
        break;
      case 3:
        compare.key = reader.Bytes();
        break;
      case 4:
      case 5:
      case 6:
      case 8:
        target = {.field = reader.field(), .number = reader.Int(), .value = {}};
        break;
      case kCompareValueField:
        target = {.field = reader.field(), .number = 0, .value = reader.Bytes()};
        break;
      case 64:
        compare.range_end = reader.Bytes();
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  if (target.field == UnionFieldOf(compare.target)) {
    compare.number = target.number;
    compare.value = target.value;
  }
  return compare;
}

Result<mvcc::TxnRequest> DecodeTxnAt(std::string_view bytes, int depth);

Result<mvcc::RequestOp> DecodeRequestOp(std::string_view bytes, int depth) {
  mvcc::RequestOp op;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1: {
        KV_TRY(op, DecodeRange(reader.Bytes()));
        break;
      }
      case 2: {
        KV_TRY(op, DecodePut(reader.Bytes()));
        break;
      }
      case 3: {
        KV_TRY(op, DecodeDeleteRange(reader.Bytes()));
        break;
      }
      case 4: {
        KV_TRY(mvcc::TxnRequest nested, DecodeTxnAt(reader.Bytes(), depth + 1));
        op = std::make_unique<mvcc::TxnRequest>(std::move(nested));
        break;
      }
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return op;
}

Result<mvcc::TxnRequest> DecodeTxnAt(std::string_view bytes, int depth) {
  if (depth > kMaxTxnDepth) return MalformedRequest();
  mvcc::TxnRequest request;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1: {
        KV_TRY(mvcc::Compare compare, DecodeCompare(reader.Bytes()));
        request.compare.push_back(compare);
        break;
      }
      case 2: {
        KV_TRY(mvcc::RequestOp op, DecodeRequestOp(reader.Bytes(), depth));
        request.success.push_back(std::move(op));
        break;
      }
      case 3: {
        KV_TRY(mvcc::RequestOp op, DecodeRequestOp(reader.Bytes(), depth));
        request.failure.push_back(std::move(op));
        break;
      }
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return request;
}

}  // namespace

std::unexpected<Error> MalformedRequest() {
  return Fail(Code::kInternal,
              "grpc: error unmarshalling request: proto: cannot parse invalid wire-format data");
}

Result<mvcc::RangeRequest> DecodeRange(std::string_view bytes) {
  return Decode<mvcc::RangeRequest>(bytes, ReadRangeField);
}

Result<mvcc::PutRequest> DecodePut(std::string_view bytes) {
  return Decode<mvcc::PutRequest>(bytes, ReadPutField);
}

Result<mvcc::DeleteRangeRequest> DecodeDeleteRange(std::string_view bytes) {
  return Decode<mvcc::DeleteRangeRequest>(bytes, ReadDeleteRangeField);
}

Result<mvcc::TxnRequest> DecodeTxn(std::string_view bytes) { return DecodeTxnAt(bytes, 0); }

Result<CompactionRequest> DecodeCompaction(std::string_view bytes) {
  return Decode<CompactionRequest>(bytes, [](wire::Reader& reader, CompactionRequest& request) {
    switch (reader.field()) {
      case 1:
        request.revision = reader.Int();
        break;
      case 2:
        request.physical = reader.Bool();
        break;
      default:
        reader.Skip();
    }
  });
}

}  // namespace kvorum::server
