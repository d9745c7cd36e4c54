// Runs a command for an event of a watch, with the event in its environment.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "proto/kv.pb.h"

namespace kvorum::ctl {

// Waits for its end. Its environment is `environment` and ETCD_WATCH_REVISION, _EVENT_TYPE, _KEY
// and _VALUE, the latter three quoted as Go does. The error says why it could not run, or how it
// ended.
std::expected<void, std::string> RunForEvent(std::span<const std::string> command,
                                             std::vector<std::string> environment,
                                             std::int64_t revision, const mvccpb::Event& event);

}  // namespace kvorum::ctl
