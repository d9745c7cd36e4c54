// Quoted strings as Go writes (%q) and reads them: many error texts that clients match hold one,
// the "fields" format of the ctl prints them, its txn grammar takes them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum {

// In double quotes; what is not printable, or not UTF-8, is escaped.
std::string GoQuote(std::string_view bytes);

// One character in single quotes, as in "unknown shorthand flag: 'x'".
std::string GoQuoteCharacter(char c);

// The string that a literal stands for: "..." with escapes, or `...` as it is. Nothing if it is
// malformed.
std::optional<std::string> GoUnquote(std::string_view literal);

// The length of the quoted literal that the text begins with, to its closing quote; nothing if the
// text does not begin with a quote or the literal does not end.
std::optional<std::size_t> GoQuotedLength(std::string_view text);

}  // namespace kvorum
