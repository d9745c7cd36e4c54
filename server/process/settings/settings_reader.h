// Reads the command line and the environment into Options. Used once, by the main thread.
//
// A fault does not end the reading, so that --config-check can name them all; a start goes by the
// first. Each value is checked in its turn, also one that a later one replaces.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/process/settings/flag_table.h"
#include "server/process/settings/old_spellings.h"
#include "server/process/settings/options.h"

namespace kvorum::server {

class SettingsReader {
 public:
  explicit SettingsReader(Reading& reading) : reading_(reading) {}

  // Returns false where reading ends: at --help.
  bool ReadArguments(std::span<const char* const> arguments);
  void ReadEnvironment(std::span<const char* const> environment);
  // From here on settings come from this file: what was read before does not count, but its faults.
  void BeginFile(std::string path);
  // One setting of the file, under its flag's name or an old spelling of it; `key` is the name to
  // report. Lines count from 1; 0 is the whole file.
  void SetFromFile(std::string_view key, std::string_view flag, std::string_view text,
                   std::size_t line);
  void FileFault(std::size_t line, const std::string& message);
  void FileWarning(std::size_t line, const std::string& message);
  // The gates that old switches set go into --feature-gates.
  void MergeOldGates();

 private:
  // A flag under any of its names; all null for an unknown one.
  struct Target {
    const Flag* flag = nullptr;
    const OldSpelling* old = nullptr;
    bool is_forgotten = false;
    bool is_switch = false;
  };
  struct OldGate {
    std::string value;
    std::string spelling;
  };

  static Target Find(std::string_view name);
  // Returns the reason if the value does not fit.
  ValueProblem Store(const Target& target, std::string_view text, SettingSource source);
  void Fault(int exit_code, std::string message);
  void BadArgument(std::string_view name, bool is_switch, std::string_view text,
                   const std::string& reason);

  std::string Place(std::size_t line) const;

  Reading& reading_;
  std::map<std::string, OldGate> old_gates_;
};

// ETCD_ and the flag's name in capitals.
std::string EnvironmentName(std::string_view flag);

}  // namespace kvorum::server
