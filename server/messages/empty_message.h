// A request or an answer without fields.
#pragma once

#include <string_view>

#include "base/error.h"

namespace kvorum::server {

struct EmptyMessage {};
// MalformedRequest for bytes that are not a message; unknown fields are skipped.
Result<EmptyMessage> DecodeEmptyMessage(std::string_view bytes);

}  // namespace kvorum::server
