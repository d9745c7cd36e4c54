// Quoted strings as Go writes and reads them: the "fields" format prints them, the txn grammar
// takes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvorum::ctl {

// In double quotes; what is not printable, or not UTF-8, is escaped.
std::string Quote(std::string_view bytes);

// One character in single quotes, as in "unknown shorthand flag: 'x'".
std::string QuoteCharacter(char c);

// The string that a literal stands for: "..." with escapes, or `...` as it is. Nothing if it is
// malformed.
std::optional<std::string> Unquote(std::string_view literal);

// The length of the quoted literal that the text begins with, to its closing quote; nothing if the
// text does not begin with a quote or the literal does not end.
std::optional<std::size_t> QuotedLength(std::string_view text);

}  // namespace kvorum::ctl
