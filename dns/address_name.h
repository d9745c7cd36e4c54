// An address spelled in hexadecimal digits, as the first label of HEX.addr.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dns/message.h"

namespace kvorum::dns {

// 8 or 32 digits in lower case; nothing: the host is a name.
std::optional<std::string> HexOf(const Host& host);
// Nothing if the text is anything else.
std::optional<Data> AddressOf(std::string_view hex);

}  // namespace kvorum::dns
