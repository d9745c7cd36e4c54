#include "server/locks/queue_requests.h"

#include <charconv>

#include "base/check.h"
#include "base/key_range.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

constexpr char kSeparator = '/';
constexpr int kHexadecimal = 16;
constexpr std::size_t kMostLeaseDigits = 17;  // with the sign

// TxnRequest
constexpr std::uint32_t kCompare = 1;
constexpr std::uint32_t kSuccess = 2;
constexpr std::uint32_t kFailure = 3;
// RequestOp
constexpr std::uint32_t kRangeOp = 1;
constexpr std::uint32_t kPutOp = 2;
constexpr std::uint32_t kDeleteRangeOp = 3;
// Compare
constexpr std::uint32_t kCompareTarget = 2;
constexpr std::uint32_t kCompareKey = 3;
constexpr std::uint32_t kCompareCreate = 5;
constexpr std::uint64_t kTargetCreate = 1;
// PutRequest, RangeRequest, DeleteRangeRequest
constexpr std::uint32_t kKey = 1;
constexpr std::uint32_t kPutValue = 2;
constexpr std::uint32_t kPutLease = 3;
constexpr std::uint32_t kRangeEnd = 2;
constexpr std::uint32_t kLimit = 3;
constexpr std::uint32_t kSortOrder = 5;
constexpr std::uint32_t kSortTarget = 6;
constexpr std::uint32_t kKeysOnly = 8;
constexpr std::uint32_t kCountOnly = 9;
constexpr std::uint32_t kMaxCreate = 13;
constexpr std::uint64_t kAscending = 1;
constexpr std::uint64_t kDescending = 2;
constexpr std::uint64_t kByCreation = 2;

std::string PutBody(std::string_view key, lease::LeaseId lease, std::string_view value) {
  std::string put;
  wire::AppendBytes(put, kKey, key);
  wire::AppendBytes(put, kPutValue, value);
  wire::AppendInt(put, kPutLease, lease);
  return put;
}

std::string PrefixBody(std::string_view prefix) {
  std::string range;
  wire::AppendBytes(range, kKey, prefix);
  wire::AppendBytes(range, kRangeEnd, QueueEnd(prefix));
  return range;
}

std::string OldestOrYoungest(std::string_view prefix, std::uint64_t order) {
  std::string range = PrefixBody(prefix);
  wire::AppendUint(range, kLimit, 1);
  wire::AppendUint(range, kSortOrder, order);
  wire::AppendUint(range, kSortTarget, kByCreation);
  return range;
}

void AppendIfCreatedAt(std::string& txn, const QueuePlace& place) {
  std::string compare;
  wire::AppendUint(compare, kCompareTarget, kTargetCreate);
  wire::AppendBytes(compare, kCompareKey, place.key);
  wire::AppendUintAlways(compare, kCompareCreate, static_cast<std::uint64_t>(place.created));
  wire::AppendBytesAlways(txn, kCompare, compare);
}

void AppendOp(std::string& txn, std::uint32_t branch, std::uint32_t kind, std::string_view body) {
  wire::AppendLengthDelimitedHeader(txn, branch, wire::LengthDelimitedSize(kind, body.size()));
  wire::AppendBytesAlways(txn, kind, body);
}

}  // namespace

std::string QueuePrefix(std::string_view name) {
  std::string prefix;
  prefix.reserve(name.size() + 1 + kMostLeaseDigits);
  prefix += name;
  prefix += kSeparator;
  return prefix;
}

std::string QueueEnd(std::string_view prefix) {
  KV_CHECK(prefix.ends_with(kSeparator), "a queue's prefix without its end");
  return PrefixEnd(std::string(prefix));
}

std::string QueueKey(std::string_view prefix, lease::LeaseId lease) {
  char digits[kMostLeaseDigits];
  const char* end = std::to_chars(digits, digits + sizeof digits, lease, kHexadecimal).ptr;
  return std::string(prefix).append(digits, static_cast<std::size_t>(end - digits));
}

std::string EnterAndCount(std::string_view key, std::string_view prefix, lease::LeaseId lease) {
  std::string count = PrefixBody(prefix);
  wire::AppendBool(count, kCountOnly, true);
  std::string txn;
  AppendIfCreatedAt(txn, {.key = key, .created = 0});
  AppendOp(txn, kSuccess, kPutOp, PutBody(key, lease, {}));
  AppendOp(txn, kSuccess, kRangeOp, count);
  AppendOp(txn, kFailure, kRangeOp, FindKey(key));
  AppendOp(txn, kFailure, kRangeOp, count);
  return txn;
}

std::string Enter(std::string_view key, lease::LeaseId lease, std::string_view value) {
  std::string txn;
  AppendIfCreatedAt(txn, {.key = key, .created = 0});
  AppendOp(txn, kSuccess, kPutOp, PutBody(key, lease, value));
  AppendOp(txn, kFailure, kRangeOp, FindKey(key));
  return txn;
}

std::string ChangeValue(const QueuePlace& place, lease::LeaseId lease, std::string_view value) {
  std::string txn;
  AppendIfCreatedAt(txn, place);
  AppendOp(txn, kSuccess, kPutOp, PutBody(place.key, lease, value));
  return txn;
}

std::string LeaveQueue(const QueuePlace& place) {
  std::string txn;
  AppendIfCreatedAt(txn, place);
  AppendOp(txn, kSuccess, kDeleteRangeOp, FindKey(place.key));  // the same bytes: a key alone
  return txn;
}

std::string FindOldest(std::string_view prefix) { return OldestOrYoungest(prefix, kAscending); }

std::string FindYoungestUpTo(std::string_view prefix, std::int64_t created) {
  std::string range = OldestOrYoungest(prefix, kDescending);
  wire::AppendBool(range, kKeysOnly, true);
  wire::AppendInt(range, kMaxCreate, created);
  return range;
}

std::string FindKey(std::string_view key) {
  std::string range;
  wire::AppendBytes(range, kKey, key);
  return range;
}

}  // namespace kvorum::server
