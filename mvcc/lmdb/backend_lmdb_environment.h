// One open LMDB file: its map, its snapshots, its sizes, its lock against other processes. The
// backend has one, and briefly two when defragmenting puts a new file in its place.
#pragma once

#include <lmdb.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/lmdb/backend_lmdb_look_ahead.h"
#include "mvcc/records/read_ahead.h"

namespace kvorum::mvcc {

// The unnamed tree that holds all buckets.
inline constexpr MDB_dbi kLmdbTree = 1;

// Translates LMDB's return code for our callers. `what` names the operation and the file.
Error LmdbError(int code, std::string_view what, const std::string& path);

inline MDB_val ToLmdb(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}
inline std::string_view FromLmdb(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

// An open file with a lock (flock) that ends with it, for one thread. It is not LMDB's own
// descriptor, and LMDB has no lock on the file that closing another descriptor of it could drop.
class LmdbFileLock {
 public:
  // Opens an existing file. kNotFound without one, kFailedPrecondition when it is locked already.
  static Result<LmdbFileLock> Open(const std::string& path);
  // With a shared lock instead of an exclusive one: for readers.
  static Result<LmdbFileLock> OpenShared(const std::string& path);
  // Creates an empty file with mode 0600, replacing any file of that name.
  static Result<LmdbFileLock> Create(const std::string& path);
  int fd() const { return fd_.get(); }

 private:
  static Result<LmdbFileLock> OpenWith(const std::string& path, int flags, int lock);
  explicit LmdbFileLock(int fd) : fd_(fd) {}
  FileDescriptor fd_;
};

class LmdbEnvironment;

// A read transaction that is reused, by one thread at a time; between uses it pins nothing.
class LmdbSnapshot final : public Snapshot {
 public:
  explicit LmdbSnapshot(LmdbEnvironment& environment) : environment_(environment) {}
  ~LmdbSnapshot() override;

  Result<std::optional<std::string_view>> Get(Bucket bucket, std::string_view key) override;
  Result<std::optional<RevisionRecord>> GetRevision(Revision revision) override;
  Result<std::size_t> GetRevisions(std::span<const Revision> revisions,
                                   std::span<std::optional<RevisionRecord>> records) override;
  std::size_t LookAhead(std::span<const Revision> revisions) override;
  Result<void> Scan(Bucket bucket, std::string_view from, std::string_view to,
                    const Visit& visit) override;
  Result<void> ScanSizes(Bucket bucket, std::string_view from, std::string_view to,
                         const VisitSize& visit) override;
  Result<std::uint64_t> CountRevisions() override;
  std::uint64_t CommitNumber() const override { return mdb_txn_id(transaction_); }
  bool MustEnd() const override;
  void OutlivesTask() override;

  // Begins or renews the transaction. Returns LMDB's code.
  int Begin();
  MDB_txn* transaction() const { return transaction_; }
  // The cursor of Scan.
  Result<MDB_cursor*> ScanCursor() { return Use(scan_); }
  // The value of a stored value; kDataLoss with bucket and key if its checksum does not match.
  Result<std::string_view> Verify(std::string_view tree_key, std::string_view stored) const;

 private:
  friend class LmdbEnvironment;
  struct Cursor {
    MDB_cursor* cursor = nullptr;
    bool renewed = false;  // within this use of the snapshot
  };

  void Release() override;
  // A record as it stands in the tree, its value not looked at yet. An empty key: no record.
  struct Stored {
    std::string_view tree_key;
    std::string_view value;
  };
  Result<Stored> Seek(Revision revision);
  Result<std::optional<RevisionRecord>> Verified(Revision revision, const Stored& stored) const;
  // Calls visit(tree_key, stored) until it returns false or an error.
  template <class VisitStored>
  Result<void> ScanStored(Bucket bucket, std::string_view from, std::string_view to,
                          const VisitStored& visit);
  Result<MDB_cursor*> Use(Cursor& cursor);
  Error ErrorOf(int code, std::string_view what) const;

  LmdbEnvironment& environment_;
  std::uint64_t round_ = 0;  // of readers, in which this use began
  std::thread::id holder_;   // with the readers' mutex; of none that outlives a task
  MDB_txn* transaction_ = nullptr;
  Cursor lookup_;
  Cursor scan_;
  LmdbMap map_;                         // the environment's, when this use began
  std::optional<LmdbMappedTree> tree_;  // once this use has looked ahead
  RecordReadAhead lookups_;
  RecordReadAhead scans_;
};

// Threads: NewReader, the sizes and the snapshots' own methods are thread-safe; everything else
// belongs to the backend executor (for an unfinished copy: to the one that makes it). Outlives its
// readers.
class LmdbEnvironment {
 public:
  struct Options {
    std::string path;
    std::uint64_t map_size_bytes = 0;
    unsigned max_readers = 0;                  // of the shared places
    std::atomic<unsigned>* readers = nullptr;  // counts those of all environments
    CommitSync sync = CommitSync::kEachCommit;
    bool read_only = false;  // then nothing is written, nor a lock file made
  };
  // Opens a file that passed CheckLmdbFile, or fills an empty one. readers_mutex guards the
  // snapshot pools of all environments of one backend. kDataLoss if the file is not in our format,
  // kFailedPrecondition if the name is not that of the locked file.
  static Result<std::unique_ptr<LmdbEnvironment>> Open(Options options, LmdbFileLock lock,
                                                       std::mutex& readers_mutex);
  ~LmdbEnvironment();
  LmdbEnvironment(const LmdbEnvironment&) = delete;
  LmdbEnvironment& operator=(const LmdbEnvironment&) = delete;

  // Marks an empty database as ours.
  Result<void> WriteFormat();
  // kDataLoss if the database is not ours.
  Result<void> CheckFormat();

  // The caller holds the readers' mutex through `lock`.
  Result<LmdbSnapshot*> TakeSnapshot(std::unique_lock<std::mutex>& lock, ReaderPlace place);
  // True if there is no reader; the caller holds the readers' mutex.
  bool idle() const { return live_ == 0; }

  // Doubles the map (address space) at a moment without readers, since LMDB takes the old map away.
  // Live readers are asked to end (MustEnd). Until they have ended, new readers are admitted: an
  // old one may be waiting for a new one. After that the new readers are asked to end too, and
  // further ones wait. If a reader is left after a short time, all of this is repeated with more
  // time.
  Result<void> GrowMap();
  // Makes all commits up to now durable and each later one by itself; does nothing if each was.
  Result<void> SyncEachCommitFromNow();
  // True if a sync lost a write to the file since the last call. LMDB reports a full disk and a
  // failed sync by the same codes; the kernel reports a failed sync to each open descriptor once.
  bool SyncHasFailed() const;
  // True once LMDB refuses everything until the file is opened again: a meta page could not be
  // written, and whether the file has the old one or the new one is not known. On the writer.
  bool HasEnded() const;
  // Another descriptor of the file, for the caller to close; -1: there is none.
  int DuplicateFile() const;
  // The file was renamed.
  void Renamed(std::string path) { options_.path = std::move(path); }

  struct Sizes {
    std::uint64_t allocated_bytes = 0;
    std::uint64_t in_use_bytes = 0;
    std::uint64_t entries = 0;
  };
  // The sizes after the last commit; learns what LookAhead needs to know of the file. About 2 µs.
  Result<Sizes> ReadSizes();

  MDB_env* env() const { return env_; }
  const std::string& path() const { return options_.path; }
  std::uint64_t map_size_bytes() const { return options_.map_size_bytes; }

 private:
  friend class LmdbSnapshot;
  LmdbEnvironment(Options options, LmdbFileLock lock, std::mutex& readers_mutex)
      : options_(std::move(options)), file_lock_(std::move(lock)), readers_mutex_(readers_mutex) {}
  int OpenEnv();
  // Finds out where the map lies, once for each map and without another try, and how much of it can
  // be read.
  void LearnMap(const LmdbSnapshot& snapshot, const MDB_envinfo& info, std::uint64_t page_bytes);
  void GiveBack(LmdbSnapshot* snapshot);
  bool IsToldToEnd(const LmdbSnapshot& snapshot) const {
    return snapshot.round_ != round_.load(std::memory_order_relaxed);
  }
  // All with the readers' mutex held. The first in debug builds, for an environment that counts its
  // readers: a server's.
  void CheckThreadHasNone() const;
  void TellReadersToEnd();
  void WaitUntilIdle(std::unique_lock<std::mutex>& lock);

  Options options_;
  LmdbFileLock file_lock_;
  MDB_env* env_ = nullptr;

  std::mutex& readers_mutex_;  // guards what follows
  std::condition_variable readers_changed_;
  std::vector<std::unique_ptr<LmdbSnapshot>> snapshots_;
  std::vector<LmdbSnapshot*> idle_;
  std::size_t live_ = 0;
  std::size_t told_to_end_ = 0;  // of the live ones
  bool is_growing_ = false;
  bool admits_none_ = false;              // for a moment of that
  std::atomic<std::uint64_t> round_ = 0;  // written under the mutex
  LmdbMap map_;                           // without an address and size if they are not known
  bool sought_map_ = false;
};

}  // namespace kvorum::mvcc
