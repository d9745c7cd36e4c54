#include "archive/format/names.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <span>
#include <string>

namespace kvorum::archive {
namespace {

constexpr std::size_t kDigits = 20;
constexpr std::size_t kPartDigits = 5;
constexpr std::size_t kHistoryDigits = 16;

std::string Padded(std::uint64_t number) { return fmt::format("{:020}", number); }

std::string BaseText(const BaseName& base) {
  return fmt::format("{}-{}-{}", Padded(base.index.value()),
                     Padded(static_cast<std::uint64_t>(base.revision)),
                     Padded(static_cast<std::uint64_t>(base.time_ms)));
}

// A number of exactly so many digits, which fits 63 bits.
std::optional<std::int64_t> ParsePadded(std::string_view text, std::size_t digits) {
  if (text.size() != digits || text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The numbers between dashes; nothing unless there are exactly as many as `out` has room for.
bool ParseNumbers(std::string_view text, std::span<std::int64_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool is_last = i + 1 == out.size();
    const std::size_t dash = is_last ? text.size() : text.find('-');
    if (dash == std::string_view::npos) return false;
    const auto number = ParsePadded(text.substr(0, dash), kDigits);
    if (!number) return false;
    out[i] = *number;
    text.remove_prefix(is_last ? dash : dash + 1);
  }
  return true;
}

raft::Index IndexOf(std::int64_t number) { return raft::Index{static_cast<std::uint64_t>(number)}; }

// Takes `prefix` and `suffix` off; false if one is not there.
bool Strip(std::string_view& text, std::string_view prefix, std::string_view suffix) {
  if (text.size() < prefix.size() + suffix.size() || !text.starts_with(prefix) ||
      !text.ends_with(suffix))
    return false;
  text.remove_prefix(prefix.size());
  text.remove_suffix(suffix.size());
  return true;
}

std::optional<ObjectName> ParseLogName(std::string_view text) {
  std::array<std::int64_t, 4> numbers{};
  if (!Strip(text, "log/", ".gz") || !ParseNumbers(text, numbers)) return std::nullopt;
  const LogName name = {.first = IndexOf(numbers[0]),
                        .last = IndexOf(numbers[1]),
                        .revision = numbers[2],
                        .time_ms = numbers[3]};
  if (name.first == 0 || name.last < name.first) return std::nullopt;
  return name;
}

std::optional<ObjectName> ParseBaseObject(std::string_view text) {
  if (!Strip(text, "base/", "")) return std::nullopt;
  const std::size_t slash = text.find('/');
  std::array<std::int64_t, 3> numbers{};
  if (slash == std::string_view::npos || !ParseNumbers(text.substr(0, slash), numbers))
    return std::nullopt;
  const BaseName base = {
      .index = IndexOf(numbers[0]), .revision = numbers[1], .time_ms = numbers[2]};
  std::string_view file = text.substr(slash + 1);
  if (file == "manifest.json") return ManifestName{base};
  if (!Strip(file, "part-", ".gz")) return std::nullopt;
  const auto number = ParsePadded(file, kPartDigits);
  if (!number) return std::nullopt;
  return PartName{.base = base, .number = static_cast<std::uint32_t>(*number)};
}

std::optional<ObjectName> ParseGapName(std::string_view text) {
  std::array<std::int64_t, 2> numbers{};
  if (!Strip(text, "gap/", ".json") || !ParseNumbers(text, numbers)) return std::nullopt;
  const GapName gap = {.from = IndexOf(numbers[0]), .to = IndexOf(numbers[1])};
  if (gap.from == 0 || gap.to < gap.from) return std::nullopt;
  return gap;
}

struct NameText {
  std::string operator()(const HistoryFileName&) const { return "history.json"; }
  std::string operator()(const MarkName&) const { return "mark.json"; }
  std::string operator()(const LogName& log) const {
    return fmt::format("log/{}-{}-{}-{}.gz", Padded(log.first.value()), Padded(log.last.value()),
                       Padded(static_cast<std::uint64_t>(log.revision)),
                       Padded(static_cast<std::uint64_t>(log.time_ms)));
  }
  std::string operator()(const PartName& part) const {
    return fmt::format("base/{}/part-{:05}.gz", BaseText(part.base), part.number);
  }
  std::string operator()(const ManifestName& manifest) const {
    return fmt::format("base/{}/manifest.json", BaseText(manifest.base));
  }
  std::string operator()(const GapName& gap) const {
    return fmt::format("gap/{}-{}.json", Padded(gap.from.value()), Padded(gap.to.value()));
  }
};

}  // namespace

std::string HistoryText(HistoryId history) { return fmt::format("{:016x}", history.value()); }

std::optional<HistoryId> ParseHistory(std::string_view text) {
  if (text.size() != kHistoryDigits ||
      text.find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return std::nullopt;
  std::uint64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (id == 0) return std::nullopt;
  return HistoryId{id};
}

std::string HistoryPrefix(HistoryId history) { return HistoryText(history) + "/"; }
std::string LogPrefix(HistoryId history) { return HistoryPrefix(history) + "log/"; }
std::string BasePrefix(HistoryId history) { return HistoryPrefix(history) + "base/"; }
std::string GapPrefix(HistoryId history) { return HistoryPrefix(history) + "gap/"; }

std::string KeyText(const ObjectKey& key) {
  return HistoryPrefix(key.history) + std::visit(NameText{}, key.name);
}

std::optional<ObjectKey> ParseKey(std::string_view text) {
  const auto history = ParseHistory(text.substr(0, kHistoryDigits));
  if (!history || text.size() <= kHistoryDigits || text[kHistoryDigits] != '/') return std::nullopt;
  text.remove_prefix(kHistoryDigits + 1);
  std::optional<ObjectName> name;
  if (text == "history.json")
    name = HistoryFileName{};
  else if (text == "mark.json")
    name = MarkName{};
  else if (text.starts_with("log/"))
    name = ParseLogName(text);
  else if (text.starts_with("base/"))
    name = ParseBaseObject(text);
  else if (text.starts_with("gap/"))
    name = ParseGapName(text);
  if (!name) return std::nullopt;
  return ObjectKey{.history = *history, .name = *name};
}

}  // namespace kvorum::archive
