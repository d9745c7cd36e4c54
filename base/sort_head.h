// The first bytes of a text as a number, so that a search or a sort looks at numbers that lie
// together, and seldom at the texts.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kvorum {

// The eight bytes from `offset` on, which is at most the text's size, zeros where there are none.
// Of texts with the same `offset` first bytes, the lesser never has the greater head.
inline std::uint64_t SortHead(std::string_view text, std::size_t offset) {
  std::uint64_t head = 0;
  const std::string_view rest = text.substr(offset, sizeof(head));
  if (!rest.empty()) std::memcpy(&head, rest.data(), rest.size());
  if constexpr (std::endian::native == std::endian::little) head = std::byteswap(head);
  return head;
}

}  // namespace kvorum
