// DNS messages as bytes, by ldns, whose headers stay in wire.cc.
//
// Pure and thread-safe. Bytes from outside reach ldns only after their shape was checked here: a
// query of at most kMaxQueryBytes, one question without compression, at most one record, which is
// the one of EDNS, and nothing behind it. Of EDNS' options the cookie alone is read.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "dns/message.h"

namespace kvorum::dns {

inline constexpr std::size_t kMaxQueryBytes = 4096;
inline constexpr std::uint16_t kEdnsBytes = 1232;  // passes every usual network unfragmented

// The error is the packet to answer with: FORMERR or NOTIMP, or empty for what gets no answer (a
// response, or less than a header).
std::expected<Query, std::string> ReadQuery(std::string_view packet);

// The reply may have any size. It repeats the question as it was spelled, and has EDNS if that has.
std::string WriteReply(const Query& query, const Reply& reply);

}  // namespace kvorum::dns
