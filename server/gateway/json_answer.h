// Answers as JSON: the bytes of a message, which its encoder made, as etcd's gateway writes it.
//
// Fields are named as in the .proto file, in the order of their numbers; those that are zero or
// empty are left out. 64-bit numbers are strings, bytes are base64, enum values have their names.
// A space follows each comma, as etcd's build writes it ("unstable" by intent: clients must parse).
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "proto/fields.h"

namespace kvorum::server::gateway {

std::string JsonAnswer(const wire::Table& table, std::string_view message);

// {"code":5, "message":"..."}, with the number of the status.
std::string JsonStatus(const Error& error);

// A stream's lines, without spaces and with HTML's characters escaped: {"result":{...}} for a
// message, {"error":{...}} for its end.
std::string JsonResultLine(const wire::Table& table, std::string_view message);
std::string JsonErrorLine(const Error& error);

}  // namespace kvorum::server::gateway
