// Bytes as members of a JSON object: as text where they are UTF-8, else in base64 under another
// name, so that what people write stays readable.
//
// Json is declared here, and complete where <nlohmann/json.hpp> is included.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::sync {

using Json = nlohmann::ordered_json;

// Sets "NAME" or "NAME_base64".
void SetBytes(Json& object, const std::string& name, const std::string& bytes);
Result<std::string> BytesOf(const Json& object, const std::string& name);

// An object; kInvalidArgument with `what` otherwise.
Result<Json> ParseObject(std::string_view what, std::string_view text);
// A member of one kind; kInvalidArgument if it is missing or of another kind.
Result<std::string> StringOf(const Json& object, const std::string& name);
Result<std::int64_t> IntegerOf(const Json& object, const std::string& name);
// An empty array if it is missing.
Result<Json> ArrayOf(const Json& object, const std::string& name);

}  // namespace kvorum::sync
