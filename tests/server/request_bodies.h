// Requests of the KV and Maintenance services as bytes, for tests that need not see every field.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "proto/wire.h"

namespace kvorum::server {

inline std::string PutBody(std::string_view key, std::string_view value) {
  std::string body;
  wire::AppendBytes(body, 1, key);
  wire::AppendBytes(body, 2, value);
  return body;
}

inline std::string DeleteBody(std::string_view key, std::string_view range_end = {}) {
  std::string body;
  wire::AppendBytes(body, 1, key);
  wire::AppendBytes(body, 2, range_end);
  return body;
}

// The same put or delete, which requests the previous value.
inline std::string PutWithPrevKvBody(std::string_view key, std::string_view value) {
  std::string body = PutBody(key, value);
  wire::AppendBool(body, 4, true);
  return body;
}
inline std::string DeleteWithPrevKvBody(std::string_view key, std::string_view range_end = {}) {
  std::string body = DeleteBody(key, range_end);
  wire::AppendBool(body, 3, true);
  return body;
}

struct RangeFields {
  std::string_view key;
  std::string_view range_end = {};
  std::int64_t limit = 0;
  std::int64_t revision = 0;
  std::int64_t sort_order = 0;
  std::int64_t sort_target = 0;
  bool serializable = false;
  bool count_only = false;
  std::int64_t min_mod_revision = 0;
};
inline std::string RangeBody(const RangeFields& fields) {
  std::string body;
  wire::AppendBytes(body, 1, fields.key);
  wire::AppendBytes(body, 2, fields.range_end);
  wire::AppendInt(body, 3, fields.limit);
  wire::AppendInt(body, 4, fields.revision);
  wire::AppendInt(body, 5, fields.sort_order);
  wire::AppendInt(body, 6, fields.sort_target);
  wire::AppendBool(body, 7, fields.serializable);
  wire::AppendBool(body, 9, fields.count_only);
  wire::AppendInt(body, 10, fields.min_mod_revision);
  return body;
}

// The kinds of a RequestOp.
inline constexpr std::uint32_t kRequestRange = 1;
inline constexpr std::uint32_t kRequestPut = 2;
inline constexpr std::uint32_t kRequestDelete = 3;
inline constexpr std::uint32_t kRequestTxn = 4;
// A RequestOp that holds the request.
inline std::string OpBody(std::uint32_t kind, std::string_view request) {
  std::string op;
  wire::AppendBytesAlways(op, kind, request);
  return op;
}
inline std::string TxnBody(std::initializer_list<std::string> success,
                           std::initializer_list<std::string> failure = {}) {
  std::string body;
  for (const std::string& op : success) wire::AppendBytesAlways(body, 2, op);
  for (const std::string& op : failure) wire::AppendBytesAlways(body, 3, op);
  return body;
}
// A txn whose success branch puts all the keys.
inline std::string PutTxnBody(std::initializer_list<std::string> keys, std::string_view value) {
  std::string body;
  for (const std::string& key : keys) {
    wire::AppendBytesAlways(body, 2, OpBody(kRequestPut, PutBody(key, value)));
  }
  return body;
}

inline std::string CompactBody(std::int64_t revision, bool physical = false) {
  std::string body;
  wire::AppendInt(body, 1, revision);
  wire::AppendBool(body, 2, physical);
  return body;
}

// The value of a request's only field, the integer 1: HashKV's revision, MemberList's linearizable.
inline std::string NumberBody(std::int64_t number) {
  std::string body;
  wire::AppendInt(body, 1, number);
  return body;
}

}  // namespace kvorum::server
