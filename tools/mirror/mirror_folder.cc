#include "tools/mirror/mirror_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file_descriptor.h"
#include "base/own_file.h"
#include "tools/mirror/mirror_path.h"

namespace kvorum::ctl {
namespace {

constexpr const char* kList = "files";
constexpr const char* kNewList = "files.new";
constexpr std::string_view kListHead = "kvorum-mirror 1 ";
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// From here on one sync of the file system takes less time than one for each file.
constexpr std::size_t kSyncAllFrom = 8;
// The list is written anew when it has this many lines more than twice the files.
constexpr std::size_t kSpareLines = 10'000;

std::unexpected<Error> SystemError(std::string_view what) {
  return Fail(Code::kUnavailable, std::string(what) + ": " + ErrnoText(errno));
}

Result<void> WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("write");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::string> ReadAll(int fd) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("read");
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

std::string_view FileNameOf(std::string_view path) {
  const std::string_view folder = FolderOf(path);
  return folder.empty() ? path : path.substr(folder.size() + 1);
}

Result<FileDescriptor> OpenLocked(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Fail(Code::kUnavailable, folder + ": " + error.message());
  FileDescriptor root(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0) return SystemError(folder);
  if (flock(root.get(), LOCK_EX | LOCK_NB) != 0)
    return Fail(Code::kFailedPrecondition, folder + ": another mirror has this folder");
  return root;
}

// A user who may write there decides what the mirror removes, so no other user may.
Result<void> CheckIsPrivateFolder(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return SystemError("fstat");
  if (status.st_uid != geteuid())
    return Fail(Code::kFailedPrecondition, "belongs to the user " + std::to_string(status.st_uid) +
                                               " and not to the mirror's");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return Fail(Code::kFailedPrecondition,
                "others may enter it: look at what is in it, then take that away (chmod go=)");
  return {};
}

std::string StagedName(std::size_t number) { return std::to_string(number); }

}  // namespace

Result<std::unique_ptr<MirrorFolder>> MirrorFolder::Open(const std::string& folder,
                                                         const std::string& prefix) {
  KV_TRY(FileDescriptor root, OpenLocked(folder));
  const std::string name(kMirrorOwn);
  if (mkdirat(root.get(), name.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return SystemError(folder + "/" + name);
  FileDescriptor own(openat(root.get(), name.c_str(), kFolderFlags));
  if (own.get() < 0) return SystemError(folder + "/" + name);
  if (const auto valid = CheckIsPrivateFolder(own.get()); !valid)
    return Fail(valid.error().code, folder + "/" + name + ": " + valid.error().message);
  std::unique_ptr<MirrorFolder> mirror(new MirrorFolder(std::move(root), std::move(own), prefix));
  const auto listed = mirror->ReadList();
  if (!listed) return Fail(listed.error().code, folder + ": " + listed.error().message);
  KV_RETURN_IF_ERROR(mirror->WriteList());
  KV_RETURN_IF_ERROR(mirror->mark_.Open(mirror->own_.get()));
  mirror->RemoveStaged();
  return mirror;
}

// Those that a mirror which was killed has left.
void MirrorFolder::RemoveStaged() const {
  DIR* const listing = fdopendir(openat(own_.get(), ".", kFolderFlags));
  if (listing == nullptr) return;
  while (const dirent* const entry = readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name.find_first_not_of("0123456789") == std::string_view::npos)
      unlinkat(own_.get(), entry->d_name, 0);
  }
  closedir(listing);
}

Result<void> MirrorFolder::ReadList() {
  const FileDescriptor file(
      openat(own_.get(), kList, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return {};
  if (file.get() < 0) return SystemError(kList);
  KV_RETURN_IF_ERROR(CheckOwnFile(file.get(), std::string(kMirrorOwn) + "/" + kList));
  KV_TRY(const std::string text, ReadAll(file.get()));
  std::string_view rest = text;
  for (bool is_first = true;; is_first = false) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (is_first) {
      if (line == std::string(kListHead) + EscapePath(prefix_)) continue;
      return Fail(Code::kFailedPrecondition, "this folder mirrors another prefix");
    }
    const bool is_added = line.starts_with('+');
    auto path = UnescapePath(line.substr(std::min<std::size_t>(1, line.size())));
    // The list is as little trusted as the store: a path without a key was not made here.
    if (path) path = MirrorPath(*path);
    if (!path || (!is_added && !line.starts_with('-')))
      return Fail(Code::kDataLoss, std::string(kMirrorOwn) + "/files has a damaged line");
    if (is_added)
      files_.insert(*path);
    else
      files_.erase(*path);
  }
}

// Durable and in place, or not at all.
Result<void> MirrorFolder::WriteList() {
  std::string text = std::string(kListHead) + EscapePath(prefix_) + "\n";
  for (const std::string& path : files_) text += "+" + EscapePath(path) + "\n";
  FileDescriptor file(openat(own_.get(), kNewList,
                             O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                             S_IRUSR | S_IWUSR));
  if (file.get() < 0) return SystemError(kNewList);
  KV_RETURN_IF_ERROR(WriteAll(file.get(), text));
  if (fsync(file.get()) != 0) return SystemError(kNewList);
  if (renameat(own_.get(), kNewList, own_.get(), kList) != 0) return SystemError(kList);
  if (fsync(own_.get()) != 0) return SystemError(kList);
  list_ = std::move(file);
  list_lines_ = files_.size();
  is_list_whole_ = true;
  return {};
}

Result<void> MirrorFolder::AppendToList(const std::string& lines) {
  if (lines.empty()) return {};
  if (!is_list_whole_ || list_lines_ > 2 * files_.size() + kSpareLines)
    KV_RETURN_IF_ERROR(WriteList());
  is_list_whole_ = false;
  KV_RETURN_IF_ERROR(WriteAll(list_.get(), lines));
  is_list_whole_ = true;
  return {};
}

MirrorFolder::Outcome MirrorFolder::Apply(std::vector<FileChange> changes) {
  Outcome outcome;
  std::string lines;
  std::vector<FileChange> writes;
  std::vector<FileChange> removals;
  for (FileChange& change : changes) {
    if (!change.content) {
      removals.push_back(std::move(change));
      continue;
    }
    const bool is_equal = HoldsEqual(change);
    if (!files_.contains(change.path)) lines += "+" + EscapePath(change.path) + "\n";
    if (is_equal)
      files_.insert(change.path);
    else
      writes.push_back(std::move(change));
  }
  list_lines_ += writes.size() + removals.size();
  const auto fail_all = [&](const std::string& why) {
    for (FileChange& write : writes) outcome.failed.push_back({std::move(write), why});
    writes.clear();
  };
  if (!writes.empty() || !removals.empty()) {
    if (const auto marked = mark_.Set(); !marked) {
      is_list_whole_ = false;  // the files that are equal are not in it
      fail_all(marked.error().message);
      for (FileChange& removal : removals)
        outcome.failed.push_back({std::move(removal), marked.error().message});
      return outcome;
    }
  }
  if (const auto appended = AppendToList(lines); !appended) fail_all(appended.error().message);
  std::vector<std::size_t> staged;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (const auto done = Stage(i, *writes[i].content); done)
      staged.push_back(i);
    else
      outcome.failed.push_back({writes[i], done.error().message});
  }
  if (const auto synced = SyncStaged(writes.size()); !synced) {
    staged.clear();
    outcome.failed.clear();
    fail_all(synced.error().message);
  }

  const std::string removed_lines = RemoveAll(std::move(removals), outcome);
  for (const std::size_t i : staged) {
    if (const auto placed = Place(i, writes[i].path); !placed) {
      outcome.failed.push_back({std::move(writes[i]), placed.error().message});
      continue;
    }
    files_.insert(writes[i].path);
    outcome.written.push_back(writes[i].path);
  }
  // A line that is missing costs nothing: the file is not there.
  [[maybe_unused]] const auto appended = AppendToList(removed_lines);
  return outcome;
}

std::string MirrorFolder::RemoveAll(std::vector<FileChange> removals, Outcome& outcome) {
  std::string lines;
  for (FileChange& removal : removals) {
    if (!files_.contains(removal.path)) continue;
    const auto removed = RemoveFile(removal.path);
    if (!removed) {
      outcome.failed.push_back({std::move(removal), removed.error().message});
      continue;
    }
    lines += "-" + EscapePath(removal.path) + "\n";
    files_.erase(removal.path);
    if (*removed) outcome.removed.push_back(removal.path);
  }
  return lines;
}

bool MirrorFolder::HoldsEqual(const FileChange& change) const {
  const auto parent = FindParent(change.path);
  if (!parent) return false;
  const std::string name(FileNameOf(change.path));
  // A pipe in its place would block the process that opens it.
  const FileDescriptor file(
      openat(parent->get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      // Somebody else could change its content afterwards.
      status.st_uid != geteuid() || status.st_nlink > 1 ||
      static_cast<std::size_t>(status.st_size) != change.content->size())
    return false;
  const auto content = ReadAll(file.get());
  return content && *content == *change.content;
}

Result<FileDescriptor> MirrorFolder::FindParent(std::string_view path) const {
  FileDescriptor folder(fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  for (std::string_view rest = FolderOf(path); !rest.empty();) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string name(rest.substr(0, slash));
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    FileDescriptor next(openat(folder.get(), name.c_str(), kFolderFlags));
    if (next.get() < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
      return Fail(Code::kNotFound, name);
    if (next.get() < 0) return SystemError(name);
    folder = std::move(next);
  }
  return folder;
}

Result<FileDescriptor> MirrorFolder::MakeParent(std::string_view path) {
  FileDescriptor folder(fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  const std::string_view parent = FolderOf(path);
  for (std::size_t begin = 0; begin < parent.size();) {
    const std::size_t end = std::min(parent.find('/', begin), parent.size());
    const std::string name(parent.substr(begin, end - begin));
    const std::string_view place = parent.substr(0, end);
    begin = end + 1;
    FileDescriptor next(openat(folder.get(), name.c_str(), kFolderFlags));
    struct stat status{};
    if (next.get() < 0 && errno == ENOTDIR && files_.contains(place) &&
        fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode)) {
      errno = unlinkat(folder.get(), name.c_str(), 0) == 0 ? ENOENT : errno;
    }
    if (next.get() < 0 && errno == ENOENT) {
      if (mkdirat(folder.get(), name.c_str(), 0777) != 0 && errno != EEXIST)
        return SystemError(place);
      next = FileDescriptor(openat(folder.get(), name.c_str(), kFolderFlags));
    }
    if (next.get() < 0 && (errno == ENOTDIR || errno == ELOOP))
      return Fail(Code::kFailedPrecondition, std::string(place) + " is in the way");
    if (next.get() < 0) return SystemError(place);
    folder = std::move(next);
  }
  return folder;
}

Result<bool> MirrorFolder::RemoveFile(const std::string& path) {
  const auto parent = FindParent(path);
  if (!parent && parent.error().code == Code::kNotFound) return false;
  if (!parent) return std::unexpected(parent.error());
  const std::string name(FileNameOf(path));
  struct stat status{};
  if (fstatat(parent->get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return SystemError(path);
  }
  // Somebody has put another thing in the file's place.
  if (!S_ISREG(status.st_mode)) return false;
  if (unlinkat(parent->get(), name.c_str(), 0) != 0) return SystemError(path);
  RemoveEmptyFolders(path);
  return true;
}

void MirrorFolder::RemoveEmptyFolders(std::string_view path) const {
  for (path = FolderOf(path); !path.empty(); path = FolderOf(path)) {
    const auto parent = FindParent(path);
    if (!parent) return;
    if (unlinkat(parent->get(), std::string(FileNameOf(path)).c_str(), AT_REMOVEDIR) != 0) return;
  }
}

Result<void> MirrorFolder::Stage(std::size_t number, const std::string& content) const {
  const FileDescriptor file(openat(own_.get(), StagedName(number).c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file.get() < 0) return SystemError("open");
  KV_RETURN_IF_ERROR(WriteAll(file.get(), content));
  return {};
}

Result<void> MirrorFolder::SyncStaged(std::size_t count) const {
  if (count == 0) return {};
  if (count >= kSyncAllFrom) return syncfs(root_.get()) == 0 ? Result<void>() : SystemError("sync");
  if (fdatasync(list_.get()) != 0) return SystemError("sync");
  for (std::size_t i = 0; i < count; ++i) {
    const FileDescriptor file(
        openat(own_.get(), StagedName(i).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (file.get() >= 0 && fsync(file.get()) != 0) return SystemError("sync");
  }
  return {};
}

Result<void> MirrorFolder::Place(std::size_t number, const std::string& path) {
  KV_TRY(const FileDescriptor parent, MakeParent(path));
  const std::string name(FileNameOf(path));
  const std::string staged = StagedName(number);
  const auto rename = [&] {
    return renameat(own_.get(), staged.c_str(), parent.get(), name.c_str()) == 0;
  };
  if (rename()) return {};
  // An empty folder in the file's place is not missed.
  if (errno == EISDIR && unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0 && rename())
    return {};
  if (errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST)
    return Fail(Code::kFailedPrecondition, "there is a folder in its place");
  return SystemError("rename");
}

}  // namespace kvorum::ctl
