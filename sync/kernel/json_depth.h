// The depth of JSON that others wrote, found without building it: what is built of a text
// of brackets takes a hundred times its length, and copying or writing it a frame of the stack for
// each.
//
// Pure and thread-safe. Cost: one look at each byte.
#pragma once

#include <cstddef>
#include <string_view>

namespace kvorum::sync {

inline constexpr std::size_t kMaxJsonDepth = 1000;

// The deepest nesting of arrays and objects.
std::size_t JsonDepth(std::string_view text);

}  // namespace kvorum::sync
