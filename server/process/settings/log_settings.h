// --log-rotation-config-json: the rules of lumberjack, as a JSON object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log/log_rotation.h"

namespace kvorum::server {

// Keys without regard to case; others are ignored, as there. Errors (kInvalidArgument) begin as
// etcd's.
Result<LogRotation> ParseLogRotation(std::string_view json);

// Fails unless exactly one of the outputs is a file, the one to rotate; standard streams may be
// beside it.
Result<void> CheckRotatedOutputs(const std::vector<std::string>& outputs);

}  // namespace kvorum::server
