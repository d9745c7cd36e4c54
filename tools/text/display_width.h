// The width of a text on a terminal.
#pragma once

#include <cstddef>
#include <string_view>

namespace kvorum::ctl {

// In columns; a byte that is not UTF-8 takes one.
std::size_t DisplayWidth(std::string_view text);

}  // namespace kvorum::ctl
