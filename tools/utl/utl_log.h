// Lines on the error stream about what a command does, in the form in which etcdutl logs: time,
// level, message and fields as JSON, with tabs between them.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "tools/shell/command.h"

namespace kvorum::utl {

// A field's value is already encoded.
using Fields = std::initializer_list<std::pair<std::string_view, std::string>>;

void LogInfo(ctl::World& world, std::string_view message, Fields fields);
void LogWarning(ctl::World& world, std::string_view message, Fields fields);

}  // namespace kvorum::utl
