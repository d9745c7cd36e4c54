// The totals in the trailer of a state's stream, with which the sink checks what it has built.
#pragma once

#include "base/error.h"
#include "mvcc/backend.h"
#include "mvcc/snapshot_format.h"

namespace kvorum::mvcc {

// Reads everything.
Result<snapshot_format::Totals> ComputeSnapshotTotals(Snapshot& content);

}  // namespace kvorum::mvcc
