// The queue that keys make: all keys under a prefix, each held by a lease, in the order of their
// creation. The oldest is the owner (of a lock) or the leader (of an election). These are the KV
// requests that work with it. They point into the keys and values that they are made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lease/lease_record.h"
#include "mvcc/requests.h"

namespace kvorum::server {

// Keys of the queue `name` begin with this.
std::string QueuePrefix(std::string_view name);
// The key of a lease's place: its id in hexadecimal, a negative one behind a minus sign.
std::string QueueKey(std::string_view prefix, lease::LeaseId lease);

// All keys under a queue's prefix.
struct QueueRange {
  explicit QueueRange(std::string_view queue_prefix);
  std::string prefix;
  std::string end;
};

// A key, if and only if it was created at this revision.
struct QueuePlace {
  std::string_view key;
  std::int64_t created = 0;
};

// Makes the key unless it exists, else reads it; then counts the keys of the queue. The cost does
// not grow with the queue.
mvcc::TxnRequest EnterAndCount(std::string_view key, const QueueRange& queue, lease::LeaseId lease);
// Makes the key unless it exists, else reads it.
mvcc::TxnRequest Enter(std::string_view key, lease::LeaseId lease, std::string_view value);
// A new value for the place, which hangs on this lease from then on.
mvcc::TxnRequest ChangeValue(const QueuePlace& place, lease::LeaseId lease, std::string_view value);
mvcc::TxnRequest LeaveQueue(const QueuePlace& place);
mvcc::RangeRequest FindKey(std::string_view key);
// The oldest key.
mvcc::RangeRequest FindOldest(const QueueRange& queue);
// The youngest key of those created up to a revision, without its value.
mvcc::RangeRequest FindYoungestUpTo(const QueueRange& queue, std::int64_t created);

}  // namespace kvorum::server
