#pragma once

#include <string>
#include <string_view>

namespace kvorum::server {

// The text as a gzip file, at the fastest level.
std::string Gzip(std::string_view text);

}  // namespace kvorum::server
