// Any bytes as the configuration file. It is read or refused, and read once more
// it gives the same settings, faults and warnings.
#include "server/process/settings/config_file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "server/process/settings/flag_table.h"
#include "server/process/settings/options_check.h"
#include "server/process/settings/settings_reader.h"

namespace {

using namespace kvorum::server;

void Require(bool condition) {
  if (!condition) std::abort();
}

Reading Read(std::string_view text) {
  Reading reading;
  SettingsReader reader(reading);
  reader.BeginFile("file");
  ReadConfigFile(text, reader);
  reader.MergeOldGates();
  return reading;
}

std::vector<std::string> Told(const Reading& reading) {
  std::vector<std::string> told = reading.parsed.warnings;
  for (const UsageError& fault : reading.faults) told.push_back(fault.message);
  for (const auto& [name, value] : reading.parsed.given) told.push_back(name + "=" + value.text);
  return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Reading reading = Read(text);
  for (const auto& [name, value] : reading.parsed.given) {
    Require(FindFlag(name) != nullptr);
    Require(value.source == SettingSource::kFile);
  }
  for (const UsageError& fault : reading.faults) Require(!fault.message.empty());
  // The checks take all that a file may hold.
  static_cast<void>(CheckOptions(reading.parsed.options, reading.parsed.given));
  Require(Told(reading) == Told(Read(text)));
  return 0;
}
