#include "wal/spare_segments.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/background/aside.h"
#include "wal/segment_name.h"

namespace kvorum::wal {
namespace {

constexpr std::string_view kReserveName = "reserve";
constexpr std::size_t kSpareZeroBytes = std::size_t{1} << 20;
// Zeros are synced in pieces, so that the log's own syncs do not queue behind all of them.
constexpr std::uint64_t kSyncEveryBytes = std::uint64_t{8} << 20;

std::string TemporaryPath(const std::string& dir) {
  // Unique within the process, which alone holds the directory's lock: a file that a stopped owner
  // is still making cannot be mistaken for another.
  static std::atomic<std::uint64_t> next = 0;
  return (dir + "/spare-").append(std::to_string(next++)).append(kTemporarySuffix);
}

Result<void> FillWithZeros(File& file, std::uint64_t size_bytes) {
  const std::string zeros(
      static_cast<std::size_t>(std::min<std::uint64_t>(kSpareZeroBytes, size_bytes)), '\0');
  for (std::uint64_t at = 0; at < size_bytes; at += zeros.size()) {
    const std::array<std::string_view, 1> part = {
        std::string_view(zeros).substr(0, static_cast<std::size_t>(size_bytes - at))};
    Result<void> written;
    RunAside([&] { written = file.WriteAt(at, part); });
    KV_RETURN_IF_ERROR(written);
    if ((at + zeros.size()) % kSyncEveryBytes == 0) KV_RETURN_IF_ERROR(file.Sync());
  }
  return {};
}

// A disk may hold more than the log: an attempt that fills it completely, even if it is undone,
// would fail any writer at that moment.
constexpr std::uint64_t kLeaveFreeBytes = std::uint64_t{16} << 20;

bool LeavesRoom(FileSystem& fs, const std::string& dir, std::uint64_t size_bytes) {
  const Result<std::uint64_t> free = fs.FreeSpace(dir);
  return !free.has_value() || *free >= size_bytes + kLeaveFreeBytes;
}

}  // namespace

SpareSegments::SpareSegments(FileSystem& fs, std::string dir, const Options& options)
    : fs_(fs), dir_(std::move(dir)), options_(options) {}

Result<SpareSegments::Spare> SpareSegments::Make(FileSystem& fs, const std::string& dir,
                                                 std::uint64_t size_bytes, bool zero) {
  Spare spare = {.file = nullptr, .path = TemporaryPath(dir), .size_bytes = size_bytes};
  KV_TRY(spare.file, fs.Open(spare.path, FileSystem::OpenMode::kCreate));
  const auto fill = [&]() -> Result<void> {
    KV_RETURN_IF_ERROR(spare.file->Allocate(size_bytes));
    if (zero) KV_RETURN_IF_ERROR(FillWithZeros(*spare.file, size_bytes));
    return spare.file->Sync();
  };
  if (Result<void> filled = fill(); !filled.has_value()) {
    static_cast<void>(fs.Remove(spare.path));  // the next Open removes leftovers
    return Fail(std::move(filled).error());
  }
  return spare;
}

Result<bool> SpareSegments::HasReserve() {
  const std::string path = (dir_ + "/").append(kReserveName);
  KV_TRY(const bool exists, fs_.Exists(path));
  if (!exists) return false;
  KV_TRY(const std::unique_ptr<File> file, fs_.Open(path, FileSystem::OpenMode::kRead));
  KV_TRY(const std::uint64_t size, file->Size());
  return size == options_.reserve_size_bytes;
}

void SpareSegments::MakeReserve() {
  const auto make = [&]() -> Result<void> {
    if (options_.reserve_size_bytes == 0) return {};
    KV_TRY(const bool exists, HasReserve());
    if (exists) return {};
    if (!LeavesRoom(fs_, dir_, options_.reserve_size_bytes)) {
      return Fail(Code::kResourceExhausted, "no space for the log's reserve");
    }
    KV_TRY(const Spare spare, Make(fs_, dir_, options_.reserve_size_bytes, false));
    return fs_.Rename(spare.path, (dir_ + "/").append(kReserveName));
  };
  const bool made = make().has_value();
  const std::lock_guard lock(mutex_);
  reserve_ready_ = made;
  if (!made) space_low_.store(true, std::memory_order_relaxed);
}

void SpareSegments::Prepare() {
  {
    const std::lock_guard lock(mutex_);
    if (preparing_ || stopped_ || (ready_.has_value() && reserve_ready_)) return;
    preparing_ = true;
  }
  if (options_.background == nullptr) {
    PrepareNow();
  } else {
    options_.background->Post([self = shared_from_this()] { self->PrepareNow(); });
  }
}

void SpareSegments::PrepareNow() {
  bool needs_spare = false;
  bool needs_reserve = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    needs_spare = !ready_.has_value();
    needs_reserve = !reserve_ready_;
  }
  std::optional<Spare> made;
  if (needs_spare && LeavesRoom(fs_, dir_, options_.segment_size_bytes)) {
    Result<Spare> spare = Make(fs_, dir_, options_.segment_size_bytes, options_.zero);
    if (spare.has_value()) made = std::move(*spare);
  }
  if (needs_reserve) MakeReserve();

  std::unique_lock lock(mutex_);
  preparing_ = false;
  if (stopped_ && made.has_value()) {
    lock.unlock();
    Discard(std::move(*made));
    return;
  }
  if (made.has_value()) ready_ = std::move(made);
  space_low_.store(!ready_.has_value() || !reserve_ready_, std::memory_order_relaxed);
}

Result<SpareSegments::Spare> SpareSegments::Take(std::uint64_t size_bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (ready_.has_value() && ready_->size_bytes >= size_bytes) {
      return *std::exchange(ready_, std::nullopt);
    }
  }
  Result<Spare> made =
      Make(fs_, dir_, std::max(size_bytes, options_.segment_size_bytes), options_.zero);
  if (made.has_value() || made.error().code != Code::kResourceExhausted) return made;
  space_low_.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    if (!reserve_ready_ || size_bytes > options_.reserve_size_bytes) return made;
    reserve_ready_ = false;
  }
  Spare reserve = {
      .file = nullptr, .path = TemporaryPath(dir_), .size_bytes = options_.reserve_size_bytes};
  KV_RETURN_IF_ERROR(fs_.Rename((dir_ + "/").append(kReserveName), reserve.path));
  KV_TRY(reserve.file, fs_.Open(reserve.path, FileSystem::OpenMode::kReadWrite));
  return reserve;
}

void SpareSegments::Stop() {
  std::optional<Spare> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped = std::exchange(ready_, std::nullopt);
  }
  if (dropped.has_value()) Discard(std::move(*dropped));
}

void SpareSegments::Discard(Spare spare) {
  spare.file.reset();
  static_cast<void>(fs_.Remove(spare.path));  // the next Open removes leftovers
}

}  // namespace kvorum::wal
