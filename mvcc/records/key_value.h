// mvccpb.KeyValue as it is stored and sent: the bytes are part of HashKV, so they must be exactly
// those of proto3 (fields in number order, zero fields absent).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::mvcc {

// Refers to the encoded bytes or to the caller's memory.
struct KeyValue {
  std::string_view key;
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
  std::int64_t version = 0;
  std::string_view value;
  std::int64_t lease = 0;
};

std::size_t EncodedSize(const KeyValue& kv);
// Writes exactly EncodedSize(kv) bytes and returns the end.
char* EncodeTo(const KeyValue& kv, char* out);
std::string Encode(const KeyValue& kv);
// kDataLoss for bytes that are not a KeyValue.
Result<KeyValue> DecodeKeyValue(std::string_view bytes);

}  // namespace kvorum::mvcc
