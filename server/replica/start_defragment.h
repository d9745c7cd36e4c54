// --bootstrap-defrag-threshold-megabytes: the database is rewritten before the member starts, if
// that frees so much.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "mvcc/backend.h"

namespace kvorum::server {

// Blocks its thread for as long as the copy takes. Nothing happens for a threshold of 0, and below
// it. A copy that fails, for want of space say, is logged and leaves the database as it was; an
// error means that the file can no longer be used.
Result<void> DefragmentAtStart(mvcc::Backend& backend, std::uint64_t threshold_bytes);

}  // namespace kvorum::server
