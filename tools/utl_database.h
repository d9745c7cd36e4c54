// The database that a command's argument names.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "datadir/database_file.h"
#include "tools/command.h"
#include "tools/outcome.h"

namespace kvorum::utl {

// "stat FILE: no such file or directory" and its kind; `call` is the first word.
ctl::Outcome<void> CheckFile(const std::string& path, std::string_view call = "stat");

// Waits for another process as long as --timeout says.
ctl::Outcome<std::unique_ptr<datadir::DatabaseFile>> OpenDatabase(const ctl::Invocation& invocation,
                                                                  const std::string& path);

}  // namespace kvorum::utl
