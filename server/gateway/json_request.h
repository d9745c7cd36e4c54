// A request in JSON as the bytes of its message, which the same handlers take as from gRPC.
//
// The mapping and the error texts are those of Go's package protojson, as etcd's gateway uses it:
// both spellings of names, unknown fields and unknown names of enum values ignored, null for a
// field that is not set, numbers also as strings, both alphabets of base64. Errors are
// kInvalidArgument. Cost: one pass; parts of a message have lengths of four bytes, so that nothing
// is moved.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "proto/fields.h"

namespace kvorum::server::gateway {

// Messages within messages, which only transactions nest; each level is one of the stack.
inline constexpr std::size_t kMaxMessageDepth = 500;

// `value` is one of JsonValues.
Result<std::string> EncodeJsonRequest(const wire::Table& table, std::string_view value);

}  // namespace kvorum::server::gateway
