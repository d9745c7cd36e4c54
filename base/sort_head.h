// The first bytes of a text as a number, so that a search or a sort compares adjacent numbers, and
// rarely the texts.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace kvorum {

// The eight bytes from `offset` on, padded with zeros; `offset` is at most the text's size. Of two
// texts with the same first `offset` bytes, the lesser never has the greater head.
inline std::uint64_t SortHead(std::string_view text, std::size_t offset) {
  std::uint64_t head = 0;
  const std::string_view rest = text.substr(offset);
  if (rest.size() >= sizeof(head)) {  // a size known at compile time
    std::memcpy(&head, rest.data(), sizeof(head));
  } else if (!rest.empty()) {
    std::memcpy(&head, rest.data(), rest.size());
  }
  if constexpr (std::endian::native == std::endian::little) head = std::byteswap(head);
  return head;
}

// Returns how many of the sorted heads are less. No branch depends on the comparisons: for texts in
// random order such branches are mispredicted every other time.
inline std::size_t HeadsBelow(std::span<const std::uint64_t> heads, std::uint64_t head) {
  const std::uint64_t* from = heads.data();
  std::size_t left = heads.size();
  for (; left > 1; left -= left / 2) {
    const std::size_t all_or_none = std::size_t{0} - std::size_t{from[left / 2 - 1] < head};
    from += (left / 2) & all_or_none;
  }
  const bool is_less = left == 1 && *from < head;
  return static_cast<std::size_t>(from - heads.data()) + (is_less ? 1 : 0);
}

}  // namespace kvorum
