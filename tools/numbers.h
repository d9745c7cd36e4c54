// Numbers, durations and sizes in the texts that Go's standard library takes and prints.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace kvorum::ctl {

// A value, or why the text is none.
template <class T>
using Parsed = std::expected<T, std::string>;

// Base 0: the text itself names it, by 0x, 0o, 0b or a leading 0; else it is 10.
Parsed<std::int64_t> ParseInt(std::string_view text, int base);
// Lower or upper case, without a prefix, as ids are shown.
Parsed<std::uint64_t> ParseHexId(std::string_view text);
Parsed<bool> ParseBool(std::string_view text);
Parsed<std::chrono::nanoseconds> ParseDuration(std::string_view text);  // "1h2m3.5s", "300ms"

std::string HumanBytes(std::uint64_t size_bytes);  // "20 kB": powers of 1000

}  // namespace kvorum::ctl
