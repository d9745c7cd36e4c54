// A lease as stored in the backend's bucket `lease`, by etcd's members too: under its id as 8
// bytes, big-endian, a leasepb.Lease. The single home of these bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::wire {
struct Table;
}

namespace kvorum::lease {

// Any number but 0, which stands for "no lease"; clients choose negative ones too.
using LeaseId = std::int64_t;
inline constexpr LeaseId kNoLease = 0;

struct LeaseRecord {
  LeaseId id = kNoLease;
  std::int64_t ttl_s = 0;        // the granted time to live
  std::int64_t remaining_s = 0;  // the time left at the last checkpoint; 0: the whole ttl

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

using LeaseKey = std::array<char, 8>;
LeaseKey EncodeLeaseKey(LeaseId id);
inline std::string_view View(const LeaseKey& key) { return {key.data(), key.size()}; }

std::string EncodeLease(const LeaseRecord& record);
// kDataLoss for bytes that are not a lease, or have no id.
Result<LeaseRecord> DecodeLease(std::string_view bytes);

// The tables of all messages of this library, for the test that compares them with the .proto
// files.
std::span<const wire::Table* const> MessageTables();

}  // namespace kvorum::lease
