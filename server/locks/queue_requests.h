// The queue that keys make: all keys under a prefix, each held by a lease, in the order of their
// creation. The oldest is the owner (of a lock) or the leader (of an election). These are the KV
// requests that it is worked with, encoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lease/lease_record.h"

namespace kvorum::server {

// Keys of the queue `name` begin with this.
std::string QueuePrefix(std::string_view name);
// The end of their range.
std::string QueueEnd(std::string_view prefix);
// The key of a lease's place: its id in hexadecimal, a negative one behind a minus sign.
std::string QueueKey(std::string_view prefix, lease::LeaseId lease);

// A key, if and only if it was created at this revision.
struct QueuePlace {
  std::string_view key;
  std::int64_t created = 0;
};

// Txn: makes the key unless it exists, else reads it; then counts the keys under the prefix. What
// it costs does not grow with the queue.
std::string EnterAndCount(std::string_view key, std::string_view prefix, lease::LeaseId lease);
// Txn: makes the key unless it exists, else reads it.
std::string Enter(std::string_view key, lease::LeaseId lease, std::string_view value);
// Txn: a new value for the place, which hangs on this lease from then on.
std::string ChangeValue(const QueuePlace& place, lease::LeaseId lease, std::string_view value);
// Txn: leaves the place.
std::string LeaveQueue(const QueuePlace& place);
// Range: the oldest key.
std::string FindOldest(std::string_view prefix);
// Range: the youngest key of those created up to a revision, without its value.
std::string FindYoungestUpTo(std::string_view prefix, std::int64_t created);
// Range: the key itself.
std::string FindKey(std::string_view key);

}  // namespace kvorum::server
