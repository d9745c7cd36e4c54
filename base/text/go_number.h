// Numbers and booleans as Go's package strconv reads them, for flags, arguments and feature gates.
// A text that is not a number is kInvalidArgument, a number that does not fit kOutOfRange, with
// strconv's text.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace kvorum {

// With base 0 the text itself names the base by 0x, 0o, 0b or a leading 0, and is decimal
// otherwise; underscores may then separate digits. `bits` is the size of the type that the number
// must fit into.
Result<std::int64_t> ParseInt(std::string_view text, int base);
// Accepts no sign.
Result<std::uint64_t> ParseUint(std::string_view text, int base, int bits = 64);
// Accepts 1, t, T, true, TRUE, True and the same spellings of false.
Result<bool> ParseBool(std::string_view text);

}  // namespace kvorum
