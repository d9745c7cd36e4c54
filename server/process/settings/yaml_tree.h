// A YAML document as a tree, for the configuration file: libyaml reads it, and plain scalars get
// their type by the rules of YAML 1.1, as in etcd.
//
// A hostile file is refused: its size, its depth and its values are bounded, and
// an alias shares what it names, so that it costs nothing to repeat it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace kvorum::server {

struct YamlNode;
using YamlPointer = std::shared_ptr<const YamlNode>;

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kBool, kNumber, kString, kList, kMap };

  Kind kind = Kind::kNull;
  std::size_t line = 0;    // from 1
  std::size_t height = 0;  // levels below, through aliases too
  // A string; "true" or "false"; a number in decimal, whole ones without a point or an exponent.
  std::string text = {};
  std::vector<YamlPointer> items = {};
  // In the file's order; a key that comes again replaces its value.
  std::vector<std::pair<std::string, YamlPointer>> members = {};
};

// A longer text is refused.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

// "a string", "a list" and so on, for messages.
std::string_view KindName(YamlNode::Kind kind);

// The first document of the text; a map without members if there is none. Errors (kInvalidArgument)
// name the line.
Result<YamlPointer> ParseYaml(std::string_view text);

}  // namespace kvorum::server
