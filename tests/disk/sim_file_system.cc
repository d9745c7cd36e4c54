#include "tests/disk/sim_file_system.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "tests/disk/sim_inode.h"

namespace kvorum {
namespace {

bool IsWithin(const std::string& path, const std::string& dir) {
  return path.size() > dir.size() && path.starts_with(dir) &&
         (dir == "/" || path[dir.size()] == '/');
}

}  // namespace

std::string NormalizedPath(const std::string& path) {
  std::string result;
  for (const char c : path) {
    if (c != '/' || result.empty() || result.back() != '/') result += c;
  }
  while (result.size() > 1 && result.ends_with('/')) result.pop_back();
  return result;
}

class SimFileSystem::SimFile final : public File {
 public:
  SimFile(SimFileSystem& fs, std::string path, InodePtr inode, bool writable, std::uint64_t process)
      : fs_(fs),
        path_(std::move(path)),
        inode_(std::move(inode)),
        writable_(writable),
        process_(process) {}

  const std::string& path() const override { return path_; }
  Result<std::size_t> ReadAt(std::uint64_t offset, char* out, std::size_t size_bytes) override {
    return fs_.ReadAt(*this, offset, out, size_bytes);
  }
  Result<void> WriteAt(std::uint64_t offset, std::span<const std::string_view> parts) override {
    return fs_.WriteAt(*this, offset, parts);
  }
  Result<void> Sync() override { return fs_.Sync(*this); }
  Result<void> Truncate(std::uint64_t size_bytes) override {
    return fs_.Resize(*this, size_bytes, false);
  }
  Result<void> Allocate(std::uint64_t size_bytes) override {
    return fs_.Resize(*this, size_bytes, true);
  }
  Result<std::uint64_t> Size() override { return fs_.Size(*this); }

  // Under the file system's lock.
  Result<Inode*> inode(bool to_write) {
    if (!fs_.powered_on_) return Fail(Code::kUnavailable, path_ + ": the power is off");
    if (process_ != fs_.process_) {
      return Fail(Code::kUnavailable, path_ + ": opened by a process that has ended");
    }
    if (to_write && !writable_) {
      return Fail(Code::kPermissionDenied, path_ + ": opened for reading");
    }
    return inode_.get();
  }

 private:
  SimFileSystem& fs_;
  const std::string path_;
  const InodePtr inode_;
  const bool writable_;
  const std::uint64_t process_;
};

class SimFileSystem::SimLock final : public FileLock {
 public:
  SimLock(SimFileSystem& fs, InodePtr inode, std::uint64_t process)
      : fs_(fs), inode_(std::move(inode)), process_(process) {}
  ~SimLock() override {
    const std::lock_guard lock(fs_.mutex_);
    if (inode_->locked_by_process == process_) inode_->locked_by_process = 0;
  }
  SimLock(const SimLock&) = delete;
  SimLock& operator=(const SimLock&) = delete;

 private:
  SimFileSystem& fs_;
  const InodePtr inode_;
  const std::uint64_t process_;
};

SimFileSystem::SimFileSystem() {
  for (const char* root : {"/", "."}) {
    const auto folder = std::make_shared<Inode>();
    folder->is_folder = true;
    current_[root] = folder;
    durable_[root] = folder;
  }
}

SimFileSystem::~SimFileSystem() = default;

// --- the gate of every operation -----------------------------------------------------------------

Result<void> SimFileSystem::CheckPower() const {
  if (!powered_on_) return Fail(Code::kUnavailable, "the power is off");
  return {};
}

std::unexpected<Error> SimFileSystem::Inject(Fault fault, const std::string& path) {
  if (fault == Fault::kIoError) {
    ++counters_.io_errors;
    return Fail(Code::kDataLoss, path + ": Input/output error (injected)");
  }
  ++counters_.no_space_errors;
  return Fail(Code::kResourceExhausted, path + ": No space left on device");
}

Result<void> SimFileSystem::CheckPathFault(Operation operation, const std::string& path) {
  for (const InjectedPathFault& injected : path_faults_) {
    if (injected.operation == operation && path.find(injected.path_part) != std::string::npos) {
      return Inject(injected.fault, path);
    }
  }
  return {};
}

// Counts a write operation and meets it with the faults that wait for it. If the power goes
// during this one, it does its work all the same, unless it is a sync, and then fails.
Result<void> SimFileSystem::BeginWrite(Operation operation, const std::string& path) {
  KV_RETURN_IF_ERROR(CheckPower());
  ++operations_;
  if (power_off_at_ == operations_) {
    power_off_at_.reset();
    ++counters_.power_cuts;
    powered_on_ = false;
    return {};
  }
  if (const auto found = fail_at_.find(operations_); found != fail_at_.end()) {
    const Fault fault = found->second;
    fail_at_.erase(found);
    return Inject(fault, path);
  }
  return CheckPathFault(operation, path);
}

// --- names ---------------------------------------------------------------------------------------

Result<SimFileSystem::InodePtr> SimFileSystem::Find(const std::string& path) const {
  const auto found = current_.find(path);
  if (found == current_.end()) return Fail(Code::kNotFound, path + ": No such file or directory");
  return found->second;
}

Result<void> SimFileSystem::RequireFolder(const std::string& dir) const {
  KV_TRY(const InodePtr inode, Find(dir));
  if (!inode->is_folder) return Fail(Code::kUnknown, dir + ": Not a directory");
  return {};
}

void SimFileSystem::Change(NameChange change) {
  change.ApplyTo(current_);
  pending_names_.push_back(std::move(change));
}

Result<std::unique_ptr<File>> SimFileSystem::Open(const std::string& raw_path, OpenMode mode) {
  const std::string path = NormalizedPath(raw_path);
  if (mode == OpenMode::kCreate && observer_) observer_();
  const std::lock_guard lock(mutex_);
  KV_RETURN_IF_ERROR(CheckPower());
  KV_RETURN_IF_ERROR(CheckPathFault(Operation::kOpen, path));
  if (mode != OpenMode::kCreate) {
    KV_TRY(InodePtr inode, Find(path));
    if (inode->is_folder) return Fail(Code::kUnknown, path + ": Is a directory");
    return std::make_unique<SimFile>(*this, raw_path, std::move(inode),
                                     mode == OpenMode::kReadWrite, process_);
  }
  KV_RETURN_IF_ERROR(RequireFolder(ParentDirectory(path)));
  if (current_.contains(path)) return Fail(Code::kAlreadyExists, path + ": File exists");
  KV_RETURN_IF_ERROR(BeginWrite(Operation::kOpen, path));
  const auto inode = std::make_shared<Inode>();
  Change({{{path, inode}}});
  KV_RETURN_IF_ERROR(CheckPower());
  return std::make_unique<SimFile>(*this, raw_path, inode, true, process_);
}

Result<bool> SimFileSystem::Exists(const std::string& path) {
  const std::lock_guard lock(mutex_);
  KV_RETURN_IF_ERROR(CheckPower());
  return current_.contains(NormalizedPath(path));
}

Result<FileSystem::Status> SimFileSystem::Look(const std::string& path) {
  const std::lock_guard lock(mutex_);
  KV_RETURN_IF_ERROR(CheckPower());
  KV_TRY(const InodePtr inode, Find(NormalizedPath(path)));
  if (inode->is_folder) return Status{.kind = Status::Kind::kFolder};
  return Status{.kind = Status::Kind::kFile, .size_bytes = inode->size_bytes};
}

Result<std::vector<std::string>> SimFileSystem::List(const std::string& raw_dir) {
  const std::string dir = NormalizedPath(raw_dir);
  const std::lock_guard lock(mutex_);
  KV_RETURN_IF_ERROR(CheckPower());
  KV_RETURN_IF_ERROR(RequireFolder(dir));
  std::vector<std::string> names;
  for (const auto& [path, inode] : current_) {
    if (path != dir && ParentDirectory(path) == dir) {
      names.push_back(path.substr(path.find_last_of('/') + 1));
    }
  }
  std::ranges::sort(names);
  return names;
}

Result<void> SimFileSystem::MakeDirectories(const std::string& raw_dir) {
  const std::string dir = NormalizedPath(raw_dir);
  for (std::size_t end = 0; end != std::string::npos;) {
    end = dir.find('/', end + 1);
    const std::string part = dir.substr(0, end);
    {
      const std::lock_guard lock(mutex_);
      KV_RETURN_IF_ERROR(CheckPower());
      if (current_.contains(part)) {
        KV_RETURN_IF_ERROR(RequireFolder(part));
        continue;
      }
    }
    if (observer_) observer_();
    const std::lock_guard lock(mutex_);
    KV_RETURN_IF_ERROR(BeginWrite(Operation::kOpen, part));
    const auto inode = std::make_shared<Inode>();
    inode->is_folder = true;
    Change({{{part, inode}}});
    KV_RETURN_IF_ERROR(CheckPower());
  }
  return {};
}

Result<void> SimFileSystem::Rename(const std::string& raw_from, const std::string& raw_to) {
  const std::string from = NormalizedPath(raw_from);
  const std::string to = NormalizedPath(raw_to);
  if (observer_) observer_();
  const std::lock_guard lock(mutex_);
  KV_RETURN_IF_ERROR(BeginWrite(Operation::kRename, from));
  return RenameLocked(from, to);
}

Result<void> SimFileSystem::RenameIfAbsent(const std::string& raw_from, const std::string& raw_to) {
  const std::string from = NormalizedPath(raw_from);
  const std::string to = NormalizedPath(raw_to);
  if (observer_) observer_();
  const std::lock_guard lock(mutex_);
  KV_RETURN_IF_ERROR(BeginWrite(Operation::kRename, from));
  if (current_.contains(to)) return Fail(Code::kAlreadyExists, to + ": File exists");
  return RenameLocked(from, to);
}

Result<void> SimFileSystem::RenameLocked(const std::string& from, const std::string& to) {
  KV_TRY(const InodePtr inode, Find(from));
  KV_RETURN_IF_ERROR(RequireFolder(ParentDirectory(to)));
  if (from == to) return {};
  NameChange change;
  for (const auto& [path, child] : current_) {  // a directory takes its content along
    if (path != from && !IsWithin(path, from)) continue;
    change.assignments.emplace_back(path, nullptr);
    change.assignments.emplace_back(to + path.substr(from.size()), child);
  }
  if (const auto target = current_.find(to); target != current_.end()) {
    const bool target_is_folder = target->second->is_folder;
    if (target_is_folder != inode->is_folder) {
      return Fail(Code::kUnknown, to + ": Is a directory, or is none");
    }
    if (target_is_folder &&
        std::ranges::any_of(current_, [&](const auto& e) { return IsWithin(e.first, to); })) {
      return Fail(Code::kAlreadyExists, to + ": Directory not empty");
    }
  }
  Change(std::move(change));
  return CheckPower();
}

Result<void> SimFileSystem::Remove(const std::string& raw_path) {
  const std::string path = NormalizedPath(raw_path);
  if (observer_) observer_();
  const std::lock_guard lock(mutex_);
  KV_RETURN_IF_ERROR(BeginWrite(Operation::kRemove, path));
  KV_TRY(const InodePtr inode, Find(path));
  if (inode->is_folder &&
      std::ranges::any_of(current_, [&](const auto& e) { return IsWithin(e.first, path); })) {
    return Fail(Code::kAlreadyExists, path + ": Directory not empty");
  }
  Change({{{path, nullptr}}});
  return CheckPower();
}

Result<void> SimFileSystem::SyncDirectory(const std::string& raw_dir) {
  const std::string dir = NormalizedPath(raw_dir);
  if (observer_) observer_();
  const std::lock_guard lock(mutex_);
  KV_RETURN_IF_ERROR(BeginWrite(Operation::kSync, dir));
  KV_RETURN_IF_ERROR(CheckPower());
  KV_RETURN_IF_ERROR(RequireFolder(dir));
  if (left_out_syncs_ && left_out_syncs_(dir)) return {};
  std::erase_if(pending_names_, [&](const NameChange& change) {
    if (!change.Touches(dir)) return false;
    change.ApplyTo(durable_);
    return true;
  });
  return {};
}

Result<std::unique_ptr<FileLock>> SimFileSystem::Lock(const std::string& raw_path) {
  const std::string path = NormalizedPath(raw_path);
  bool exists = false;
  {
    const std::lock_guard lock(mutex_);
    exists = current_.contains(path);
  }
  if (!exists) KV_RETURN_IF_ERROR(Open(raw_path, OpenMode::kCreate));
  const std::lock_guard lock(mutex_);
  KV_RETURN_IF_ERROR(CheckPower());
  KV_TRY(InodePtr inode, Find(path));
  if (inode->locked_by_process == process_) {
    return Fail(Code::kFailedPrecondition, LockedText(raw_path));
  }
  inode->locked_by_process = process_;
  return std::make_unique<SimLock>(*this, std::move(inode), process_);
}

// --- bytes ---------------------------------------------------------------------------------------

Result<std::size_t> SimFileSystem::ReadAt(SimFile& file, std::uint64_t offset, char* out,
                                          std::size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  KV_TRY(const Inode* inode, file.inode(false));
  KV_RETURN_IF_ERROR(CheckPathFault(Operation::kRead, file.path()));
  if (offset >= inode->size_bytes) return std::size_t{0};
  const std::size_t total =
      static_cast<std::size_t>(std::min<std::uint64_t>(size_bytes, inode->size_bytes - offset));
  std::memset(out, 0, total);
  const std::uint64_t end = offset + total;
  for (auto it = inode->sectors.lower_bound(offset / kSectorBytes);
       it != inode->sectors.end() && it->first * kSectorBytes < end; ++it) {
    const std::uint64_t begin = it->first * kSectorBytes;
    const std::uint64_t from = std::max(begin, offset);
    const std::uint64_t to = std::min(begin + kSectorBytes, end);
    std::memcpy(out + (from - offset), it->second.data() + (from - begin),
                static_cast<std::size_t>(to - from));
  }
  return total;
}

Result<void> SimFileSystem::WriteAt(SimFile& file, std::uint64_t offset,
                                    std::span<const std::string_view> parts) {
  if (observer_) observer_();
  const std::lock_guard lock(mutex_);
  KV_TRY(Inode * inode, file.inode(true));
  KV_RETURN_IF_ERROR(BeginWrite(Operation::kWrite, file.path()));
  std::string bytes;
  for (const std::string_view part : parts) bytes.append(part);
  bool full = false;
  if (capacity_bytes_.has_value() && offset + bytes.size() > inode->size_bytes) {
    const std::uint64_t used = UsedBytes();
    const std::uint64_t room =
        inode->size_bytes + (*capacity_bytes_ > used ? *capacity_bytes_ - used : 0);
    if (offset + bytes.size() > room) {
      full = true;
      bytes.resize(room > offset ? static_cast<std::size_t>(room - offset) : 0);
    }
  }
  for (std::size_t done = 0; done < bytes.size();) {
    const std::uint64_t at = offset + done;
    const std::size_t within = static_cast<std::size_t>(at % kSectorBytes);
    const std::size_t count = std::min(kSectorBytes - within, bytes.size() - done);
    inode->Write(at / kSectorBytes, within, std::string_view(bytes).substr(done, count));
    done += count;
  }
  if (!bytes.empty()) inode->SetSize(std::max(inode->size_bytes, offset + bytes.size()));
  if (full) return Inject(Fault::kNoSpace, file.path());
  return CheckPower();
}

Result<void> SimFileSystem::Sync(SimFile& file) {
  if (observer_) observer_();
  const std::lock_guard lock(mutex_);
  KV_TRY(Inode * inode, file.inode(false));
  const Result<void> begun = BeginWrite(Operation::kSync, file.path());
  KV_RETURN_IF_ERROR(CheckPower());
  if (!begun.has_value()) {
    for (auto& [number, older] : inode->older_sectors) {
      inode->stranded_sectors[number] = std::move(older);
    }
    inode->older_sectors.clear();
    return begun;
  }
  if (left_out_syncs_ && left_out_syncs_(file.path())) return {};
  inode->older_sectors.clear();
  inode->older_sizes.clear();
  return {};
}

Result<void> SimFileSystem::SyncRange(File& file, std::uint64_t offset, std::uint64_t size_bytes) {
  if (observer_) observer_();
  const std::lock_guard lock(mutex_);
  KV_TRY(Inode * inode, static_cast<SimFile&>(file).inode(true));
  KV_RETURN_IF_ERROR(BeginWrite(Operation::kSync, file.path()));
  KV_RETURN_IF_ERROR(CheckPower());
  if (left_out_syncs_ && left_out_syncs_(file.path())) return {};
  const std::uint64_t end = (offset + size_bytes + kSectorBytes - 1) / kSectorBytes;
  for (std::uint64_t number = offset / kSectorBytes; number < end; ++number)
    inode->older_sectors.erase(number);
  inode->older_sizes.clear();
  return {};
}

Result<void> SimFileSystem::Resize(SimFile& file, std::uint64_t size_bytes, bool allocate) {
  if (observer_) observer_();
  const std::lock_guard lock(mutex_);
  KV_TRY(Inode * inode, file.inode(true));
  KV_RETURN_IF_ERROR(BeginWrite(allocate ? Operation::kAllocate : Operation::kWrite, file.path()));
  if (allocate && size_bytes <= inode->size_bytes) return CheckPower();
  if (allocate && capacity_bytes_.has_value() &&
      UsedBytes() + size_bytes - inode->size_bytes > *capacity_bytes_) {
    return Inject(Fault::kNoSpace, file.path());
  }
  inode->SetSize(size_bytes);
  return CheckPower();
}

Result<std::uint64_t> SimFileSystem::Size(SimFile& file) {
  const std::lock_guard lock(mutex_);
  KV_TRY(const Inode* inode, file.inode(false));
  return inode->size_bytes;
}

std::uint64_t SimFileSystem::UsedBytes() const {
  std::uint64_t used = 0;
  for (const auto& [path, inode] : current_) used += inode->size_bytes;
  return used;
}

Result<std::uint64_t> SimFileSystem::FreeSpace(const std::string&) {
  const std::lock_guard lock(mutex_);
  KV_RETURN_IF_ERROR(CheckPower());
  if (!capacity_bytes_.has_value()) return UINT64_MAX;
  const std::uint64_t used = UsedBytes();
  return *capacity_bytes_ > used ? *capacity_bytes_ - used : 0;
}

}  // namespace kvorum
