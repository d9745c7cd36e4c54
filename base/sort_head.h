// The first bytes of a text as a number, so that a search or a sort looks at numbers that lie
// together, and seldom at the texts.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace kvorum {

// The eight bytes from `offset` on, which is at most the text's size, zeros where there are none.
// Of texts with the same `offset` first bytes, the lesser never has the greater head.
inline std::uint64_t SortHead(std::string_view text, std::size_t offset) {
  std::uint64_t head = 0;
  const std::string_view rest = text.substr(offset);
  if (rest.size() >= sizeof(head)) {  // of a size that the compiler knows
    std::memcpy(&head, rest.data(), sizeof(head));
  } else if (!rest.empty()) {
    std::memcpy(&head, rest.data(), rest.size());
  }
  if constexpr (std::endian::native == std::endian::little) head = std::byteswap(head);
  return head;
}

// How many of the sorted heads are less. No branch depends on them: those of a search in texts that
// come in no order are guessed wrong every other time.
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
