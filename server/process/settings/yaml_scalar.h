// The type and the value of a plain YAML scalar by the rules of YAML 1.1. Internal to yaml_tree.cc.
#pragma once

#include <string_view>

#include "server/process/settings/yaml_tree.h"

namespace kvorum::server {

// Sets kind and text. `yes`, `on` and the like are booleans; 0x1f, 0b1, 010 and 1_000 are numbers.
// Fails for .inf and .nan, which no setting can be.
Result<void> ResolvePlain(std::string_view text, YamlNode& node);

}  // namespace kvorum::server
