#include "archive/store/folder_store.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text/parse_number.h"
#include "base/words.h"

namespace kvorum::archive {
namespace {

using FileKind = FileSystem::Status::Kind;

constexpr std::string_view kTemporaryFolder = ".tmp";
constexpr std::chrono::milliseconds kLeftOverAge = std::chrono::hours(24);
// Each time that a store is opened.
constexpr std::size_t kMostLeftOversRemoved = 1000;
constexpr std::size_t kMaxFoldersKnown = 4096;

StoreErrorKind KindOfFileError(Code code) {
  switch (code) {
    case Code::kNotFound:
      return StoreErrorKind::kAbsent;
    case Code::kAlreadyExists:
      return StoreErrorKind::kExists;
    case Code::kPermissionDenied:
      return StoreErrorKind::kDenied;
    case Code::kResourceExhausted:
      return StoreErrorKind::kFull;
    case Code::kDataLoss:
      return StoreErrorKind::kDamaged;
    case Code::kInvalidArgument:
      return StoreErrorKind::kInvalid;
    case Code::kOk:
    case Code::kCanceled:
    case Code::kUnknown:
    case Code::kDeadlineExceeded:
    case Code::kFailedPrecondition:
    case Code::kAborted:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kInternal:
    case Code::kUnavailable:
    case Code::kUnauthenticated:
      return StoreErrorKind::kUnavailable;
  }
  return StoreErrorKind::kUnavailable;
}

std::unexpected<StoreError> FileFail(Error error) {
  return StoreFail(KindOfFileError(error.code), std::move(error.message));
}

// The value of a Result, or the store's error of the file's.
template <class T>
StoreResult<T> OfFile(Result<T> result) {
  if (!result.has_value()) return FileFail(std::move(result).error());
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(result).value();
  }
}

std::int64_t UnixMillis(const Clock& clock) { return clock.WallNanos() / 1'000'000; }

std::string SixteenDigits(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t at = text.size(); at-- > 0; value >>= 4U) text[at] = kDigits[value & 15U];
  return text;
}

}  // namespace

StoreResult<std::unique_ptr<FolderStore>> FolderStore::Open(FileSystem& files, const Clock& clock,
                                                            const StopSignal& stop,
                                                            FolderOptions options) {
  std::unique_ptr<FolderStore> store(new FolderStore(files, clock, stop, std::move(options)));
  const std::string& folder = store->options_.folder;
  if (!folder.starts_with('/') || folder.ends_with('/')) {
    return StoreFail(StoreErrorKind::kInvalid,
                     folder + ": an archive's folder has a path from the root on");
  }
  if (store->options_.read_only) {
    KV_TRY(const bool exists, OfFile(files.Exists(folder)));
    if (!exists) return StoreFail(StoreErrorKind::kAbsent, folder + ": there is no such folder");
    return store;
  }
  // The folder may be a symbolic link of the operator's, and so may those around it.
  KV_TRY(const bool exists, OfFile(files.Exists(folder)));
  if (!exists) {
    std::vector<std::string> made;
    for (std::string path = folder; path != "/"; path = ParentDirectory(path)) {
      KV_TRY(const bool found, OfFile(files.Exists(path)));
      if (found) break;
      made.push_back(ParentDirectory(path));
    }
    KV_RETURN_IF_ERROR(OfFile(files.MakeDirectories(folder)));
    for (const std::string& path : made) KV_RETURN_IF_ERROR(OfFile(files.SyncDirectory(path)));
  }
  KV_RETURN_IF_ERROR(store->MakeFolder(store->PathOf(std::string(kTemporaryFolder))));
  store->RemoveLeftOvers();
  return store;
}

FolderStore::FolderStore(FileSystem& files, const Clock& clock, const StopSignal& stop,
                         FolderOptions options)
    : files_(files),
      clock_(clock),
      stop_(stop),
      options_(std::move(options)),
      name_("file://" + options_.folder),
      rng_(options_.seed) {}

StoreResult<void> FolderStore::CheckCall(const std::string& key) const {
  if (stop_.stopped()) return StoreFail(StoreErrorKind::kStopped, name_ + ": stopped");
  return CheckKey(key);
}

StoreResult<void> FolderStore::CheckWrite() const {
  if (!options_.read_only) return {};
  return StoreFail(StoreErrorKind::kDenied, name_ + ": opened for reading only");
}

// A folder below the store's own, whose name is durable when it returns. One that is there may be
// the work of a process that died before it could make the name durable.
StoreResult<void> FolderStore::MakeFolder(const std::string& path) {
  if (durable_folders_.contains(path)) return {};
  const auto found = files_.Look(path);
  if (!found.has_value() && found.error().code != Code::kNotFound) return FileFail(found.error());
  if (found.has_value() && found->kind != FileKind::kFolder) {
    return StoreFail(StoreErrorKind::kInvalid, path + ": it is not a folder");
  }
  if (!found.has_value()) KV_RETURN_IF_ERROR(OfFile(files_.MakeDirectories(path)));
  KV_RETURN_IF_ERROR(OfFile(files_.SyncDirectory(ParentDirectory(path))));
  if (durable_folders_.size() >= kMaxFoldersKnown) durable_folders_.clear();
  durable_folders_.insert(path);
  return {};
}

StoreResult<void> FolderStore::MakeFoldersOf(const std::string& key) {
  for (std::size_t slash = key.find('/'); slash != std::string::npos;
       slash = key.find('/', slash + 1)) {
    KV_RETURN_IF_ERROR(MakeFolder(PathOf(key.substr(0, slash))));
  }
  return {};
}

// kInvalid if the way to the key leads through something that is not a folder.
StoreResult<void> FolderStore::CheckFoldersOf(const std::string& key) {
  for (std::size_t slash = key.find('/'); slash != std::string::npos;
       slash = key.find('/', slash + 1)) {
    const std::string path = PathOf(key.substr(0, slash));
    KV_TRY(const FileSystem::Status found, OfFile(files_.Look(path)));
    if (found.kind != FileKind::kFolder) {
      return StoreFail(StoreErrorKind::kInvalid, path + ": it is not a folder");
    }
  }
  return {};
}

StoreResult<FileSystem::Status> FolderStore::LookAt(const std::string& key) {
  KV_RETURN_IF_ERROR(CheckFoldersOf(key));
  KV_TRY(FileSystem::Status found, OfFile(files_.Look(PathOf(key))));
  if (found.kind != FileKind::kFile) {
    return StoreFail(StoreErrorKind::kInvalid, PathOf(key) + ": it is not a file");
  }
  return found;
}

StoreResult<std::string> FolderStore::WriteTemporary(std::string_view bytes) {
  std::string path = PathOf(std::string(kTemporaryFolder)) + "/" +
                     std::to_string(UnixMillis(clock_)) + "-" + SixteenDigits(rng_());
  auto opened = files_.Open(path, FileSystem::OpenMode::kCreate);
  if (!opened.has_value() && opened.error().code == Code::kNotFound) {
    // An operator has tidied up.
    durable_folders_.clear();
    KV_RETURN_IF_ERROR(MakeFolder(ParentDirectory(path)));
    opened = files_.Open(path, FileSystem::OpenMode::kCreate);
  }
  KV_TRY(const std::unique_ptr<File> file, OfFile(std::move(opened)));
  const std::array<std::string_view, 1> parts = {bytes};
  Result<void> written = file->WriteAt(0, parts);
  if (written.has_value()) written = file->Sync();
  if (written.has_value()) return path;
  static_cast<void>(files_.Remove(path));
  return FileFail(std::move(written).error());
}

StoreResult<void> FolderStore::GiveName(const std::string& temporary, const std::string& key,
                                        bool if_absent) {
  const std::string path = PathOf(key);
  const auto rename = [&] {
    return if_absent ? files_.RenameIfAbsent(temporary, path) : files_.Rename(temporary, path);
  };
  KV_RETURN_IF_ERROR(MakeFoldersOf(key));
  Result<void> renamed = rename();
  if (!renamed.has_value() && renamed.error().code == Code::kNotFound) {
    // Another store has removed the folder, which was empty.
    durable_folders_.clear();
    KV_RETURN_IF_ERROR(MakeFoldersOf(key));
    renamed = rename();
  }
  if (!renamed.has_value()) {
    // The object that is there may be of a process that died before its name was durable.
    if (renamed.error().code == Code::kAlreadyExists) {
      KV_RETURN_IF_ERROR(OfFile(files_.SyncDirectory(ParentDirectory(path))));
    }
    return FileFail(std::move(renamed).error());
  }
  return OfFile(files_.SyncDirectory(ParentDirectory(path)));
}

StoreResult<void> FolderStore::Put(const std::string& key, std::string_view bytes,
                                   const PutOptions& options) {
  KV_RETURN_IF_ERROR(CheckWrite());
  KV_RETURN_IF_ERROR(CheckCall(key));
  KV_RETURN_IF_ERROR(CheckObjectSize(key, bytes));
  // A name that is taken is found before the bytes are written.
  const auto found = LookAt(key);
  if (!found.has_value() && found.error().kind != StoreErrorKind::kAbsent) {
    return std::unexpected(found.error());
  }
  if (found.has_value() && options.if_absent) {
    KV_RETURN_IF_ERROR(OfFile(files_.SyncDirectory(ParentDirectory(PathOf(key)))));
    return StoreFail(StoreErrorKind::kExists, PathOf(key) + ": it exists");
  }
  KV_TRY(const std::string temporary, WriteTemporary(bytes));
  StoreResult<void> named = GiveName(temporary, key, options.if_absent);
  if (!named.has_value()) static_cast<void>(files_.Remove(temporary));
  return named;
}

StoreResult<ObjectInfo> FolderStore::Get(const std::string& key, const GetOptions& options,
                                         const PieceSink& sink) {
  KV_RETURN_IF_ERROR(CheckCall(key));
  KV_RETURN_IF_ERROR(LookAt(key));
  KV_TRY(const std::unique_ptr<File> file,
         OfFile(files_.Open(PathOf(key), FileSystem::OpenMode::kRead)));
  KV_TRY(const std::uint64_t size, OfFile(file->Size()));
  if (options.offset > size) {
    return StoreFail(StoreErrorKind::kInvalid,
                     PathOf(key) + ": it ends before offset " + std::to_string(options.offset));
  }
  ObjectInfo info{.size_bytes = size, .version = {}, .sha256 = {}, .lock = {}};
  if (options.on_begin) options.on_begin(info);
  std::uint64_t left = std::min(options.length.value_or(size), size - options.offset);
  std::string buffer(std::min<std::uint64_t>(left, kMaxPieceBytes), '\0');
  for (std::uint64_t at = options.offset; left > 0;) {
    if (stop_.stopped()) return StoreFail(StoreErrorKind::kStopped, name_ + ": stopped");
    const std::size_t wanted = std::min<std::uint64_t>(left, buffer.size());
    KV_TRY(const std::size_t got, OfFile(file->ReadAt(at, buffer.data(), wanted)));
    if (got != wanted) {
      return StoreFail(StoreErrorKind::kDamaged, PathOf(key) + ": it was cut while it was read");
    }
    KV_RETURN_IF_ERROR(sink(std::string_view(buffer).substr(0, got)));
    at += got;
    left -= got;
  }
  return info;
}

StoreResult<ObjectInfo> FolderStore::Head(const std::string& key) {
  KV_RETURN_IF_ERROR(CheckCall(key));
  KV_TRY(const FileSystem::Status found, LookAt(key));
  return ObjectInfo{.size_bytes = found.size_bytes, .version = {}, .sha256 = {}, .lock = {}};
}

StoreResult<void> FolderStore::List(const ListOptions& options, const ListSink& sink) {
  KV_RETURN_IF_ERROR(ListFolder("", options, sink));
  return {};
}

// `relative` is the folder's part of its keys, with a slash at its end. False once the sink has
// enough.
StoreResult<bool> FolderStore::ListFolder(const std::string& relative, const ListOptions& options,
                                          const ListSink& sink) {
  const std::string path = relative.empty() ? options_.folder : PathOf(relative);
  if (!options_.read_only) {
    const auto synced = files_.SyncDirectory(path);
    if (!synced.has_value() && synced.error().code != Code::kNotFound) {
      return FileFail(synced.error());
    }
  }
  auto listed = files_.List(path);
  if (!listed.has_value()) {
    // A folder that lost its last object meanwhile.
    if (listed.error().code == Code::kNotFound && !relative.empty()) return true;
    return FileFail(std::move(listed).error());
  }
  // Keys in the order of their bytes: a folder stands where its slash puts it.
  std::vector<std::pair<std::string, std::uint64_t>> entries;
  for (const std::string& file : *listed) {
    if (file.starts_with('.')) continue;
    const std::string key = relative + file;
    const std::string below = key + "/";
    const bool may_match = key.starts_with(options.prefix) || options.prefix.starts_with(below);
    const bool may_follow = below > options.after || options.after.starts_with(below);
    // Neither the object of this name nor one below it is wanted.
    if (!may_match || !may_follow) continue;
    const auto found = files_.Look(PathOf(key));
    if (!found.has_value()) {
      if (found.error().code == Code::kNotFound) continue;
      return FileFail(found.error());
    }
    if (found->kind == FileKind::kFolder) entries.emplace_back(below, 0);
    if (found->kind == FileKind::kFile) entries.emplace_back(key, found->size_bytes);
  }
  std::ranges::sort(entries);
  for (const auto& [key, size_bytes] : entries) {
    if (stop_.stopped()) return StoreFail(StoreErrorKind::kStopped, name_ + ": stopped");
    if (key.ends_with('/')) {
      KV_TRY(const bool more, ListFolder(key, options, sink));
      if (!more) return false;
    } else if (key.starts_with(options.prefix) && key > options.after && !sink(key, size_bytes)) {
      return false;
    }
  }
  return true;
}

StoreResult<void> FolderStore::DeleteOne(const std::string& key) {
  KV_RETURN_IF_ERROR(CheckCall(key));
  const auto found = LookAt(key);
  if (!found.has_value()) {
    if (found.error().kind == StoreErrorKind::kAbsent) return {};
    return std::unexpected(found.error());
  }
  if (const auto removed = files_.Remove(PathOf(key));
      !removed.has_value() && removed.error().code != Code::kNotFound) {
    return FileFail(removed.error());
  }
  std::string folder = ParentDirectory(PathOf(key));
  KV_RETURN_IF_ERROR(OfFile(files_.SyncDirectory(folder)));
  // Empty folders go too. One in which another store is about to write is made again there.
  while (folder != options_.folder && files_.Remove(folder).has_value()) {
    durable_folders_.erase(folder);
    folder = ParentDirectory(folder);
  }
  return {};
}

StoreResult<std::vector<DeleteFailure>> FolderStore::Delete(std::span<const std::string> keys) {
  KV_RETURN_IF_ERROR(CheckWrite());
  std::vector<DeleteFailure> failures;
  for (const std::string& key : keys) {
    auto deleted = DeleteOne(key);
    if (deleted.has_value()) continue;
    if (deleted.error().kind == StoreErrorKind::kStopped) {
      return std::unexpected(std::move(deleted).error());
    }
    failures.push_back({.key = key, .error = std::move(deleted).error()});
  }
  return failures;
}

void FolderStore::RemoveLeftOvers() {
  std::string folder = PathOf(std::string(kTemporaryFolder));
  const auto listed = files_.List(folder);
  if (!listed.has_value()) return;
  const std::int64_t oldest = UnixMillis(clock_) - kLeftOverAge.count();
  std::size_t removed = 0;
  folder += '/';
  for (const std::string& file : *listed) {
    const auto written = ParseNumber<std::int64_t>(Cut(file, '-').first);
    if (!written.has_value() || *written >= oldest) continue;
    static_cast<void>(files_.Remove(folder + file));
    if (++removed == kMostLeftOversRemoved) return;
  }
}

}  // namespace kvorum::archive
