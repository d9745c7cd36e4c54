// --config-file: settings from a YAML (or JSON) file, which replaces the command line and the
// environment.
//
// Unknown keys are named in a warning and otherwise ignored, as etcd ignores them without a word.
// Types are strict, as there: a duration is a number of nanoseconds, a number is not a string.
#pragma once

#include <string>
#include <string_view>

#include "server/process/settings/settings_reader.h"

namespace kvorum::server {

// Reads the file, but no further than a configuration may be long. Errors in etcd's words.
Result<std::string> ReadConfigText(const std::string& path);

// Applies the text of a file to the reader's settings. Every fault is reported to the reader.
void ReadConfigFile(std::string_view text, SettingsReader& reader);

}  // namespace kvorum::server
