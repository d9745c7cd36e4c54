// The store's durable half: ten buckets of sorted keys and values in one file, changed by atomic
// commits and read through snapshots. Two implementations keep the same contract: LMDB
// (backend_lmdb.cc) for production, and an in-memory twin over a FileSystem (backend_memory.cc) for
// tests and the simulation.
//
// Threads: Commit, StartDefragment and FinishDefragment belong to the backend executor; everything
// else is thread-safe. The backend outlives its readers.
// Durability: what Commit returned ok for survives a power cut, whole; of a commit that was cut off
// everything or nothing is there afterwards.
// Errors of Commit (but for a full disk) and FinishDefragment say that memory and disk may differ:
// the owner logs them and ends the process, since every later commit is refused. A record whose
// checksum does not match is kDataLoss, its bucket and key named, and is never handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/api_errors.h"
#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/bucket.h"
#include "mvcc/revision.h"
#include "mvcc/write_batch.h"

namespace kvorum::mvcc {

// A long read gave its snapshot up since the backend needs its place; it may begin anew.
inline constexpr ApiError kReaderMustEnd{Code::kUnavailable,
                                         "mvcc: the database needs the place of a reader"};
// Records that a long read visits between two looks at MustEnd.
inline constexpr std::uint64_t kRecordsBetweenLooks = 1024;

// Whose a reader is. Clients' readers may use up the shared places; the reserved ones are for the
// few that the member itself cannot go on without (apply, compaction).
enum class ReaderPlace : std::uint8_t { kShared, kReserved };

// One immutable state of the backend. Used by one thread at a time. Everything returned stays valid
// until the snapshot is given back. Callers hold it through a Reader.
class Snapshot {
 public:
  // Returns false to end the scan.
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;
  using VisitRevision = std::function<bool(const RevisionRecord& record)>;

  virtual ~Snapshot() = default;

  virtual Result<std::optional<std::string_view>> Get(Bucket bucket, std::string_view key) = 0;
  // The record of a revision, tombstone or not. About 1 µs.
  virtual Result<std::optional<RevisionRecord>> GetRevision(Revision revision) = 0;
  // Visits the keys in [from, to) in order; an empty `to` means to the end of the bucket. About
  // 0.05 µs a record. The visitor may call Get and GetRevision, not Scan.
  virtual Result<void> Scan(Bucket bucket, std::string_view from, std::string_view to,
                            const Visit& visit) = 0;
  // How many records the `key` bucket holds by the backend's own count, not by walking it. A start
  // that scans the bucket compares: a scan that saw another number met a damaged file.
  virtual Result<std::uint64_t> CountRevisions() = 0;
  // The backend waits for this snapshot to be given back, and lets no reader in until it is:
  // whoever holds one for more than a moment looks now and then, and gives up (kReaderMustEnd).
  virtual bool MustEnd() const { return false; }

  // Visits the revisions in [from, to) in order.
  Result<void> ScanRevisions(Revision from, Revision to, const VisitRevision& visit);
  // CRC-32C over every bucket's name, keys and values, in the order of Bucket. Entries of the meta
  // bucket that members of one cluster may differ in (consistent index, term, storage version) are
  // left out. kReaderMustEnd.
  Result<std::uint32_t> Hash();

 protected:
  friend class Reader;
  // Gives the snapshot back to its backend; called by the last owner.
  virtual void Release() = 0;
};

// Holds a snapshot for a moment: a reader that lives keeps the pages from being used again, so the
// file grows. Never held while a client is waited for, and one at a time per thread (a backend that
// must grow its map waits for all readers to end before it lets new ones in).
class Reader {
 public:
  explicit Reader(Snapshot* snapshot) : snapshot_(snapshot) {}
  Reader(Reader&& other) noexcept : snapshot_(std::exchange(other.snapshot_, nullptr)) {}
  Reader& operator=(Reader&& other) noexcept {
    if (this != &other) {
      Reset();
      snapshot_ = std::exchange(other.snapshot_, nullptr);
    }
    return *this;
  }
  ~Reader() { Reset(); }

  Snapshot* operator->() const { return snapshot_; }
  Snapshot& operator*() const { return *snapshot_; }

 private:
  void Reset() {
    if (snapshot_ != nullptr) snapshot_->Release();
    snapshot_ = nullptr;
  }

  Snapshot* snapshot_;
};

// A copy in the making. Dropping it gives it up and removes its file.
class DefragmentCopy {
 public:
  virtual ~DefragmentCopy() = default;
  // The long part: copies everything but what is committed meanwhile, and syncs it. Runs once, on
  // any thread, while commits and reads go on. An error leaves the backend as it was.
  virtual Result<void> Copy() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Gives the file another name, durably; what had that name is gone, though whoever has it open
  // keeps it. An error is fatal. On the backend executor, or before there is one.
  virtual Result<void> TakePlace(const std::string& path) = 0;

  // One atomic and durable transaction. kResourceExhausted when the disk is full: nothing of it
  // happened, and the same batch may be committed later. A failed sync is never that.
  virtual Result<void> Commit(const WriteBatch& batch) = 0;

  // The state after the last commit that returned. Costs under 0.3 µs and no allocation once its
  // snapshot was used before; kResourceExhausted when more readers live than the backend has places
  // for.
  Result<Reader> NewReader() { return OpenReader(ReaderPlace::kShared); }
  virtual Result<Reader> OpenReader(ReaderPlace place) = 0;

  // What the file takes up; falls only by defragmenting. Refreshed by each commit.
  virtual std::uint64_t SizeBytes() const = 0;
  // The part of it that holds data. Refreshed by each commit.
  virtual std::uint64_t SizeInUseBytes() const = 0;

  // Defragmentation: start, copy (on another thread), finish. One at a time: kFailedPrecondition
  // while a copy lives.
  virtual Result<std::unique_ptr<DefragmentCopy>> StartDefragment() = 0;
  // Brings a copy up to date, syncs it and puts it into the backend's place; reads that go on in
  // the old file keep it until they end. After an error that is not fatal the backend goes on as it
  // was.
  struct DefragmentError {
    Error error;
    bool fatal = false;
  };
  virtual std::expected<void, DefragmentError> FinishDefragment(
      std::unique_ptr<DefragmentCopy> copy) = 0;
};

struct LmdbOptions {
  std::string path;  // of the data file; its folder exists
  // The largest the data may grow by the operator's word; 0: no limit. Sizes the map (address space
  // only; the file is as long as its data).
  std::uint64_t quota_bytes = 0;
  unsigned max_readers = 1024;
  std::uint64_t map_size_bytes = 0;  // 0: by quota and file; tests make it small to see it grow
};

// Opens the database, or creates it when there is no file (atomically: after a crash the file is
// whole or absent). Refuses with kDataLoss a file that is truncated or of another kind or version,
// and with kFailedPrecondition one that another process has open, and leaves it as it was.
Result<std::unique_ptr<Backend>> OpenLmdbBackend(const LmdbOptions& options);

// The twin: all data in memory, each commit a synced frame of the log at `path`.
Result<std::unique_ptr<Backend>> OpenMemoryBackend(FileSystem& file_system, std::string path);

}  // namespace kvorum::mvcc
