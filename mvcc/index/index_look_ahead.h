// Searches for several keys side by side. A search waits for memory four or five times, each time
// before it knows where to look next; side by side, step by step, the searches wait together. Those
// for the same keys that follow find all of it in the cache.
#pragma once

#include <span>
#include <string_view>

#include "mvcc/index/index_node.h"
#include "mvcc/records/look_ahead.h"

namespace kvorum::mvcc::index {

// Sets entries[i] to what FindEntry returns for keys[i]. At most kMostAhead keys.
void FindEntries(const Node* root, int height, std::span<const std::string_view> keys,
                 std::span<const Entry*> entries);

}  // namespace kvorum::mvcc::index
