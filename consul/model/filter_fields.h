// The selectors that ?filter has for each kind of row; for filter.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "consul/model/filter.h"

namespace kvorum::consul {

enum class FieldKind : std::uint8_t {
  kText,
  kNumber,
  kBool,
  kList,  // of texts
  kMap,   // for what is asked of its keys
  kRows,  // can only be empty or not
};

struct FieldType {
  FieldKind kind = FieldKind::kText;
  bool is_of_map = false;  // the value of a map's key, which may be missing
};

// Nothing: there is no such selector.
std::optional<FieldType> FieldTypeOf(FilterRows rows, std::span<const std::string> path);

}  // namespace kvorum::consul
