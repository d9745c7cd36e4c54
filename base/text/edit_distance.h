// The number of insertions, deletions and replacements of one byte that make one text of another:
// for suggesting a name that was meant. O(a * b), for names.
#pragma once

#include <cstddef>
#include <string_view>

namespace kvorum {

// A name within this distance of a known one is taken for a typing error.
inline constexpr std::size_t kNearDistance = 2;

std::size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace kvorum
