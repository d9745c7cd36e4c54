#include "tools/utl/utl_database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file_system.h"
#include "bbolt/file_writer.h"
#include "datadir/watched_database.h"
#include "rpc/tls/socket.h"
#include "tools/text/gzip_file.h"

namespace kvorum::utl {
namespace {

constexpr std::uint32_t kPageSize = 4096;  // of etcd's files

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
  if (::stat(file.c_str(), &status) != 0)
    return Fail(ctl::ExitCode::kError, std::string(call) + " " + file + ": " + GoErrnoText(errno));
  if (S_ISREG(status.st_mode)) return {};
  // It is tried all the same, for the words.
  const auto opened = PosixFileSystem().Open(file, FileSystem::OpenMode::kRead);
  if (opened.has_value()) return {};  // replaced meanwhile
  return Fail(ctl::ExitCode::kError, opened.error().message);
}

ctl::Outcome<std::string> TemporaryFolder() {
  std::error_code error;
  std::string folder = std::filesystem::temp_directory_path(error);
  if (error) {
    // The first of these variables that is set names it.
    return Fail(ctl::ExitCode::kError,
                "the folder for temporary files ($TMPDIR, or else $TMP, $TEMP, $TEMPDIR, /tmp): " +
                    GoErrnoText(error.value()));
  }
  return folder;
}

ctl::Outcome<UnnamedFile> UnnamedFile::Create() {
  KV_TRY(const std::string folder, TemporaryFolder());
  return CreateIn(folder);
}

ctl::Outcome<UnnamedFile> UnnamedFile::CreateIn(const std::string& folder) {
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) {  // not every file system has files without a name
    std::string path = folder + "/kvorumutl-XXXXXX";
    fd = ::mkostemp(path.data(), O_CLOEXEC);
    if (fd < 0) return Fail(ctl::ExitCode::kError, "create " + path + ": " + GoErrnoText(errno));
    ::unlink(path.c_str());
  }
  return UnnamedFile(fd);
}

std::string UnnamedFile::path() const { return "/proc/self/fd/" + std::to_string(fd()); }

ctl::Outcome<PlainFile> PlainFile::Open(const std::string& path) {
  PlainFile file(path);
  if (!ctl::IsGzipFile(path)) return file;
  KV_TRY(UnnamedFile unpacked, UnnamedFile::Create());
  file.unpacked_.emplace(std::move(unpacked));
  KV_RETURN_IF_ERROR(ctl::Gunzip(path, file.unpacked_->fd()));
  const auto kind = datadir::KindOfDatabase(file.path());
  if (kind.has_value() && *kind == datadir::DatabaseKind::kKvorum) {
    return Fail(ctl::ExitCode::kError,
                path + " is a database of kvorum that was compressed: unpack it first");
  }
  return file;
}

ctl::Outcome<std::unique_ptr<datadir::DatabaseFile>> OpenDatabase(const ctl::Invocation& invocation,
                                                                  const std::string& path,
                                                                  datadir::OnProgress on_progress) {
  KV_TRY(const PlainFile file, PlainFile::Open(DatabasePath(path)));
  auto opened = datadir::OpenDatabaseFile(file.path(), invocation.flags.Duration("timeout"));
  if (!opened.has_value()) return Fail(ctl::ExitCode::kError, opened.error().message);
  return datadir::Watch(*std::move(opened), std::move(on_progress));
}

ctl::Outcome<UnnamedFile> AsEtcds(const ctl::Invocation& invocation, const std::string& path) {
  KV_TRY(UnnamedFile made, UnnamedFile::Create());
  const auto file = PosixFileSystem().Open(made.path(), FileSystem::OpenMode::kReadWrite);
  if (!file.has_value()) return Fail(ctl::ExitCode::kError, file.error().message);
  // Afterwards: root opens it with the rights of its owner.
  KV_TRY(const auto database, OpenDatabase(invocation, path));
  const auto written = [&]() -> Result<void> {
    bbolt::FileWriter writer(**file, kPageSize);
    KV_RETURN_IF_ERROR(database->Visit(
        {.bucket = [&](std::string_view name) { return writer.content().BeginBucket(name); },
         .record = [&](std::string_view key, std::string_view value) -> Result<void> {
           KV_RETURN_IF_ERROR(writer.content().Put(key, value));
           return writer.WriteReady();
         }}));
    return writer.Finish();
  }();
  if (!written.has_value()) return Fail(ctl::ExitCode::kError, written.error().message);
  return made;
}

}  // namespace kvorum::utl
