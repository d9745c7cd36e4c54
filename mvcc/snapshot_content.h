// What a state's stream will say in its trailer: how the sink checks what it has built.
#pragma once

#include "base/error.h"
#include "mvcc/backend.h"
#include "mvcc/snapshot_format.h"

namespace kvorum::mvcc {

// Reads everything.
Result<snapshot_format::Totals> ComputeSnapshotTotals(Snapshot& content);

}  // namespace kvorum::mvcc
