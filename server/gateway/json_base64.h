// The bytes fields of JSON messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvorum::server::gateway {

// With '-' or '_' in the URL's alphabet, without in the standard one; padded if the text's length
// is a multiple of four, not padded otherwise. Line ends are ignored, as are unused bits.
std::optional<std::string> DecodeJsonBytes(std::string_view text);

// True if the last character is white space of Unicode.
bool EndsWithSpace(std::string_view text);

}  // namespace kvorum::server::gateway
