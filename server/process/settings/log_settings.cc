#include "server/process/settings/log_settings.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/letter_case.h"

namespace kvorum::server {

Result<LogRotation> ParseLogRotation(std::string_view json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (parsed.is_discarded()) {
    return Fail(Code::kInvalidArgument,
                "improperly formatted log rotation config: it is no JSON object");
  }
  const auto invalid = [](const std::string& what) {
    return Fail(Code::kInvalidArgument, "invalid log rotation config: " + what);
  };
  if (parsed.is_null()) return LogRotation{};
  if (!parsed.is_object()) return invalid("it is no JSON object");
  LogRotation rotation;
  for (const auto& [name, value] : parsed.items()) {
    const std::string key = LowerCase(name);
    std::uint64_t* number = nullptr;
    bool* choice = nullptr;
    if (key == "maxsize") number = &rotation.max_size_mib;
    if (key == "maxage") number = &rotation.max_age_days;
    if (key == "maxbackups") number = &rotation.max_backups;
    if (key == "localtime") choice = &rotation.local_time;
    if (key == "compress") choice = &rotation.compress;
    if (value.is_null()) continue;
    if (number != nullptr) {
      constexpr std::uint64_t kMost = 1'000'000'000;
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost)
        return invalid(key + " must be a whole number without a sign");
      *number = value.get<std::uint64_t>();
    } else if (choice != nullptr) {
      if (!value.is_boolean()) return invalid(key + " must be true or false");
      *choice = value.get<bool>();
    }
  }
  return rotation;
}

Result<void> CheckRotatedOutputs(const std::vector<std::string>& outputs) {
  const auto files = std::ranges::count_if(outputs, [](const std::string& output) {
    return output != "default" && output != "stderr" && output != "stdout";
  });
  if (files == 1 && std::ranges::find(outputs, "systemd/journal") == outputs.end()) return {};
  return Fail(Code::kInvalidArgument,
              "--log-outputs requires a single file path when --log-rotate-config-json is defined");
}

}  // namespace kvorum::server
