#include "mvcc/records/key_value.h"

#include "base/check.h"
#include "proto/wire.h"

namespace kvorum::mvcc {
namespace {

enum Field : std::uint32_t {
  kKey = 1,
  kCreateRevision = 2,
  kModRevision = 3,
  kVersion = 4,
  kValue = 5,
  kLease = 6,
};

char* PutInteger(char* out, Field field, std::int64_t value) {
  return value == 0 ? out : wire::WriteUint(out, field, static_cast<std::uint64_t>(value));
}

char* PutBytes(char* out, Field field, std::string_view bytes) {
  return bytes.empty() ? out : wire::WriteBytes(out, field, bytes);
}

}  // namespace

std::size_t EncodedSize(const KeyValue& kv) {
  return wire::BytesFieldSize(kKey, kv.key.size()) +
         wire::IntFieldSize(kCreateRevision, kv.create_revision) +
         wire::IntFieldSize(kModRevision, kv.mod_revision) +
         wire::IntFieldSize(kVersion, kv.version) + wire::BytesFieldSize(kValue, kv.value.size()) +
         wire::IntFieldSize(kLease, kv.lease);
}

char* EncodeTo(const KeyValue& kv, char* out) {
  out = PutBytes(out, kKey, kv.key);
  out = PutInteger(out, kCreateRevision, kv.create_revision);
  out = PutInteger(out, kModRevision, kv.mod_revision);
  out = PutInteger(out, kVersion, kv.version);
  out = PutBytes(out, kValue, kv.value);
  return PutInteger(out, kLease, kv.lease);
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
      case kKey:
        kv.key = reader.Bytes();
        break;
      case kCreateRevision:
        kv.create_revision = reader.Int();
        break;
      case kModRevision:
        kv.mod_revision = reader.Int();
        break;
      case kVersion:
        kv.version = reader.Int();
        break;
      case kValue:
        kv.value = reader.Bytes();
        break;
      case kLease:
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
