#include "tools/utl/utl_archive_target.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>

#include "base/text/parse_number.h"

namespace kvorum::utl {
namespace {

using archive::UnixMillis;
using ctl::FlagType;

constexpr UnixMillis kSecondMs = 1'000;

// Takes so many digits from the front.
std::optional<int> TakeDigits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  const std::string_view number = text.substr(0, digits);
  if (number.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  text.remove_prefix(digits);
  return ParseNumber<int>(number);
}

bool TakeOneOf(std::string_view& text, std::string_view characters) {
  if (text.empty() || !characters.contains(text.front())) return false;
  text.remove_prefix(1);
  return true;
}

// Milliseconds of ".123456"; 0 without a fraction, nothing for a point without digits.
std::optional<UnixMillis> TakeFraction(std::string_view& text) {
  if (!TakeOneOf(text, ".,")) return 0;
  UnixMillis milliseconds = 0;
  std::size_t digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; ++digits) {
    if (digits < 3) milliseconds = 10 * milliseconds + (text.front() - '0');
    text.remove_prefix(1);
  }
  if (digits == 0) return std::nullopt;
  for (; digits < 3; ++digits) milliseconds *= 10;
  return milliseconds;
}

// "Z", "+02:00": minutes east of UTC.
std::optional<int> TakeOffset(std::string_view& text) {
  if (TakeOneOf(text, "Zz")) return 0;
  const bool is_west = text.starts_with('-');
  if (!TakeOneOf(text, "+-")) return std::nullopt;
  const auto hours = TakeDigits(text, 2);
  if (!hours || !TakeOneOf(text, ":")) return std::nullopt;
  const auto minutes = TakeDigits(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const int offset = 60 * *hours + *minutes;
  return is_west ? -offset : offset;
}

std::optional<std::chrono::sys_days> TakeDay(std::string_view& text) {
  const auto year = TakeDigits(text, 4);
  if (!year || !TakeOneOf(text, "-")) return std::nullopt;
  const auto month = TakeDigits(text, 2);
  if (!month || !TakeOneOf(text, "-")) return std::nullopt;
  const auto day = TakeDigits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

std::optional<UnixMillis> ParseRfc3339(std::string_view text) {
  const auto day = TakeDay(text);
  if (!day || !TakeOneOf(text, "Tt ")) return std::nullopt;
  const auto hour = TakeDigits(text, 2);
  if (!hour || !TakeOneOf(text, ":")) return std::nullopt;
  const auto minute = TakeDigits(text, 2);
  if (!minute || !TakeOneOf(text, ":")) return std::nullopt;
  const auto second = TakeDigits(text, 2);
  // A leap second is the first of the next minute.
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto fraction = TakeFraction(text);
  const auto offset = TakeOffset(text);
  if (!fraction || !offset || !text.empty()) return std::nullopt;
  const std::chrono::sys_seconds at = *day + std::chrono::hours(*hour) +
                                      std::chrono::minutes(*minute - *offset) +
                                      std::chrono::seconds(*second);
  return kSecondMs * at.time_since_epoch().count() + *fraction;
}

std::optional<UnixMillis> ParseUnixSeconds(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto seconds = ParseNumber<UnixMillis>(text.substr(0, digits));
  text.remove_prefix(digits);
  const auto fraction = TakeFraction(text);
  if (!seconds || !fraction || !text.empty() ||
      *seconds > std::numeric_limits<UnixMillis>::max() / kSecondMs - 1)
    return std::nullopt;
  return kSecondMs * *seconds + *fraction;
}

constexpr std::string_view NameOf(TargetFlags which, std::string_view name) {
  return which == TargetFlags::kRestore ? name : name.substr(std::string_view("to-").size());
}

ctl::Outcome<std::uint64_t> NumberOf(const ctl::Invocation& invocation, std::string_view name) {
  const std::uint64_t number = invocation.flags.Uint(name);
  if (number == 0 || number > std::numeric_limits<std::int64_t>::max())
    return ctl::BadArguments(fmt::format("--{} is a number from 1 on", name));
  return number;
}

}  // namespace

std::optional<UnixMillis> ParseTime(std::string_view text) {
  const bool is_date = text.size() > 4 && text[4] == '-';
  const auto time = is_date ? ParseRfc3339(text) : ParseUnixSeconds(text);
  return time && *time >= 0 ? time : std::nullopt;
}

std::string TimeText(UnixMillis time_ms) {
  const auto seconds = static_cast<std::time_t>(time_ms / kSecondMs);
  // Past the year 9999, where the name of a damaged object may lead.
  constexpr std::time_t kLastSecond = 253'402'300'799;
  if (time_ms < 0 || seconds > kLastSecond) return fmt::format("{} ms", time_ms);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), time_ms % kSecondMs);
}

std::vector<ctl::Flag> ArchiveTargetFlags(TargetFlags which) {
  const auto name = [&](std::string_view flag) { return std::string(NameOf(which, flag)); };
  std::vector<ctl::Flag> flags = {
      {name("to-revision"), FlagType::kUint, "0",
       "the state when the store first had this revision"},
      {name("to-time"), FlagType::kString, "",
       "the state at this time: RFC 3339 (2026-11-28T10:00:00Z) or seconds since 1970"}};
  if (which == TargetFlags::kRestore) {
    flags.push_back({"to-index", FlagType::kUint, "0", "the state after this entry of the log"});
    flags.push_back({.name = "latest", .help = "the newest state that the archive has"});
  }
  return flags;
}

ctl::Outcome<archive::Target> ArchiveTarget(const ctl::Invocation& invocation, TargetFlags which) {
  const ctl::FlagSet& flags = invocation.flags;
  const bool is_restore = which == TargetFlags::kRestore;
  const std::string_view revision = NameOf(which, "to-revision");
  const std::string_view time = NameOf(which, "to-time");
  const bool has_index = is_restore && flags.IsSet("to-index");
  const bool is_latest = is_restore && flags.Switch("latest");
  const int given = static_cast<int>(flags.IsSet(revision)) + static_cast<int>(flags.IsSet(time)) +
                    static_cast<int>(has_index) + static_cast<int>(is_latest);
  if (is_restore && given != 1) {
    return ctl::BadArguments(
        "exactly one of --to-revision, --to-time, --to-index and --latest is required");
  }
  if (given > 1) return ctl::BadArguments("--revision and --time exclude each other");
  if (flags.IsSet(revision)) {
    KV_TRY(const std::uint64_t number, NumberOf(invocation, revision));
    return archive::ToRevision{static_cast<std::int64_t>(number)};
  }
  if (has_index) {
    KV_TRY(const std::uint64_t number, NumberOf(invocation, "to-index"));
    return archive::ToIndex{raft::Index{number}};
  }
  if (!flags.IsSet(time)) return archive::ToLatest{};
  const auto at = ParseTime(flags.String(time));
  if (!at) {
    return ctl::BadArguments(fmt::format(
        "--{} \"{}\" is neither a time of RFC 3339 (2026-11-28T10:00:00Z) nor seconds since 1970",
        time, flags.String(time)));
  }
  return archive::ToTime{*at};
}

}  // namespace kvorum::utl
