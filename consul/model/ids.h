// Consul's names and ids as parts of keys: they may have any character, a part may not.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::consul {

// Percent-codes '%', '/', bytes below 0x20, 0x7f and what is not UTF-8; in ids '.' as well, so that
// NODE.ID means one thing (sync/agent/entry.h). kInvalidArgument: empty, or above
// sync::kMaxNameBytes once encoded.
Result<std::string> EncodeName(std::string_view name);
Result<std::string> EncodeId(std::string_view id);
std::string DecodePart(std::string_view part);

}  // namespace kvorum::consul
