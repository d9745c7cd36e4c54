// The keys and values of the tests under faults, as their writer makes them and their probe reads
// them: the size and shape of a controller's objects.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace kvorum::sync {

inline constexpr std::size_t kMaxFaultKeys = 1'000'000;

// PREFIXteam-42/worker-000142: the last six digits are the number.
inline std::string FaultKey(const std::string& prefix, std::size_t number) {
  char name[48];
  std::snprintf(name, sizeof(name), "team-%02zu/worker-%06zu", number % 100, number);
  return prefix + name;
}

// kMaxFaultKeys if it is not such a key.
inline std::size_t NumberOf(std::string_view key) {
  std::size_t number = kMaxFaultKeys;
  const std::string_view digits = key.substr(key.size() < 6 ? key.size() : key.size() - 6);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && digits.size() == 6 ? number : kMaxFaultKeys;
}

// 100 to 900 bytes, which tell the key's number and the writer's count.
inline std::string FaultValue(std::size_t number, std::uint64_t count) {
  std::string value = R"({"worker":)" + std::to_string(number) + R"(,"count":)" +
                      std::to_string(count) + R"(,"log":")";
  const std::uint64_t mixed = (number * 0x9e3779b97f4a7c15U) ^ (count * 0xbf58476d1ce4e5b9U);
  const std::size_t size = 100 + (mixed >> 32U) % 801;
  while (value.size() + 2 < size) value.push_back(static_cast<char>('a' + value.size() % 26));
  return value + "\"}";
}

}  // namespace kvorum::sync
