// Sizes in human-readable form.
#pragma once

#include <cstdint>
#include <string>

namespace kvorum::ctl {

std::string HumanBytes(std::uint64_t size_bytes);  // "20 kB": powers of 1000

}  // namespace kvorum::ctl
