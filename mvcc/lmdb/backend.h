// The store's durable half: ten buckets of sorted keys and values in one file, changed by atomic
// commits and read through snapshots. Two implementations keep the same contract: LMDB
// (backend_lmdb.cc), and for tests and the simulation an in-memory twin over a FileSystem
// (tests/disk/memory_backend.h).
//
// Threads: Commit, StartDefragment and FinishDefragment belong to the backend executor; everything
// else is thread-safe. The backend outlives its readers. Durability: a batch for which Commit
// returned ok (with CommitSync::kByHand: Sync) survives a power cut, whole; a commit that was cut
// off is there afterwards entirely or not at all. Errors of Commit (except for a full disk) and
// FinishDefragment mean that memory and disk may differ: the owner logs them and ends the process,
// since every later commit is refused. A record whose checksum does not match is kDataLoss, its
// bucket and key named, and is never returned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/api_errors.h"
#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/lmdb/write_batch.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

// A long read gave its snapshot up since the backend needs its place; it may start over.
inline constexpr ApiError kReaderMustEnd{Code::kUnavailable,
                                         "mvcc: the database needs the place of a reader"};
// The number of records that a long read visits between two checks of MustEnd.
inline constexpr std::uint64_t kRecordsBetweenLooks = 1024;

// When commits become durable.
enum class CommitSync : std::uint8_t {
  kEachCommit,
  // Sync alone makes commits durable, and after it the mode is kEachCommit. This is for a file that
  // is not used before it is whole. A crash before that may leave it damaged.
  kByHand,
};

// The kind of place that a reader takes. Clients' readers may use up the shared places; the
// reserved ones are for the few that the member itself cannot do without (apply, compaction).
enum class ReaderPlace : std::uint8_t { kShared, kReserved };

// One immutable state of the backend. Used by one thread at a time. Everything returned stays valid
// until the snapshot is given back. Callers hold it through a Reader.
class Snapshot {
 public:
  // Returns false to end the scan.
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;
  using VisitSize = std::function<bool(std::string_view key, std::size_t value_bytes)>;
  using VisitRevision = std::function<bool(const RevisionRecord& record)>;

  virtual ~Snapshot() = default;

  virtual Result<std::optional<std::string_view>> Get(Bucket bucket, std::string_view key) = 0;
  // The record of a revision, tombstone or not. About 1 µs.
  virtual Result<std::optional<RevisionRecord>> GetRevision(Revision revision) = 0;
  // The same for the first of several, whose values are fetched from memory together: returns for
  // how many, which are fewer if the values are large, and at least one unless there is none.
  virtual Result<std::size_t> GetRevisions(std::span<const Revision> revisions,
                                           std::span<std::optional<RevisionRecord>> records);
  // These records are asked for next, one by one; here their look-ups wait for memory, or for the
  // disk, together. Returns how many it found; a backend may do nothing. At most kMostAhead.
  virtual std::size_t LookAhead(std::span<const Revision> /*revisions*/) { return 0; }
  // Visits the keys in [from, to) in order; an empty `to` means to the end of the bucket. About
  // 0.05 µs a record. The visitor may call Get and GetRevision, not Scan.
  virtual Result<void> Scan(Bucket bucket, std::string_view from, std::string_view to,
                            const Visit& visit) = 0;
  // The same by the values' sizes. Values are not read, so their checksums are not compared, and
  // large ones cost no more than small ones.
  virtual Result<void> ScanSizes(Bucket bucket, std::string_view from, std::string_view to,
                                 const VisitSize& visit);
  // The number of records in the `key` bucket by the backend's own count, not by walking it. A
  // start that scans the bucket compares: a scan that saw another number met a damaged file.
  virtual Result<std::uint64_t> CountRevisions() = 0;
  // The number of commits up to this state: no two states of one file have the same.
  virtual std::uint64_t CommitNumber() const = 0;
  // True if the backend waits for this snapshot to be released, and commits nothing until it is:
  // long-running holders check it periodically, and give up (kReaderMustEnd). A snapshot that is
  // taken then is asked to end only when a new turn begins, so it may be tried again at once.
  virtual bool MustEnd() const { return false; }
  // The snapshot outlives the task that took it: its holder looks at MustEnd by a timer. Of others
  // a thread has one at a time, since a backend that waits for the first may let no second one in;
  // debug builds assert it in a server.
  virtual void OutlivesTask() {}

  // Visits the revisions in [from, to) in order.
  Result<void> ScanRevisions(Revision from, Revision to, const VisitRevision& visit);
  // CRC-32C over every bucket's name, keys and values, in the order of Bucket. Entries of the meta
  // bucket that members of one cluster may differ in (consistent index, term, storage version) are
  // left out. kReaderMustEnd.
  Result<std::uint32_t> Hash();

 protected:
  friend class Reader;
  // Returns the snapshot to its backend; called by the last owner.
  virtual void Release() = 0;
};

// Holds a snapshot briefly: a live reader keeps pages from being reused, so the file grows, and a
// backend that must grow its map waits for it. A holder that waits for a client checks MustEnd by a
// timer.
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

// A copy in progress. Dropping it abandons it and removes its file.
class DefragmentCopy {
 public:
  virtual ~DefragmentCopy() = default;
  // The long part: copies everything except concurrent commits, and syncs it. Runs once, on any
  // thread, while commits and reads go on. An error leaves the backend as it was.
  virtual Result<void> Copy() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Renames the file durably, replacing any file of that name, though readers that have that one
  // open keep it. An error is fatal. On the backend executor, or before there is one.
  virtual Result<void> TakePlace(const std::string& path) = 0;

  // Makes one atomic and durable transaction. kResourceExhausted when the disk is full: nothing of
  // it happened, and the same batch may be committed later. A failed sync is never
  // kResourceExhausted.
  virtual Result<void> Commit(const WriteBatch& batch) = 0;

  // Makes every commit so far durable, if the backend was opened with CommitSync::kByHand, and each
  // later one by itself. On the thread that commits. An error is final.
  virtual Result<void> Sync() = 0;

  // The state after the last commit that returned. Costs under 0.3 µs and no allocation once its
  // snapshot was used before; kResourceExhausted when there are more readers than places.
  Result<Reader> NewReader() { return OpenReader(ReaderPlace::kShared); }
  virtual Result<Reader> OpenReader(ReaderPlace place) = 0;

  // The file's size; falls only by defragmenting. Refreshed by each commit.
  virtual std::uint64_t SizeBytes() const = 0;
  // The part of it that holds data. Refreshed by each commit.
  virtual std::uint64_t SizeInUseBytes() const = 0;

  // Defragmentation: start, copy (on another thread), finish. One at a time: kFailedPrecondition
  // while a copy lives. kResourceExhausted where the disk has no room for it.
  virtual Result<std::unique_ptr<DefragmentCopy>> StartDefragment() = 0;
  // Brings a copy up to date, syncs it and puts it in the backend's place; reads that go on in the
  // old file keep it until they end. After an error that is not fatal the backend goes on as it
  // was.
  struct DefragmentError {
    Error error;
    bool fatal = false;
  };
  virtual std::expected<void, DefragmentError> FinishDefragment(
      std::unique_ptr<DefragmentCopy> copy) = 0;
};

// LMDB trusts the file that it maps: how much of it is looked at before.
enum class LmdbCheck : std::uint8_t {
  kHeader,  // and the length
  // Reads every page of the newest state: for making another file of this one, or for checking that
  // it is whole. A start notices lost revisions as it builds the index.
  kAllPages,
};

struct LmdbOptions {
  std::string path;  // of the data file; its directory exists
  // The operator's limit of the data's size; 0: no limit. With the size of the disk it sizes the
  // map (address space only; the file is as long as its data).
  std::uint64_t quota_bytes = 0;
  unsigned max_readers = 1024;
  // Counts the readers, for the metrics; outlives the backend. May be null.
  std::atomic<unsigned>* readers = nullptr;
  std::uint64_t map_size_bytes = 0;  // 0: see above; tests make it small to see it grow
  CommitSync sync = CommitSync::kEachCommit;
  LmdbCheck check = LmdbCheck::kHeader;
  bool must_exist = false;  // kNotFound instead of a new database
  // Opens an existing file for reading only and writes nothing, neither to the file nor beside it:
  // no right to write is needed. Writers of the file are kept out meanwhile; others that read it so
  // are not. Everything but the readers and the sizes fails.
  bool read_only = false;
};

// Opens the database, or creates it when there is no file (atomically: after a crash the file is
// whole or absent). Refuses with kDataLoss a file that is truncated or of another kind or version,
// and with kFailedPrecondition one that another process has open, or that was given another name
// or replaced meanwhile, and leaves it as it was.
Result<std::unique_ptr<Backend>> OpenLmdbBackend(const LmdbOptions& options);

}  // namespace kvorum::mvcc
