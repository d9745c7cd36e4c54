// Numbers and booleans as Go's package strconv reads them: in flags, arguments and feature gates.
// An error is kInvalidArgument for what is no number and kOutOfRange for one that does not fit,
// with strconv's text.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace kvorum {

// Base 0: the text itself names it, by 0x, 0o, 0b or a leading 0, else it is 10, and underscores
// may stand between digits. `bits` is the size of the type that the number must fit into.
Result<std::int64_t> ParseInt(std::string_view text, int base);
// Without a sign.
Result<std::uint64_t> ParseUint(std::string_view text, int base, int bits = 64);
// 1, t, T, true, TRUE, True, or 0 and the like.
Result<bool> ParseBool(std::string_view text);

}  // namespace kvorum
