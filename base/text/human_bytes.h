// Sizes for people, as etcd's lines and tables have them.
#pragma once

#include <cstdint>
#include <string>

namespace kvorum {

std::string HumanBytes(std::uint64_t size_bytes);  // "20 kB": powers of 1000

}  // namespace kvorum
