// A command line with its environment, parsed as the server parses it.
#pragma once

#include <gtest/gtest.h>

#include <expected>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "server/process/settings/options.h"

namespace kvorum::server {

using Words = std::initializer_list<const char*>;

// Reads the settings as a start does, which goes by the first fault.
inline std::expected<ParsedCommandLine, UsageError> ParseCommandLine(
    std::span<const char* const> arguments, std::span<const char* const> environment = {}) {
  Reading reading = ReadSettings(arguments, environment);
  if (!reading.faults.empty()) return std::unexpected(std::move(reading.faults.front()));
  return std::move(reading.parsed);
}

inline std::expected<ParsedCommandLine, UsageError> Parse(Words arguments, Words environment = {}) {
  return ParseCommandLine(std::span(arguments.begin(), arguments.size()),
                          std::span(environment.begin(), environment.size()));
}

inline Options Parsed(Words arguments, Words environment = {}) {
  auto parsed = Parse(arguments, environment);
  if (!parsed.has_value()) {
    ADD_FAILURE() << parsed.error().message;
    return {};
  }
  return parsed->options;
}

// "<exit code>: <text>", or "accepted".
inline std::string Refusal(Words arguments, Words environment = {}) {
  const auto parsed = Parse(arguments, environment);
  if (parsed.has_value()) return "accepted";
  return std::to_string(parsed.error().exit_code) + ": " + parsed.error().message;
}

}  // namespace kvorum::server
