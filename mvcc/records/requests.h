// Requests to the store, in its own terms. Services translate the API's messages into these once;
// fields have the API's meaning. All string_views point into memory of the caller (a request's or a
// log entry's bytes), which outlives the request.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

namespace kvorum::mvcc {

// Values come from the wire unchecked: CheckRange (mvcc/records/validate.h) refuses unknown ones.
enum class SortOrder : std::int32_t { kNone = 0, kAscend = 1, kDescend = 2 };
enum class SortTarget : std::int32_t { kKey = 0, kVersion = 1, kCreate = 2, kMod = 3, kValue = 4 };

struct RangeRequest {
  std::string_view key;
  std::string_view range_end;
  std::int64_t limit = 0;     // <= 0: none
  std::int64_t revision = 0;  // <= 0: newest
  SortOrder sort_order = SortOrder::kNone;
  SortTarget sort_target = SortTarget::kKey;
  bool serializable = false;
  bool keys_only = false;
  bool count_only = false;
  std::int64_t min_mod_revision = 0;  // 0: off, as for the next three
  std::int64_t max_mod_revision = 0;
  std::int64_t min_create_revision = 0;
  std::int64_t max_create_revision = 0;
};

struct PutRequest {
  std::string_view key;
  std::string_view value;
  std::int64_t lease = 0;
  bool prev_kv = false;
  bool ignore_value = false;
  bool ignore_lease = false;
};

struct DeleteRangeRequest {
  std::string_view key;
  std::string_view range_end;
  bool prev_kv = false;
};

enum class CompareResult : std::int32_t { kEqual = 0, kGreater = 1, kLess = 2, kNotEqual = 3 };
enum class CompareTarget : std::int32_t {
  kVersion = 0,
  kCreate = 1,
  kMod = 2,
  kValue = 3,
  kLease = 4
};

struct Compare {
  CompareResult result = CompareResult::kEqual;
  CompareTarget target = CompareTarget::kVersion;
  std::string_view key;
  std::string_view range_end;
  // The content of target_union: the number if it belongs to `target`, else 0; the same for the
  // value.
  std::int64_t number = 0;
  std::string_view value;
};

struct TxnRequest;
// monostate: an operation without content, which CheckTxn refuses.
using RequestOp = std::variant<std::monostate, RangeRequest, PutRequest, DeleteRangeRequest,
                               std::unique_ptr<TxnRequest>>;

struct TxnRequest {
  std::vector<Compare> compare;
  std::vector<RequestOp> success;
  std::vector<RequestOp> failure;
};

}  // namespace kvorum::mvcc
