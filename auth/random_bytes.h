// Unpredictable bytes, for tokens and salts.
//
// A function type, so that the simulation can pass a repeatable one. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace kvorum::auth {

using RandomBytes = std::function<void(std::span<std::uint8_t> out)>;

// The operating system's (getrandom). Aborts if it has none.
void SystemRandomBytes(std::span<std::uint8_t> out);

}  // namespace kvorum::auth
