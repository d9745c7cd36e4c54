// Fields of a protobuf message as log lines show them, read from its bytes, in the two forms that
// etcd's lines have: that of Go's prototext, and the older one, of the messages in which etcd
// replaces values by their sizes.
//
// Fields of which a table (proto/fields.h) does not say that they may be shown are left out: that
// is how values, passwords and tokens never get into a line. Malformed bytes give the part that
// could be read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvorum::wire {
struct Table;
}

namespace kvorum::server {

// Nothing is appended to a text that is longer.
constexpr std::size_t kMaxSummaryBytes = 4'096;
// The bound of one key.
constexpr std::size_t kMaxShownKeyBytes = 1'024;

// `key:"a\x00"  limit:3`
void AppendPlain(const wire::Table& table, std::string_view message, std::string& out);
// `key:"a\000" value_size:3 `
void AppendReplaced(const wire::Table& table, std::string_view message, std::string& out);
// `"a\x00"`
void AppendPlainQuoted(std::string_view bytes, std::string& out);

}  // namespace kvorum::server
