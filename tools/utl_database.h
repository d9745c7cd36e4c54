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

// A file that a command reads as it is, or unpacked if it is compressed: then in the folder for
// temporary files, until the end.
class PlainFile {
 public:
  static ctl::Outcome<PlainFile> Open(const std::string& path);
  PlainFile(PlainFile&& other) noexcept;
  PlainFile& operator=(PlainFile&&) = delete;
  ~PlainFile();

  const std::string& path() const { return path_; }

 private:
  PlainFile(std::string path, bool is_temporary)
      : path_(std::move(path)), is_temporary_(is_temporary) {}

  std::string path_;
  bool is_temporary_;
};

// Waits for another process as long as --timeout says.
ctl::Outcome<std::unique_ptr<datadir::DatabaseFile>> OpenDatabase(const ctl::Invocation& invocation,
                                                                  const std::string& path);

}  // namespace kvorum::utl
