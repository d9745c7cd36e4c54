// Asks a running command through its control socket (control.h).
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "sync/kernel/json_bytes.h"
#include "tools/text/outcome.h"

namespace kvorum::ctl {

struct AskOptions {
  // Called for each item; false: no more is wanted, and the call ends with an empty object.
  std::function<bool(const sync::Json& item)> on_item = {};
  // Without a line for this long, the call fails.
  std::chrono::nanoseconds patience = std::chrono::seconds(60);
  // Ends the call with an empty object.
  std::stop_token stop = {};
};

// Blocks until the answer is complete, and returns what came with its "ok". An "error" is a
// failure with its text alone; a socket without a listener is kBadConnection.
Outcome<sync::Json> AskControl(const std::string& socket, const sync::Json& request,
                               const AskOptions& options = {});

}  // namespace kvorum::ctl
