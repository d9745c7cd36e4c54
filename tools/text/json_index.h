// An index over values that are JSON: a name, and a pointer to what is indexed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tools/text/json_document.h"

namespace kvorum::ctl {

struct JsonIndex {
  std::string name;
  JsonPointer pointer;
};

// NAME=POINTER, as in zone=/metadata/zone. kInvalidArgument with what is wrong.
Result<JsonIndex> ParseJsonIndex(std::string_view text);

// A string as it is, a number or a boolean as JSON writes it, of an array each of these. Nothing
// for null, for an object, where the pointer leads nowhere, and for a value that is not JSON.
std::vector<std::string> IndexEntries(const JsonIndex& index, std::string_view value);

}  // namespace kvorum::ctl
