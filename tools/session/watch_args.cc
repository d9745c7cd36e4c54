#include "tools/session/watch_args.h"

#include <algorithm>

#include "base/key_range.h"
#include "base/text/go_quote.h"
#include "tools/session/kv_requests.h"

namespace kvorum::ctl {
namespace {

std::string ValueOf(const std::vector<std::string>& environment, std::string_view name) {
  const std::string start = std::string(name) + "=";
  const auto found = std::ranges::find_if(
      environment, [&](const std::string& variable) { return variable.starts_with(start); });
  return found == environment.end() ? std::string() : found->substr(start.size());
}

std::unexpected<Failure> BadNumber(std::string_view detail) {
  return BadArguments("bad number of arguments" + std::string(detail));
}

}  // namespace

std::vector<Flag> WatchFlags() {
  return {
      {.name = "interactive", .help = "read watches from standard input", .shorthand = 'i'},
      {.name = "prefix", .help = "use every key with the given prefix"},
      {"rev", FlagType::kInt, "0", "start at this revision (0: the next one)"},
      {.name = "prev-kv", .help = "print the previous key-value pair of each event as well"},
      {.name = "progress-notify", .help = "have the server report the progress of a quiet watch"},
  };
}

Outcome<WatchEnvironment> ReadWatchEnvironment(const std::vector<std::string>& environment) {
  WatchEnvironment found{.key = ValueOf(environment, "ETCDCTL_WATCH_KEY"),
                         .range_end = ValueOf(environment, "ETCDCTL_WATCH_RANGE_END")};
  if (found.key.empty() && !found.range_end.empty())
    return BadArguments("ETCDCTL_WATCH_KEY is empty but got ETCDCTL_WATCH_RANGE_END=" +
                        GoQuote(found.range_end));
  return found;
}

Outcome<WatchLine> MakeWatch(const FlagSet& flags, const std::vector<std::string>& args,
                             std::optional<std::size_t> separator,
                             const WatchEnvironment& environment) {
  const auto split = static_cast<std::ptrdiff_t>(separator.value_or(args.size()));
  std::vector<std::string> keys(args.begin(), args.begin() + split);
  WatchLine line;
  line.command.assign(args.begin() + split, args.end());
  if (separator && line.command.empty()) return BadNumber(" (found separator --, but no commands)");
  if (!environment.key.empty()) {
    if (!keys.empty()) return BadNumber(" (found conflicting environment key)");
    keys.push_back(environment.key);
    if (!environment.range_end.empty()) keys.push_back(environment.range_end);
  }
  if (keys.empty()) return BadNumber("");

  const bool prefix = flags.Switch("prefix");
  if (keys.size() == 2 && prefix) return BadArguments(std::string(kRangeAndPrefix));
  line.request.set_key(keys[0]);
  if (keys.size() == 2) line.request.set_range_end(keys[1]);
  if (prefix) line.request.set_range_end(PrefixEnd(keys[0]));
  line.request.set_start_revision(flags.Int("rev"));
  line.request.set_prev_kv(flags.Switch("prev-kv"));
  line.request.set_progress_notify(flags.Switch("progress-notify"));
  return line;
}

}  // namespace kvorum::ctl
