#include "base/file_system.h"

#include <array>
#include <string>

namespace kvorum {

std::string ParentDirectory(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const std::size_t slash = path.find_last_of('/', end);
  if (slash == std::string::npos) return ".";
  const std::size_t last = path.find_last_not_of('/', slash);
  return last == std::string::npos ? "/" : path.substr(0, last + 1);
}

Result<std::string> ReadWholeFile(FileSystem& fs, const std::string& path,
                                  std::uint64_t limit_bytes) {
  KV_TRY(const std::unique_ptr<File> file, fs.Open(path, FileSystem::OpenMode::kRead));
  KV_TRY(const std::uint64_t size, file->Size());
  if (size > limit_bytes) {
    return Fail(Code::kOutOfRange, path + ": " + std::to_string(size) + " bytes, more than the " +
                                       std::to_string(limit_bytes) + " that it may hold");
  }
  std::string content(size, '\0');
  KV_TRY(const std::size_t got, file->ReadAt(0, content.data(), content.size()));
  content.resize(got);
  return content;
}

Result<void> WriteFileAtomically(FileSystem& fs, const std::string& path,
                                 std::string_view content) {
  const std::string temporary = path + ".tmp";
  KV_TRY(const bool left_over, fs.Exists(temporary));
  if (left_over) KV_RETURN_IF_ERROR(fs.Remove(temporary));
  {
    KV_TRY(const std::unique_ptr<File> file, fs.Open(temporary, FileSystem::OpenMode::kCreate));
    const std::array<std::string_view, 1> parts = {content};
    KV_RETURN_IF_ERROR(file->WriteAt(0, parts));
    KV_RETURN_IF_ERROR(file->Sync());
  }
  KV_RETURN_IF_ERROR(fs.Rename(temporary, path));
  return fs.SyncDirectory(ParentDirectory(path));
}

}  // namespace kvorum
