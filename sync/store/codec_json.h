// Values that are JSON documents.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "sync/kernel/json_depth.h"

namespace kvorum::sync {

struct JsonCodec {
  using Value = nlohmann::json;
  static Result<nlohmann::json> Decode(std::string_view bytes) {
    if (JsonDepth(bytes) > kMaxJsonDepth)
      return Fail(Code::kInvalidArgument, "a JSON document that is nested too deeply");
    auto value = nlohmann::json::parse(bytes, nullptr, /*allow_exceptions=*/false);
    if (value.is_discarded()) return Fail(Code::kInvalidArgument, "not a JSON document");
    return value;
  }
};

}  // namespace kvorum::sync
