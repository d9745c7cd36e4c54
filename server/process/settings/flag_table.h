// The table of all flags of the API level that we match: each flag's name, target field, default
// and help. Internal to options.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "server/process/settings/options.h"

namespace kvorum::server {

// The fault of a value, as Go's package flag words it after the flag's name; nothing if it is fine.
using ValueProblem = std::optional<std::string>;

// For a number that could not be read: syntax or size.
std::string NumberProblem(const Error& error);
ValueProblem CheckSigned(std::string_view text);
ValueProblem CheckUnsigned(std::string_view text);
ValueProblem CheckUnsigned32(std::string_view text);
ValueProblem CheckDuration(std::string_view text);
ValueProblem CheckUrls(std::string_view text);  // an empty list keeps the default
ValueProblem CheckOrigins(std::string_view text);
ValueProblem CheckFeatureGates(std::string_view text);
ValueProblem CheckClusterState(std::string_view text);
ValueProblem CheckDiscoveryFallback(std::string_view text);
ValueProblem CheckV2Deprecation(std::string_view text);

enum class Support : std::uint8_t {
  kEffective,
  kIgnored,  // accepted; its subject does not exist here
};

// The field that a value is stored in. `Text` is for flags without a field.
struct Text {
  bool boolean = false;
};
using Field =
    std::variant<Text, std::string Options::*, std::uint64_t Options::*, std::int64_t Options::*,
                 bool Options::*, std::chrono::nanoseconds Options::*,
                 std::vector<std::string> Options::*>;

struct Flag {
  std::string_view name;
  std::string_view section;
  Support support;
  Field field;
  std::string_view default_text;
  std::string_view help;
  // A further check of a value, also for flags without effect: returns the reason to refuse it.
  ValueProblem (*check)(std::string_view text) = nullptr;
};

// In the order of --help.
std::span<const Flag> Flags();
// Null if there is no flag of that name.
const Flag* FindFlag(std::string_view name);
bool IsBoolean(const Flag& flag);

}  // namespace kvorum::server
