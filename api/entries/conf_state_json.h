// Raft's configuration as stored in the backend's meta bucket: JSON, with all fields.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

std::string EncodeConfStateJson(const raft::ConfState& state);
// kDataLoss for bytes that are not a configuration.
Result<raft::ConfState> DecodeConfStateJson(std::string_view text);

}  // namespace kvorum::server
