#include "tests/scenarios/pattern.h"

#include <charconv>
#include <optional>

#include "base/text/duration_text.h"

namespace kvorum::server {
namespace {

std::optional<std::uint64_t> WholeNumber(std::string_view text, int base = 10) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::unexpected<Error> NotFitting(std::string_view word, std::string_view why) {
  return Fail(Code::kInvalidArgument, "'" + std::string(word) + "' " + std::string(why));
}

Result<void> AddOne(Slots& slots, std::string_view kind, const std::string& word,
                    std::size_t members) {
  if (kind == "N") {
    const auto number = WholeNumber(word);
    if (!number.has_value() || *number < 1 || *number > members)
      return NotFitting(word, "is not a member");
    slots.Add({.text = word, .number = *number});
  } else if (kind == "COUNT") {
    const auto number = WholeNumber(word);
    if (!number.has_value()) return NotFitting(word, "is not a number");
    slots.Add({.text = word, .number = *number});
  } else if (kind == "TIME") {
    const auto time = ParseDuration(word);
    if (!time.has_value()) return NotFitting(word, "is not a duration");
    slots.Add({.text = word, .time = *time});
  } else if (kind == "KEY=VALUE" || kind == "OPTION=NUMBER...") {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return NotFitting(word, "lacks a '='");
    slots.Add({.text = word.substr(0, equals)});
    const std::string value = word.substr(equals + 1);
    if (kind == "KEY=VALUE") {
      slots.Add({.text = value});
    } else {
      return AddOne(slots, "COUNT", value, members);
    }
  } else {
    slots.Add({.text = word});
  }
  return {};
}

bool IsSlot(std::string_view part) { return part.front() >= 'A' && part.front() <= 'Z'; }

}  // namespace

Result<std::vector<std::string>> SplitStoryLine(std::string_view line) {
  std::vector<std::string> words;
  bool in_word = false;
  bool in_quotes = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ' && !in_quotes) {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) words.emplace_back();
    if (line[i] == '"') {
      in_quotes = !in_quotes;
    } else if (line.substr(i).starts_with("\\x")) {
      const auto byte = WholeNumber(line.substr(i + 2, 2), 16);
      if (!byte.has_value()) return NotFitting(line.substr(i), "is not a byte");
      words.back() += static_cast<char>(*byte);
      i += 3;
    } else {
      words.back() += line[i];
    }
  }
  if (in_quotes) return NotFitting(words.back(), "lacks its closing quote");
  return words;
}

Result<Slots> MatchPattern(std::string_view pattern, const std::vector<std::string>& words,
                           std::size_t members) {
  Slots slots;
  std::size_t next = 0;
  while (!pattern.empty()) {
    const std::size_t size = std::min(pattern.find(' '), pattern.size());
    const std::string_view part = pattern.substr(0, size);
    pattern.remove_prefix(std::min(size + 1, pattern.size()));
    if (part.ends_with("...")) {
      for (; next < words.size(); ++next)
        KV_RETURN_IF_ERROR(AddOne(slots, part, words[next], members));
      break;
    }
    if (next == words.size())
      return Fail(Code::kInvalidArgument, "the line ends before '" + std::string(part) + "'");
    const std::string& word = words[next++];
    if (IsSlot(part)) {
      KV_RETURN_IF_ERROR(AddOne(slots, part, word, members));
    } else if (word != part) {
      return NotFitting(word, "should be '" + std::string(part) + "'");
    }
  }
  if (next < words.size()) return NotFitting(words[next], "is one word too many");
  return slots;
}

}  // namespace kvorum::server
