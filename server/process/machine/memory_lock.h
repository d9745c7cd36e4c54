// --memory-mlock: pages of the process, the database's among them, stay in memory once they are
// there.
#pragma once

#include "base/error.h"

namespace kvorum::server {

// Locks the pages that are mapped and those that will be, each when it is first touched: the
// database's map is far larger than its file. Fails where the system forbids it or sets a limit, at
// which a later allocation would fail.
Result<void> LockMemory();

}  // namespace kvorum::server
