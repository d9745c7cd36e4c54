// The queue behind locks and elections: all keys under a prefix, each held by a lease, in the order
// of their creation. The oldest is the owner (of a lock) or the leader (of an election). These are
// the KV requests for working with it. They refer to the keys and values that they are made from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lease/lease_record.h"
#include "mvcc/records/requests.h"

namespace kvorum::server {

// The prefix of the keys of the queue `name`.
std::string QueuePrefix(std::string_view name);
// The key of a lease's place: its id in hexadecimal, with a minus sign in front if it is negative.
std::string QueueKey(std::string_view prefix, lease::LeaseId lease);

// All keys under a queue's prefix.
struct QueueRange {
  explicit QueueRange(std::string_view queue_prefix);
  std::string prefix;
  std::string end;
};

// A key, valid only if it was created at this revision.
struct QueuePlace {
  std::string_view key;
  std::int64_t created = 0;
};

// Creates the key unless it exists, else reads it; then counts the keys of the queue. The cost does
// not grow with the queue.
mvcc::TxnRequest EnterAndCount(std::string_view key, const QueueRange& queue, lease::LeaseId lease);
// Creates the key unless it exists, else reads it.
mvcc::TxnRequest Enter(std::string_view key, lease::LeaseId lease, std::string_view value);
// Sets a new value for the place, which is attached to this lease from then on.
mvcc::TxnRequest ChangeValue(const QueuePlace& place, lease::LeaseId lease, std::string_view value);
mvcc::TxnRequest LeaveQueue(const QueuePlace& place);
mvcc::RangeRequest FindKey(std::string_view key);
// The oldest key.
mvcc::RangeRequest FindOldest(const QueueRange& queue);
// The youngest key of those created up to a revision, without its value.
mvcc::RangeRequest FindYoungestUpTo(const QueueRange& queue, std::int64_t created);

}  // namespace kvorum::server
