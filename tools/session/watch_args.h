// The content of a `watch` line: keys, flags, and a command to run for each event.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/rpc.pb.h"
#include "tools/shell/flags.h"
#include "tools/text/outcome.h"

namespace kvorum::ctl {

std::vector<Flag> WatchFlags();

// The keys from ETCDCTL_WATCH_KEY and ETCDCTL_WATCH_RANGE_END; empty if they are not set.
struct WatchEnvironment {
  std::string key = {};
  std::string range_end = {};
};
// An error if there is an end without a key.
Outcome<WatchEnvironment> ReadWatchEnvironment(const std::vector<std::string>& environment);

// A refusal after which the interactive mode goes on; others end it, as in etcdctl.
inline constexpr std::string_view kRangeAndPrefix =
    "`range_end` and `--prefix` are mutually exclusive";

struct WatchLine {
  etcdserverpb::WatchCreateRequest request;
  std::vector<std::string> command = {};  // empty: none is run
};
// From flags and arguments after parsing; `separator` as in Invocation.
Outcome<WatchLine> MakeWatch(const FlagSet& flags, const std::vector<std::string>& args,
                             std::optional<std::size_t> separator,
                             const WatchEnvironment& environment);

}  // namespace kvorum::ctl
