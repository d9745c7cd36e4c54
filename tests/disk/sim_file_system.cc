#include "tests/disk/sim_file_system.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace kvorum {
namespace {

constexpr std::size_t kSectorBytes = SimFileSystem::kSectorBytes;
using Sector = std::array<char, kSectorBytes>;
constexpr Sector kZeroSector = {};
// The versions kept of a sector between two syncs; beyond that the second-oldest is dropped.
constexpr std::size_t kMaxVersions = 8;

std::string Normalized(const std::string& path) {
  std::string result;
  for (const char c : path) {
    if (c != '/' || result.empty() || result.back() != '/') result += c;
  }
  while (result.size() > 1 && result.ends_with('/')) result.pop_back();
  return result;
}

bool IsWithin(const std::string& path, const std::string& dir) {
  return path.size() > dir.size() && path.starts_with(dir) &&
         (dir == "/" || path[dir.size()] == '/');
}

}  // namespace

// A file or a directory; a directory has no bytes, and its names are in the file system's tables.
struct SimFileSystem::Inode {
  bool is_folder = false;
  std::map<std::uint64_t, Sector> sectors;  // by number; missing ones are zero
  std::uint64_t size_bytes = 0;
  // The versions that a crash may bring back, oldest first: [0] is durable, later ones have been
  // current. A sector or size that is missing here is durable as it is.
  std::map<std::uint64_t, std::vector<Sector>> older_sectors;
  std::vector<std::uint64_t> older_sizes;
  // Sectors that a failed Sync has given up: like those of older_sectors, but no Sync helps them.
  std::map<std::uint64_t, std::vector<Sector>> stranded_sectors;
  std::uint64_t locked_by_process = 0;  // 0: not locked

  const Sector& At(std::uint64_t number) const {
    const auto found = sectors.find(number);
    return found == sectors.end() ? kZeroSector : found->second;
  }
  // Writes bytes into a sector and remembers its previous content.
  void Write(std::uint64_t number, std::size_t within, std::string_view bytes) {
    Sector next = At(number);
    std::memcpy(next.data() + within, bytes.data(), bytes.size());
    Replace(number, next);
  }
  void Replace(std::uint64_t number, const Sector& next) {
    if (const auto stranded = stranded_sectors.extract(number); !stranded.empty()) {
      older_sectors[number] = stranded.mapped();
    }
    const auto pending = older_sectors.find(number);
    if (pending == older_sectors.end()) {
      if (next == At(number)) return;  // durable as it is, before and after
      older_sectors[number] = {At(number)};
    } else {
      if (pending->second.size() >= kMaxVersions)
        pending->second.erase(pending->second.begin() + 1);
      pending->second.push_back(At(number));
    }
    sectors[number] = next;
  }
  void SetSize(std::uint64_t new_size) {
    if (new_size == size_bytes) return;
    older_sizes.push_back(size_bytes);
    if (new_size < size_bytes) {
      const auto first = sectors.lower_bound(new_size / kSectorBytes);
      std::vector<std::uint64_t> cut;
      for (auto it = first; it != sectors.end(); ++it) cut.push_back(it->first);
      for (const std::uint64_t number : cut) {
        const std::uint64_t begin = number * kSectorBytes;
        const std::size_t kept = new_size > begin ? static_cast<std::size_t>(new_size - begin) : 0;
        Write(number, kept, std::string_view(kZeroSector.data(), kSectorBytes - kept));
      }
    }
    size_bytes = new_size;
  }
  // All versions that a sector may have after a crash, the current one last.
  std::vector<Sector> Versions(std::uint64_t number, const std::vector<Sector>& older) const {
    std::vector<Sector> versions = older;
    versions.push_back(At(number));
    return versions;
  }
};

// One atomic change of names; nullptr means removed.
struct SimFileSystem::NameChange {
  std::vector<std::pair<std::string, InodePtr>> assignments;

  bool Touches(const std::string& dir) const {
    return std::ranges::any_of(assignments, [&](const auto& assignment) {
      return ParentDirectory(assignment.first) == dir;
    });
  }
  void ApplyTo(Entries& entries) const {
    for (const auto& [path, inode] : assignments) {
      if (inode != nullptr) {
        entries[path] = inode;
      } else {
        entries.erase(path);
      }
    }
  }
};

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
  const std::string path = Normalized(raw_path);
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
  return current_.contains(Normalized(path));
}

Result<std::vector<std::string>> SimFileSystem::List(const std::string& raw_dir) {
  const std::string dir = Normalized(raw_dir);
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
  const std::string dir = Normalized(raw_dir);
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
  const std::string from = Normalized(raw_from);
  const std::string to = Normalized(raw_to);
  if (observer_) observer_();
  const std::lock_guard lock(mutex_);
  KV_RETURN_IF_ERROR(BeginWrite(Operation::kRename, from));
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
  const std::string path = Normalized(raw_path);
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
  const std::string dir = Normalized(raw_dir);
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
  const std::string path = Normalized(raw_path);
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

// --- crashes -------------------------------------------------------------------------------------

void SimFileSystem::CrashLocked(Keep keep, Rng& rng) {
  ++counters_.crashes;
  ++process_;
  powered_on_ = true;

  // With a random probability at each crash, so that nearly everything and nearly nothing also
  // occur.
  const std::uint64_t loss_percent = rng.Below(101);
  const auto choose = [&](std::size_t versions) -> std::size_t {  // the last is the current one
    switch (keep) {
      case Keep::kNothing:
        return 0;
      case Keep::kAll:
        return versions - 1;
      case Keep::kRandom:
      case Keep::kGarbage:
        return rng.Below(100) < loss_percent ? rng.Below(versions) : versions - 1;
    }
    return 0;
  };

  for (const NameChange& change : pending_names_) {
    if (choose(2) == 0) {
      ++counters_.name_changes_lost;
    } else {
      change.ApplyTo(durable_);
    }
  }
  pending_names_.clear();
  // A name whose folder was lost is lost with it.
  std::erase_if(durable_, [&](const auto& entry) {
    std::string parent = entry.first;
    while (ParentDirectory(parent) != parent) {
      parent = ParentDirectory(parent);
      if (!durable_.contains(parent)) return true;
    }
    return false;
  });
  current_ = durable_;

  for (const auto& [path, inode] : current_) {
    for (auto* pending : {&inode->older_sectors, &inode->stranded_sectors}) {
      for (const auto& [number, older] : *pending) {
        const std::vector<Sector> versions = inode->Versions(number, older);
        if (keep == Keep::kGarbage && older.front() == kZeroSector && rng.OneIn(8)) {
          ++counters_.sectors_garbage;
          for (char& c : inode->sectors[number]) c = static_cast<char>(rng());
          continue;
        }
        const std::size_t chosen = choose(versions.size());
        if (chosen + 1 < versions.size()) ++counters_.sectors_lost;
        inode->sectors[number] = versions[chosen];
      }
      pending->clear();
    }
    if (!inode->older_sizes.empty()) {
      std::vector<std::uint64_t> sizes = std::move(inode->older_sizes);
      sizes.push_back(inode->size_bytes);
      const std::size_t chosen = choose(sizes.size());
      if (chosen + 1 < sizes.size()) ++counters_.sizes_lost;
      inode->size_bytes = sizes[chosen];
      inode->older_sizes.clear();
    }
    // Bytes after the end do not exist: a file that grows again reads as zeros there.
    inode->sectors.erase(
        inode->sectors.lower_bound((inode->size_bytes + kSectorBytes - 1) / kSectorBytes),
        inode->sectors.end());
    if (const std::size_t rest = inode->size_bytes % kSectorBytes; rest != 0) {
      if (const auto last = inode->sectors.find(inode->size_bytes / kSectorBytes);
          last != inode->sectors.end()) {
        std::fill(last->second.begin() + static_cast<std::ptrdiff_t>(rest), last->second.end(),
                  '\0');
      }
    }
  }
}

std::unique_ptr<SimFileSystem> SimFileSystem::CrashImage(Keep keep, Rng& rng) const {
  auto image = std::make_unique<SimFileSystem>();
  const std::lock_guard lock(mutex_);
  std::map<const Inode*, InodePtr> copies;
  const auto copy = [&](const InodePtr& inode) -> InodePtr {
    if (inode == nullptr) return nullptr;
    InodePtr& copied = copies[inode.get()];
    if (copied == nullptr) copied = std::make_shared<Inode>(*inode);
    return copied;
  };
  for (const auto& [path, inode] : durable_) image->durable_[path] = copy(inode);
  image->pending_names_ = pending_names_;
  for (NameChange& change : image->pending_names_) {
    for (auto& [path, inode] : change.assignments) inode = copy(inode);
  }
  image->process_ = process_;
  image->CrashLocked(keep, rng);
  return image;
}

void SimFileSystem::Crash(Keep keep, Rng& rng) {
  const std::lock_guard lock(mutex_);
  CrashLocked(keep, rng);
}

void SimFileSystem::Kill() {
  const std::lock_guard lock(mutex_);
  ++process_;
}

void SimFileSystem::PowerOffAt(std::uint64_t nth_operation) {
  const std::lock_guard lock(mutex_);
  KV_CHECK(nth_operation > 0, "operations count from 1");
  power_off_at_ = operations_ + nth_operation;
}

std::uint64_t SimFileSystem::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

void SimFileSystem::SetObserver(std::function<void()> observer) { observer_ = std::move(observer); }

void SimFileSystem::FailAt(std::uint64_t nth_operation, Fault fault) {
  const std::lock_guard lock(mutex_);
  fail_at_[operations_ + nth_operation] = fault;
}

void SimFileSystem::FailPath(Operation operation, std::string path_part, Fault fault) {
  const std::lock_guard lock(mutex_);
  path_faults_.push_back({operation, std::move(path_part), fault});
}

void SimFileSystem::ClearFaults() {
  const std::lock_guard lock(mutex_);
  path_faults_.clear();
  fail_at_.clear();
  power_off_at_.reset();
}

void SimFileSystem::LeaveOutSyncs(std::function<bool(const std::string& path)> of_path) {
  left_out_syncs_ = std::move(of_path);
}

void SimFileSystem::SetCapacity(std::optional<std::uint64_t> size_bytes) {
  const std::lock_guard lock(mutex_);
  capacity_bytes_ = size_bytes;
}

bool SimFileSystem::Corrupt(const std::string& path, std::uint64_t offset, std::uint8_t mask) {
  const std::lock_guard lock(mutex_);
  const auto found = current_.find(Normalized(path));
  if (found == current_.end()) return false;
  Inode& inode = *found->second;
  if (offset >= inode.size_bytes) return false;
  const std::uint64_t number = offset / kSectorBytes;
  const std::size_t within = static_cast<std::size_t>(offset % kSectorBytes);
  const auto flip = [&](Sector& sector) {
    sector[within] = static_cast<char>(static_cast<unsigned char>(sector[within]) ^ mask);
  };
  flip(inode.sectors[number]);
  for (auto* pending : {&inode.older_sectors, &inode.stranded_sectors}) {
    if (const auto older = pending->find(number); older != pending->end()) {
      for (Sector& sector : older->second) flip(sector);
    }
  }
  ++counters_.corrupted_bytes;
  return true;
}

SimFileSystem::Counters SimFileSystem::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace kvorum
