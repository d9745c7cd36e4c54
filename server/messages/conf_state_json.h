// Raft's configuration as the backend's meta bucket holds it: JSON, all fields of it.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

std::string EncodeConfStateJson(const raft::ConfState& state);
// kDataLoss for bytes that are none.
Result<raft::ConfState> DecodeConfStateJson(std::string_view text);

}  // namespace kvorum::server
