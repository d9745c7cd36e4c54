#include "server/locks/queue_requests.h"

#include <charconv>

#include "base/check.h"
#include "base/key_range.h"

namespace kvorum::server {
namespace {

constexpr char kSeparator = '/';
constexpr int kHexadecimal = 16;
constexpr std::size_t kMostLeaseDigits = 17;  // with the sign

mvcc::TxnRequest IfCreatedAt(const QueuePlace& place) {
  mvcc::TxnRequest txn;
  txn.compare.push_back({.target = mvcc::CompareTarget::kCreate,
                         .key = place.key,
                         .range_end = {},
                         .number = place.created,
                         .value = {}});
  return txn;
}

mvcc::RangeRequest FindFirst(const QueueRange& queue, mvcc::SortOrder order) {
  return {.key = queue.prefix,
          .range_end = queue.end,
          .limit = 1,
          .sort_order = order,
          .sort_target = mvcc::SortTarget::kCreate};
}

}  // namespace

std::string QueuePrefix(std::string_view name) {
  std::string prefix;
  prefix.reserve(name.size() + 1 + kMostLeaseDigits);
  prefix += name;
  prefix += kSeparator;
  return prefix;
}

std::string QueueKey(std::string_view prefix, lease::LeaseId lease) {
  char digits[kMostLeaseDigits];
  const char* end = std::to_chars(digits, digits + sizeof digits, lease, kHexadecimal).ptr;
  return std::string(prefix).append(digits, static_cast<std::size_t>(end - digits));
}

QueueRange::QueueRange(std::string_view queue_prefix)
    : prefix(queue_prefix), end(PrefixEnd(prefix)) {
  KV_CHECK(prefix.ends_with(kSeparator), "a queue's prefix without its end");
}

mvcc::TxnRequest EnterAndCount(std::string_view key, const QueueRange& queue,
                               lease::LeaseId lease) {
  const mvcc::RangeRequest count{.key = queue.prefix, .range_end = queue.end, .count_only = true};
  mvcc::TxnRequest txn = Enter(key, lease, {});
  txn.success.emplace_back(count);
  txn.failure.emplace_back(count);
  return txn;
}

mvcc::TxnRequest Enter(std::string_view key, lease::LeaseId lease, std::string_view value) {
  mvcc::TxnRequest txn = ChangeValue({.key = key, .created = 0}, lease, value);
  txn.failure.emplace_back(FindKey(key));
  return txn;
}

mvcc::TxnRequest ChangeValue(const QueuePlace& place, lease::LeaseId lease,
                             std::string_view value) {
  mvcc::TxnRequest txn = IfCreatedAt(place);
  txn.success.emplace_back(mvcc::PutRequest{.key = place.key, .value = value, .lease = lease});
  return txn;
}

mvcc::TxnRequest LeaveQueue(const QueuePlace& place) {
  mvcc::TxnRequest txn = IfCreatedAt(place);
  txn.success.emplace_back(mvcc::DeleteRangeRequest{.key = place.key, .range_end = {}});
  return txn;
}

mvcc::RangeRequest FindKey(std::string_view key) { return {.key = key, .range_end = {}}; }

mvcc::RangeRequest FindOldest(const QueueRange& queue) {
  return FindFirst(queue, mvcc::SortOrder::kAscend);
}

mvcc::RangeRequest FindYoungestUpTo(const QueueRange& queue, std::int64_t created) {
  mvcc::RangeRequest range = FindFirst(queue, mvcc::SortOrder::kDescend);
  range.keys_only = true;
  range.max_create_revision = created;
  return range;
}

}  // namespace kvorum::server
