// The database that a command's argument names. Used by the command's main thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_descriptor.h"
#include "datadir/database_file.h"
#include "datadir/progress.h"
#include "tools/shell/command.h"
#include "tools/text/outcome.h"

namespace kvorum::utl {

// "stat FILE: no such file or directory" and its kind; `call` is the first word. Refuses what is
// not a file, too, so that it does not wait for a named pipe.
ctl::Outcome<void> CheckFile(const std::string& path, std::string_view call = "stat");

// A file without a name: it is gone with the process that has it, however that ends.
class UnnamedFile {
 public:
  // In the folder for temporary files.
  static ctl::Outcome<UnnamedFile> Create();
  static ctl::Outcome<UnnamedFile> CreateIn(const std::string& folder);

  int fd() const { return fd_.get(); }
  // Opens it in this process, while this object exists.
  std::string path() const;

 private:
  explicit UnnamedFile(int fd) : fd_(fd) {}

  FileDescriptor fd_;
};

// The folder for temporary files: $TMPDIR and the like.
ctl::Outcome<std::string> TemporaryFolder();

// A file that a command reads as it is, or unpacked if it is compressed.
class PlainFile {
 public:
  static ctl::Outcome<PlainFile> Open(const std::string& path);

  std::string path() const { return unpacked_.has_value() ? unpacked_->path() : path_; }

 private:
  explicit PlainFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::optional<UnnamedFile> unpacked_;
};

// Waits for another process as long as --timeout says. Its passes tell their progress.
ctl::Outcome<std::unique_ptr<datadir::DatabaseFile>> OpenDatabase(
    const ctl::Invocation& invocation, const std::string& path,
    datadir::OnProgress on_progress = {});

// Writes the content of a database of kvorum into a file of etcd's format.
ctl::Outcome<UnnamedFile> AsEtcds(const ctl::Invocation& invocation, const std::string& path);

}  // namespace kvorum::utl
