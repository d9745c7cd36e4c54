// --bootstrap-defrag-threshold-megabytes: the database is rewritten before the member starts, if
// that frees so much.
#pragma once

#include <cstdint>
#include <functional>

#include "base/error.h"
#include "mvcc/lmdb/backend.h"

namespace kvorum::server {

// Called before the rewritten file takes the database's place; an error leaves that as it was.
using BeforeReplacement = std::function<Result<void>()>;

// Blocks its thread for as long as the copy takes. Nothing happens for a threshold of 0, and below
// it. A copy that fails, for want of space say, is logged and leaves the database as it was; an
// error means that the file can no longer be used.
Result<void> DefragmentAtStart(mvcc::Backend& backend, std::uint64_t threshold_bytes,
                               const BeforeReplacement& before);

}  // namespace kvorum::server
