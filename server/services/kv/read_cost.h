// The cost of a read, and so its place.
#pragma once

#include <cstdint>

#include "mvcc/records/requests.h"

namespace kvorum::server {

struct Reads;

enum class ReadPlace : std::uint8_t {
  kLoop,     // the call's I/O loop
  kPages,    // the executor for pages: short enough that others may wait behind it
  kReaders,  // the readers' executor
};

// Decided by the number of rows, which the index gives in O(log n); of an old revision by that of
// the keys to be looked at, dead ones too. A read placed on the loop may turn out to have more
// bytes than AnswerLimits::loop_bytes.
ReadPlace PlaceOf(const Reads& reads, const mvcc::RangeRequest& request);
ReadPlace PlaceOf(const Reads& reads, const mvcc::TxnRequest& request);

}  // namespace kvorum::server
