// An address spelled as labels: in hexadecimal digits, as the first label of HEX.addr, and
// backwards below arpa.
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
// The address of D.C.B.A.in-addr.arpa (RFC 1035, 3.5) or of the 32 digits below ip6.arpa (RFC 3596,
// 2.5), in lower case. Nothing if the name is anything else, part of an address too.
std::optional<Host> ReverseAddressOf(const Name& name);

}  // namespace kvorum::dns
