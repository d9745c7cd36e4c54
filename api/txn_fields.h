// The fields of a txn, which is read, written and shown in lines of the log by hand (kv_decode.cc,
// kv_request_encode.cc, entries/request_summary.cc). Include it in .cc files.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/tables.h"

namespace kvorum::server::txn_fields {

inline constexpr wire::Row kTxnRows[] = {
    wire::Many(wire::Part(1, "compare", kTxnCompare)),
    wire::Many(wire::Part(2, "success", kRequestOp)),
    wire::Many(wire::Part(3, "failure", kRequestOp)),
};
inline constexpr std::uint32_t kCompare = wire::NumberOf(kTxnRows, "compare");
inline constexpr std::uint32_t kSuccess = wire::NumberOf(kTxnRows, "success");
inline constexpr std::uint32_t kFailure = wire::NumberOf(kTxnRows, "failure");

// An operation's number is its position in mvcc::RequestOp.
inline constexpr wire::Row kOpRows[] = {
    wire::Either("request", wire::Part(1, "request_range", kRangeRequest)),
    wire::Either("request", wire::Part(2, "request_put", kPutRequest)),
    wire::Either("request", wire::Part(3, "request_delete_range", kDeleteRangeRequest)),
    wire::Either("request", wire::Part(4, "request_txn", kTxnRequest)),
};
inline constexpr std::uint32_t kRange = wire::NumberOf(kOpRows, "request_range");
inline constexpr std::uint32_t kPut = wire::NumberOf(kOpRows, "request_put");
inline constexpr std::uint32_t kDeleteRange = wire::NumberOf(kOpRows, "request_delete_range");
inline constexpr std::uint32_t kTxn = wire::NumberOf(kOpRows, "request_txn");

inline constexpr std::string_view kResults[] = {"EQUAL", "GREATER", "LESS", "NOT_EQUAL"};
inline constexpr std::string_view kTargets[] = {"VERSION", "CREATE", "MOD", "VALUE", "LEASE"};
inline constexpr wire::Row kCompareRows[] = {
    wire::BareEnum(1, "result", kResults, kShown),
    wire::BareEnum(2, "target", kTargets, kShown),
    wire::Bare(3, "key", FieldType::kBytes, kShown),
    wire::Either("target_union", wire::Bare(4, "version", FieldType::kInt64, kShown)),
    wire::Either("target_union", wire::Bare(5, "create_revision", FieldType::kInt64, kShown)),
    wire::Either("target_union", wire::Bare(6, "mod_revision", FieldType::kInt64, kShown)),
    wire::Either("target_union", wire::Bare(7, "value", FieldType::kBytes, kSizeShown)),
    wire::Either("target_union", wire::Bare(8, "lease", FieldType::kInt64, kShown)),
    wire::Bare(64, "range_end", FieldType::kBytes, kShown),
};
inline constexpr std::uint32_t kResult = wire::NumberOf(kCompareRows, "result");
inline constexpr std::uint32_t kTarget = wire::NumberOf(kCompareRows, "target");
inline constexpr std::uint32_t kKey = wire::NumberOf(kCompareRows, "key");
inline constexpr std::uint32_t kRangeEnd = wire::NumberOf(kCompareRows, "range_end");
// The field of target_union that belongs to a target; none of them for an unknown target.
constexpr std::uint32_t UnionOf(mvcc::CompareTarget target) {
  return wire::NumberOf(kCompareRows, "version") + static_cast<std::uint32_t>(target);
}

}  // namespace kvorum::server::txn_fields
