// Fields of a protobuf message as log lines show them, read from its bytes, in the two forms that
// etcd's lines have: that of Go's prototext, and the older one, of the messages in which etcd
// replaces values by their sizes.
//
// Fields that a table does not name are left out: that is how values, passwords and tokens never
// get into a line. Malformed bytes give the part that could be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kvorum::server {

// Nothing is appended to a text that is longer.
constexpr std::size_t kMaxSummaryBytes = 4'096;
// The bound of one key.
constexpr std::size_t kMaxShownKeyBytes = 1'024;

enum class Show : std::uint8_t { kBytes, kSize, kNumber, kUnsigned, kFlag, kEnum, kMessage };

struct ShownField {
  std::uint32_t number;
  std::string_view name;
  Show show;
  std::span<const std::string_view> values = {};  // kEnum
  std::span<const ShownField> fields = {};        // kMessage
};

// `key:"a\x00"  limit:3`
void AppendPlain(std::span<const ShownField> fields, std::string_view message, std::string& out);
// `key:"a\000" value_size:3 `
void AppendReplaced(std::span<const ShownField> fields, std::string_view message, std::string& out);
// `"a\x00"`
void AppendPlainQuoted(std::string_view bytes, std::string& out);

}  // namespace kvorum::server
