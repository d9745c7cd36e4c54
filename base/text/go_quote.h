// Quoted strings as Go writes (%q) and reads them. Many error texts that clients match contain one,
// the ctl's "fields" format prints them, and its txn grammar reads them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum {

// Quotes with double quotes; bytes that are not printable, or not UTF-8, are escaped.
std::string GoQuote(std::string_view bytes);

// One character in single quotes, as in "unknown shorthand flag: 'x'".
std::string GoQuoteCharacter(char c);

// The string that a literal stands for: "..." with escapes, or `...` verbatim. Nothing if it is
// malformed.
std::optional<std::string> GoUnquote(std::string_view literal);

// The length of the quoted literal at the start of the text, including its closing quote. Nothing
// if the text does not start with a quote or the literal does not end.
std::optional<std::size_t> GoQuotedLength(std::string_view text);

}  // namespace kvorum
