#include "mvcc/records/key_value.h"

#include "base/check.h"
#include "mvcc/records/key_value_fields.h"
#include "proto/wire.h"

namespace kvorum::mvcc {
namespace {

namespace f = key_value_fields;

char* PutInteger(char* out, std::uint32_t field, std::int64_t value) {
  return value == 0 ? out : wire::WriteUint(out, field, static_cast<std::uint64_t>(value));
}

char* PutBytes(char* out, std::uint32_t field, std::string_view bytes) {
  return bytes.empty() ? out : wire::WriteBytes(out, field, bytes);
}

}  // namespace

std::size_t EncodedSize(const KeyValue& kv) {
  return wire::BytesFieldSize(f::kKey, kv.key.size()) +
         wire::IntFieldSize(f::kCreateRevision, kv.create_revision) +
         wire::IntFieldSize(f::kModRevision, kv.mod_revision) +
         wire::IntFieldSize(f::kVersion, kv.version) +
         wire::BytesFieldSize(f::kValue, kv.value.size()) + wire::IntFieldSize(f::kLease, kv.lease);
}

char* EncodeTo(const KeyValue& kv, char* out) {
  out = PutBytes(out, f::kKey, kv.key);
  out = PutInteger(out, f::kCreateRevision, kv.create_revision);
  out = PutInteger(out, f::kModRevision, kv.mod_revision);
  out = PutInteger(out, f::kVersion, kv.version);
  out = PutBytes(out, f::kValue, kv.value);
  return PutInteger(out, f::kLease, kv.lease);
}

std::string Encode(const KeyValue& kv) {
  std::string bytes(EncodedSize(kv), '\0');
  KV_CHECK(EncodeTo(kv, bytes.data()) == bytes.data() + bytes.size(), "EncodedSize is wrong");
  return bytes;
}

Result<KeyValue> DecodeKeyValue(std::string_view bytes) {
  KeyValue kv;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case f::kKey:
        kv.key = reader.Bytes();
        break;
      case f::kCreateRevision:
        kv.create_revision = reader.Int();
        break;
      case f::kModRevision:
        kv.mod_revision = reader.Int();
        break;
      case f::kVersion:
        kv.version = reader.Int();
        break;
      case f::kValue:
        kv.value = reader.Bytes();
        break;
      case f::kLease:
        kv.lease = reader.Int();
        break;
      default:  // of a newer version
        reader.Skip();
    }
  }
  if (!reader.ok()) return Fail(Code::kDataLoss, "mvcc: not a key-value pair");
  return kv;
}

}  // namespace kvorum::mvcc
