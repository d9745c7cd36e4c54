// Texts in quotes as Go's %q writes them: many error texts that clients match hold one.
#pragma once

#include <string>
#include <string_view>

namespace kvorum {

// In double quotes; control characters and bytes that are no UTF-8 are escaped.
std::string GoQuote(std::string_view text);

}  // namespace kvorum
