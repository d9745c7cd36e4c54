// Snapshots that were compressed when they were saved.
#pragma once

#include <string>

#include "tools/text/outcome.h"

namespace kvorum::ctl {

// True if the file begins like one.
bool IsGzipFile(const std::string& path);

// Writes the unpacked content to an open file. An error if the file is damaged or cut.
Outcome<void> Gunzip(const std::string& path, int to_fd);

}  // namespace kvorum::ctl
