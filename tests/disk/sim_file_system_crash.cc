// Crashes, faults and corruption of the simulated disk.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "tests/disk/sim_file_system.h"
#include "tests/disk/sim_inode.h"

namespace kvorum {

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
        const std::vector<Inode::Sector> versions = inode->Versions(number, older);
        if (keep == Keep::kGarbage && older.front() == Inode::kZeroSector && rng.OneIn(8)) {
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
  const auto found = current_.find(NormalizedPath(path));
  if (found == current_.end()) return false;
  Inode& inode = *found->second;
  if (offset >= inode.size_bytes) return false;
  const std::uint64_t number = offset / kSectorBytes;
  const std::size_t within = static_cast<std::size_t>(offset % kSectorBytes);
  const auto flip = [&](Inode::Sector& sector) {
    sector[within] = static_cast<char>(static_cast<unsigned char>(sector[within]) ^ mask);
  };
  flip(inode.sectors[number]);
  for (auto* pending : {&inode.older_sectors, &inode.stranded_sectors}) {
    if (const auto older = pending->find(number); older != pending->end()) {
      for (Inode::Sector& sector : older->second) flip(sector);
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
