#include "tools/shell/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/text/duration_text.h"
#include "base/text/go_number.h"
#include "base/text/go_quote.h"
#include "tools/text/csv.h"

namespace kvorum::ctl {
namespace {

// The name of a flag in an error.
std::string DisplayName(const Flag& flag) {
  return flag.shorthand == '\0' ? "--" + flag.name
                                : fmt::format("-{}, --{}", flag.shorthand, flag.name);
}

}  // namespace

bool TakesValue(const Flag& flag) { return flag.type != FlagType::kSwitch; }

std::expected<FlagSet::Value, std::string> FlagSet::ParseValue(FlagType type,
                                                               std::string_view text) {
  const auto as_value = [](auto parsed) -> std::expected<Value, std::string> {
    if (parsed) return std::expected<Value, std::string>(std::in_place, *std::move(parsed));
    if constexpr (requires { parsed.error().message; }) {
      return std::unexpected(std::move(parsed).error().message);
    } else {
      return std::unexpected(std::move(parsed).error());
    }
  };
  switch (type) {
    case FlagType::kSwitch:
      return as_value(ParseBool(text));
    case FlagType::kInt:
      return as_value(ParseInt(text, 0));
    case FlagType::kUint:
      return as_value(ParseUint(text, 0));
    case FlagType::kString:
      return Value(std::string(text));
    case FlagType::kStrings:
      return as_value(ParseCsv(text));
    case FlagType::kDuration:
      return as_value(ParseDuration(text));
  }
  return std::unexpected("unknown type");
}

void FlagSet::Add(const Flag& flag) {
  const bool off = flag.type == FlagType::kSwitch && flag.default_value.empty();
  auto value = ParseValue(flag.type, off ? "false" : flag.default_value);
  KV_CHECK(value.has_value(), "a flag's default is not of its type");
  const bool added = entries_.emplace(flag.name, Entry{flag, *std::move(value)}).second;
  KV_CHECK(added, "a flag is defined twice");
}

const Flag* FlagSet::Find(std::string_view name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second.flag;
}

const Flag* FlagSet::FindShorthand(char letter) const {
  for (const auto& [name, entry] : entries_)
    if (entry.flag.shorthand == letter) return &entry.flag;
  return nullptr;
}

std::vector<const Flag*> FlagSet::Sorted() const {
  std::vector<const Flag*> flags;
  flags.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) flags.push_back(&entry.flag);
  return flags;
}

Outcome<void> FlagSet::CheckRequired() const {
  std::vector<std::string> missing;
  for (const auto& [name, entry] : entries_)
    if (entry.flag.required && !entry.is_set) missing.push_back(GoQuote(name));
  if (missing.empty()) return {};
  return Fail(ExitCode::kError,
              fmt::format("required flag(s) {} not set", fmt::join(missing, ", ")));
}

std::expected<void, std::string> FlagSet::Set(std::string_view name, std::string_view text) {
  const auto it = entries_.find(name);
  KV_CHECK(it != entries_.end(), "an undefined flag is set");
  Entry& entry = it->second;
  KV_TRY(auto value, ParseValue(entry.flag.type, text));
  if (entry.flag.type == FlagType::kStrings && entry.is_set) {
    auto& list = std::get<std::vector<std::string>>(entry.value);
    for (std::string& item : std::get<std::vector<std::string>>(value))
      list.push_back(std::move(item));
  } else {
    entry.value = std::move(value);
  }
  entry.is_set = true;
  return {};
}

Outcome<void> FlagSet::SetFromArgument(const Flag& flag, std::string_view text) {
  const auto set = Set(flag.name, text);
  if (set) return {};
  return Fail(ExitCode::kError, fmt::format("invalid argument {} for {} flag: {}", GoQuote(text),
                                            GoQuote(DisplayName(flag)), set.error()));
}

Outcome<std::span<const std::string>> FlagSet::ParseLong(std::string_view arg,
                                                         std::span<const std::string> rest) {
  const std::string_view body = arg.substr(2);
  if (body.front() == '-' || body.front() == '=')
    return Fail(ExitCode::kError, fmt::format("bad flag syntax: {}", arg));
  const std::size_t equals = body.find('=');
  const std::string_view name = body.substr(0, equals);
  const Flag* flag = Find(name);
  if (flag == nullptr) return Fail(ExitCode::kError, fmt::format("unknown flag: --{}", name));

  std::string_view value = "true";
  if (equals != std::string_view::npos) {
    value = body.substr(equals + 1);
  } else if (TakesValue(*flag)) {
    if (rest.empty())
      return Fail(ExitCode::kError, fmt::format("flag needs an argument: --{}", name));
    value = rest.front();
    rest = rest.subspan(1);
  }
  KV_RETURN_IF_ERROR(SetFromArgument(*flag, value));
  return rest;
}

Outcome<std::span<const std::string>> FlagSet::ParseShort(std::string_view letters,
                                                          std::span<const std::string> rest) {
  while (!letters.empty()) {
    const Flag* flag = FindShorthand(letters.front());
    if (flag == nullptr)
      return Fail(ExitCode::kError, fmt::format("unknown shorthand flag: {} in -{}",
                                                GoQuoteCharacter(letters.front()), letters));
    std::string_view value = "true";
    std::string_view next_letters = letters.substr(1);
    if (letters.size() > 2 && letters[1] == '=') {
      value = letters.substr(2);
      next_letters = {};
    } else if (TakesValue(*flag)) {
      if (letters.size() > 1) {
        value = letters.substr(1);
        next_letters = {};
      } else if (!rest.empty()) {
        value = rest.front();
        rest = rest.subspan(1);
      } else {
        return Fail(ExitCode::kError, fmt::format("flag needs an argument: {} in -{}",
                                                  GoQuoteCharacter(letters.front()), letters));
      }
    }
    KV_RETURN_IF_ERROR(SetFromArgument(*flag, value));
    letters = next_letters;
  }
  return rest;
}

Outcome<std::vector<std::string>> FlagSet::Parse(std::span<const std::string> args,
                                                 std::optional<std::size_t>* separator) {
  std::vector<std::string> positional;
  while (!args.empty()) {
    const std::string& arg = args.front();
    args = args.subspan(1);
    if (arg.size() < 2 || arg.front() != '-') {
      positional.push_back(arg);
      continue;
    }
    if (arg == "--") {
      if (separator != nullptr) *separator = positional.size();
      positional.insert(positional.end(), args.begin(), args.end());
      break;
    }
    KV_TRY(auto rest, arg[1] == '-' ? ParseLong(arg, args)
                                    : ParseShort(std::string_view(arg).substr(1), args));
    args = rest;
  }
  return positional;
}

const FlagSet::Entry& FlagSet::At(std::string_view name) const {
  const auto it = entries_.find(name);
  KV_CHECK(it != entries_.end(), "an undefined flag is read");
  return it->second;
}

bool FlagSet::Switch(std::string_view name) const { return std::get<bool>(At(name).value); }

std::int64_t FlagSet::Int(std::string_view name) const {
  return std::get<std::int64_t>(At(name).value);
}

std::uint64_t FlagSet::Uint(std::string_view name) const {
  return std::get<std::uint64_t>(At(name).value);
}

const std::string& FlagSet::String(std::string_view name) const {
  return std::get<std::string>(At(name).value);
}

const std::vector<std::string>& FlagSet::Strings(std::string_view name) const {
  return std::get<std::vector<std::string>>(At(name).value);
}

std::chrono::nanoseconds FlagSet::Duration(std::string_view name) const {
  return std::get<std::chrono::nanoseconds>(At(name).value);
}

bool FlagSet::IsSet(std::string_view name) const { return At(name).is_set; }

std::string FlagSet::ValueText(std::string_view name) const {
  struct Visitor {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(std::uint64_t value) const { return std::to_string(value); }
    std::string operator()(const std::string& value) const { return value; }
    std::string operator()(const std::vector<std::string>& value) const {
      return fmt::format("[{}]", WriteCsv(value));
    }
    std::string operator()(std::chrono::nanoseconds value) const { return FormatDuration(value); }
  };
  return std::visit(Visitor(), At(name).value);
}

}  // namespace kvorum::ctl
