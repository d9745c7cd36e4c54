// JSON that others wrote, with a bound to its depth, and pointers into it (RFC 6901). Immutable.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvorum::ctl {

// nullopt if the text is not a document, or one that is nested more deeply.
std::optional<nlohmann::json> ParseDocument(std::string_view text, std::size_t max_depth);

class JsonPointer {
 public:
  // "" is the document, "/a/0" a member's first element, ~1 a slash and ~0 a tilde in a name.
  // kInvalidArgument with what is wrong.
  static Result<JsonPointer> Parse(std::string_view text);

  // Null if there is nothing at that place.
  const nlohmann::json* Find(const nlohmann::json& document) const;

 private:
  std::vector<std::string> tokens_;
};

}  // namespace kvorum::ctl
