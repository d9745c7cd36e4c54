// Command-line flags as the Go tools take them: --name=value, --name value, -wvalue, -w value,
// -w=value; a switch without a value is true; flags and arguments in any order; everything after --
// is an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/text/outcome.h"

namespace kvorum::ctl {

enum class FlagType {
  kSwitch,
  kInt,
  kUint,
  kString,
  kStrings,  // a comma-separated list; given again, it is extended
  kDuration,
};

// A row of a command's flag table: parsing, help, completion and environment all derive from it.
// Rows of flags with a value are written in this order, `{"rev", FlagType::kInt, "0", "..."}`.
struct Flag {
  std::string name;
  FlagType type = FlagType::kSwitch;
  std::string default_value = {};  // for a switch: empty means false
  std::string help = {};
  std::vector<std::string> choices = {};  // offered as values by completion
  char shorthand = '\0';
  bool hidden = false;    // not in a command's help
  bool required = false;  // the command does not run without it
};

bool TakesValue(const Flag& flag);

// The flags known to one command, and their values. Any thread may read them once the command runs.
class FlagSet {
 public:
  // Adds a flag, at most once; its default must be a value of its type.
  void Add(const Flag& flag);

  // Sets the flags among the arguments and returns the others; `separator` gets the number of those
  // before "--", if there is one.
  Outcome<std::vector<std::string>> Parse(std::span<const std::string> args,
                                          std::optional<std::size_t>* separator = nullptr);
  // The error is the bare reason.
  std::expected<void, std::string> Set(std::string_view name, std::string_view text);

  const Flag* Find(std::string_view name) const;
  const Flag* FindShorthand(char letter) const;
  std::vector<const Flag*> Sorted() const;
  // Refuses a line that lacks a required flag.
  Outcome<void> CheckRequired() const;

  // The flag must exist and have that type.
  bool Switch(std::string_view name) const;
  std::int64_t Int(std::string_view name) const;
  std::uint64_t Uint(std::string_view name) const;
  const std::string& String(std::string_view name) const;
  const std::vector<std::string>& Strings(std::string_view name) const;
  std::chrono::nanoseconds Duration(std::string_view name) const;

  bool IsSet(std::string_view name) const;             // given on the line, not the default
  std::string ValueText(std::string_view name) const;  // as Go prints it

 private:
  using Value = std::variant<bool, std::int64_t, std::uint64_t, std::string,
                             std::vector<std::string>, std::chrono::nanoseconds>;
  struct Entry {
    Flag flag;
    Value value;
    bool is_set = false;
  };
  static std::expected<Value, std::string> ParseValue(FlagType type, std::string_view text);
  const Entry& At(std::string_view name) const;
  Outcome<void> SetFromArgument(const Flag& flag, std::string_view text);
  Outcome<std::span<const std::string>> ParseLong(std::string_view arg,
                                                  std::span<const std::string> rest);
  Outcome<std::span<const std::string>> ParseShort(std::string_view letters,
                                                   std::span<const std::string> rest);

  std::map<std::string, Entry, std::less<>> entries_;  // by name, which is also the order of help
};

}  // namespace kvorum::ctl
