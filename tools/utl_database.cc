#include "tools/utl_database.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/letter_case.h"
#include "tools/gzip.h"

namespace kvorum::utl {
namespace {

// The text begins in lower case, as Go's do.
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

ctl::Outcome<PlainFile> PlainFile::Open(const std::string& path) {
  if (!ctl::IsGzipFile(path)) return PlainFile(path, /*is_temporary=*/false);
  std::string unpacked = std::filesystem::temp_directory_path() / "kvorumutl-XXXXXX";
  const int fd = ::mkstemp(unpacked.data());
  if (fd < 0) return Fail(ctl::ExitCode::kError, "create " + unpacked + ": " + ErrnoText(errno));
  PlainFile file(unpacked, /*is_temporary=*/true);
  const auto done = ctl::Gunzip(path, fd);
  ::close(fd);
  KV_RETURN_IF_ERROR(done);
  return file;
}

PlainFile::PlainFile(PlainFile&& other) noexcept
    : path_(std::move(other.path_)), is_temporary_(std::exchange(other.is_temporary_, false)) {}

PlainFile::~PlainFile() {
  if (is_temporary_) ::unlink(path_.c_str());
}

ctl::Outcome<std::unique_ptr<datadir::DatabaseFile>> OpenDatabase(const ctl::Invocation& invocation,
                                                                  const std::string& path) {
  KV_TRY(const PlainFile file, PlainFile::Open(DatabasePath(path)));
  auto opened = datadir::OpenDatabaseFile(file.path(), invocation.flags.Duration("timeout"));
  if (!opened.has_value()) return Fail(ctl::ExitCode::kError, opened.error().message);
  return *std::move(opened);
}

}  // namespace kvorum::utl
