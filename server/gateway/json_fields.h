// The fields of a message by the names that JSON has for them. The names, numbers and types are
// those of the message's table (proto/fields.h), from which its bytes are read and written too.
//
// Constants and pure functions. A table's fields are in the order of their numbers, which is the
// order in which JSON shows them. A message has at most one oneof and 64 fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/fields.h"

namespace kvorum::server::gateway {

using wire::FieldType;

// The other spelling that requests may use: "sortOrder" for "sort_order".
std::string JsonName(std::string_view name);
// Null if there is none. Both spellings of a name are accepted.
const wire::Row* FieldNamed(const wire::Table& table, std::string_view name);
const wire::Row* FieldNumbered(const wire::Table& table, std::uint32_t number);

}  // namespace kvorum::server::gateway
