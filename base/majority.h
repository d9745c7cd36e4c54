#pragma once

#include <concepts>

namespace kvorum {

// The fewest of so many members that are more than half of them.
constexpr auto Majority(std::unsigned_integral auto members) { return members / 2 + 1; }

}  // namespace kvorum
