// What a line of `watch` asks for: keys, flags, and a command to run for each event.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/rpc.pb.h"
#include "tools/flags.h"
#include "tools/outcome.h"

namespace kvorum::ctl {

std::vector<Flag> WatchFlags();

// The keys that ETCDCTL_WATCH_KEY and ETCDCTL_WATCH_RANGE_END give; empty: they give none.
struct WatchEnvironment {
  std::string key = {};
  std::string range_end = {};
};
// An error if there is an end without a key.
Outcome<WatchEnvironment> ReadWatchEnvironment(const std::vector<std::string>& environment);

// A refusal that the interactive mode goes on after; others end it, as they do in etcdctl.
inline constexpr std::string_view kRangeAndPrefix =
    "`range_end` and `--prefix` are mutually exclusive";

struct WatchLine {
  etcdserverpb::WatchCreateRequest request;
  std::vector<std::string> command = {};  // empty: none is run
};
// Of flags and arguments as they were parsed; `separator` as in Invocation.
Outcome<WatchLine> MakeWatch(const FlagSet& flags, const std::vector<std::string>& args,
                             std::optional<std::size_t> separator,
                             const WatchEnvironment& environment);

}  // namespace kvorum::ctl
