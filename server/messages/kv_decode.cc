#include "server/messages/kv_decode.h"

#include "base/api_errors.h"
#include "proto/wire.h"
#include "server/messages/tables.h"

namespace kvorum::server {
namespace {

constexpr int kMaxTxnDepth = 1'000;

template <class Enum>
Enum EnumOf(std::uint64_t value) {
  return static_cast<Enum>(
      static_cast<std::int32_t>(value));  // proto3 enums are open, 32 bits wide
}

// False for bytes that are malformed.
template <class T, class Read>
bool ReadInto(T& value, std::string_view bytes, Read&& read) {
  wire::Reader reader(bytes);
  while (reader.Next()) read(reader, value);
  return reader.ok();
}

template <class T, class Read>
Result<T> Decode(std::string_view bytes, Read&& read) {
  T value{};
  if (!ReadInto(value, bytes, read)) return MalformedRequest();
  return value;
}

void ReadRangeField(wire::Reader& reader, mvcc::RangeRequest& request) {
  switch (reader.tag()) {
    case wire::BytesTag(1):
      request.key = reader.Bytes();
      break;
    case wire::BytesTag(2):
      request.range_end = reader.Bytes();
      break;
    case wire::VarintTag(3):
      request.limit = reader.Int();
      break;
    case wire::VarintTag(4):
      request.revision = reader.Int();
      break;
    case wire::VarintTag(5):
      request.sort_order = EnumOf<mvcc::SortOrder>(reader.Varint());
      break;
    case wire::VarintTag(6):
      request.sort_target = EnumOf<mvcc::SortTarget>(reader.Varint());
      break;
    case wire::VarintTag(7):
      request.serializable = reader.Bool();
      break;
    case wire::VarintTag(8):
      request.keys_only = reader.Bool();
      break;
    case wire::VarintTag(9):
      request.count_only = reader.Bool();
      break;
    case wire::VarintTag(10):
      request.min_mod_revision = reader.Int();
      break;
    case wire::VarintTag(11):
      request.max_mod_revision = reader.Int();
      break;
    case wire::VarintTag(12):
      request.min_create_revision = reader.Int();
      break;
    case wire::VarintTag(13):
      request.max_create_revision = reader.Int();
      break;
    default:
      reader.Skip();
  }
}

void ReadPutField(wire::Reader& reader, mvcc::PutRequest& request) {
  switch (reader.tag()) {
    case wire::BytesTag(1):
      request.key = reader.Bytes();
      break;
    case wire::BytesTag(2):
      request.value = reader.Bytes();
      break;
    case wire::VarintTag(3):
      request.lease = reader.Int();
      break;
    case wire::VarintTag(4):
      request.prev_kv = reader.Bool();
      break;
    case wire::VarintTag(5):
      request.ignore_value = reader.Bool();
      break;
    case wire::VarintTag(6):
      request.ignore_lease = reader.Bool();
      break;
    default:
      reader.Skip();
  }
}

void ReadDeleteRangeField(wire::Reader& reader, mvcc::DeleteRangeRequest& request) {
  switch (reader.tag()) {
    case wire::BytesTag(1):
      request.key = reader.Bytes();
      break;
    case wire::BytesTag(2):
      request.range_end = reader.Bytes();
      break;
    case wire::VarintTag(3):
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

bool ReadCompare(mvcc::Compare& compare, std::string_view bytes) {
  TargetUnion target;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.tag()) {
      case wire::VarintTag(1):
        compare.result = EnumOf<mvcc::CompareResult>(reader.Varint());
        break;
      case wire::VarintTag(2):
        compare.target = EnumOf<mvcc::CompareTarget>(reader.Varint());
        break;
      case wire::BytesTag(3):
        compare.key = reader.Bytes();
        break;
      case wire::VarintTag(4):
      case wire::VarintTag(5):
      case wire::VarintTag(6):
      case wire::VarintTag(8):
        target = {.field = reader.field(), .number = reader.Int(), .value = {}};
        break;
      case wire::BytesTag(kCompareValueField):
        target = {.field = reader.field(), .number = 0, .value = reader.Bytes()};
        break;
      case wire::BytesTag(64):
        compare.range_end = reader.Bytes();
        break;
      default:
        reader.Skip();
    }
  }
  if (target.field == UnionFieldOf(compare.target)) {
    compare.number = target.number;
    compare.value = target.value;
  }
  return reader.ok();
}

bool ReadTxn(mvcc::TxnRequest& request, std::string_view bytes, int depth);

// Parts of one operation are merged, as proto3 has it for a message that comes in parts; an
// operation of another kind replaces what came before it.
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
      case wire::BytesTag(1):
        read = ReadInto(OpOf<mvcc::RangeRequest>(op), reader.Bytes(), ReadRangeField);
        break;
      case wire::BytesTag(2):
        read = ReadInto(OpOf<mvcc::PutRequest>(op), reader.Bytes(), ReadPutField);
        break;
      case wire::BytesTag(3):
        read = ReadInto(OpOf<mvcc::DeleteRangeRequest>(op), reader.Bytes(), ReadDeleteRangeField);
        break;
      case wire::BytesTag(4): {
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
      case wire::BytesTag(1):
        read = ReadCompare(request.compare.emplace_back(), reader.Bytes());
        break;
      case wire::BytesTag(2):
        read = ReadRequestOp(request.success.emplace_back(), reader.Bytes(), depth);
        break;
      case wire::BytesTag(3):
        read = ReadRequestOp(request.failure.emplace_back(), reader.Bytes(), depth);
        break;
      default:
        reader.Skip();
    }
    if (!read) return false;
  }
  return reader.ok();
}

constexpr auto kCompaction =
    wire::Describe<CompactionRequest, wire::Field<1, &CompactionRequest::revision>,
                   wire::Field<2, &CompactionRequest::physical>>("etcdserverpb.CompactionRequest");

constexpr const wire::Table* kKvTables[] = {&kResponseHeader, &kCompaction};

}  // namespace

MessageTables KvTables() { return kKvTables; }

std::unexpected<Error> MalformedRequest() { return kErrMalformedRequest.Fail(); }
std::unexpected<Error> InvalidUtf8Request() { return kErrInvalidUtf8Request.Fail(); }

Result<mvcc::RangeRequest> DecodeRange(std::string_view bytes) {
  return Decode<mvcc::RangeRequest>(bytes, ReadRangeField);
}

Result<mvcc::PutRequest> DecodePut(std::string_view bytes) {
  return Decode<mvcc::PutRequest>(bytes, ReadPutField);
}

Result<mvcc::DeleteRangeRequest> DecodeDeleteRange(std::string_view bytes) {
  return Decode<mvcc::DeleteRangeRequest>(bytes, ReadDeleteRangeField);
}

Result<mvcc::TxnRequest> DecodeTxn(std::string_view bytes) {
  mvcc::TxnRequest request;
  if (!ReadTxn(request, bytes, 0)) return MalformedRequest();
  return request;
}

Result<CompactionRequest> DecodeCompaction(std::string_view bytes) {
  return wire::DecodeRequest(kCompaction, bytes);
}

}  // namespace kvorum::server
