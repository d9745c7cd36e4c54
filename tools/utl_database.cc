#include "tools/utl_database.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/letter_case.h"

namespace kvorum::utl {
namespace {

// As Go writes it.
std::string ErrnoText(int error) {
  std::string text = std::strerror(error);
  text.front() = LowerCase(text.front());
  return text;
}

// A data directory stands for the database in it.
std::string DatabasePath(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return path;
  return path + "/member/snap/db";
}

}  // namespace

ctl::Outcome<void> CheckFile(const std::string& path, std::string_view call) {
  struct stat status{};
  const std::string file = DatabasePath(path);
  if (::stat(file.c_str(), &status) == 0) return {};
  return Fail(ctl::ExitCode::kError, std::string(call) + " " + file + ": " + ErrnoText(errno));
}

ctl::Outcome<std::unique_ptr<datadir::DatabaseFile>> OpenDatabase(const ctl::Invocation& invocation,
                                                                  const std::string& path) {
  auto opened = datadir::OpenDatabaseFile(DatabasePath(path), invocation.flags.Duration("timeout"));
  if (!opened.has_value()) return Fail(ctl::ExitCode::kError, opened.error().message);
  return *std::move(opened);
}

}  // namespace kvorum::utl
