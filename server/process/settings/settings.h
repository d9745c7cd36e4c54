// The settings that an operator gave: each flag's value as text and where it came from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace kvorum::server {

enum class SettingSource : std::uint8_t { kFlag, kEnvironment, kFile };

struct GivenValue {
  std::string text;
  SettingSource source = SettingSource::kFlag;
};

// By the flag's name; the last value wins.
using GivenFlags = std::map<std::string, GivenValue, std::less<>>;

}  // namespace kvorum::server
