// A snapshot server's subscribers, as its control socket reports them to another command.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "sync/delta/control_plane.h"
#include "sync/kernel/json_bytes.h"
#include "tools/session/table.h"

namespace kvorum::ctl {

// The command's name in a request.
inline constexpr const char* kSnapshotStatusCommand = "status";

// A node as an item of the answer: {"node","reason","types":[{"type","version","nonce",
// "acknowledged","refused","refusal"}]}.
sync::Json SnapshotStatusItem(const sync::NodeState& state);
Result<sync::NodeState> ReadSnapshotStatusItem(const sync::Json& item);

// A row for each type of each node; a node that has asked for no type yet has one.
Table SnapshotStatusTable(const std::vector<sync::NodeState>& states);

// "3 subscribers, 1 refuses, 1 is behind"
std::string SnapshotStatusLine(const std::vector<sync::NodeState>& states);

}  // namespace kvorum::ctl
