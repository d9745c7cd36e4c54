// A request or an answer without fields.
#pragma once

#include <string_view>

#include "base/error.h"

namespace kvorum::server {

struct EmptyMessage {};
// MalformedRequest for bytes that are no message; unknown fields are passed over.
Result<EmptyMessage> DecodeEmptyMessage(std::string_view bytes);

}  // namespace kvorum::server
