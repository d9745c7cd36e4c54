// Applies committed entries to a database without a member around it: no log, no consensus, no
// clients. The same code applies them that a member's replicas run (server/apply/applier.h), so
// that the state after an entry is the one that every member had. Leases do not expire meanwhile,
// and nothing is compacted but by entries.
//
// Threading: used by one thread, which waits for the executors that the work is done on. Ownership:
// the database file is open from Open until the replay is destroyed. Errors are final; a full disk
// is kResourceExhausted, an entry that cannot be applied is kDataLoss.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "base/task.h"
#include "mvcc/transfer/snapshot_stream.h"
#include "proto/raft_types.h"

namespace kvorum::mvcc {
class PublishListener;
class Store;
}  // namespace kvorum::mvcc

namespace kvorum::server {

// The executors of a test or a simulation. They outlive the replay, and run nothing once it is
// destroyed.
struct ReplayExecutors {
  Executor& apply;
  Executor& backend;
  Executor& copier;
  // Returns once the condition holds, which the executors' work brings about.
  std::function<void(const std::function<bool()>& condition)> wait;
};

struct ReplayOptions {
  // The database is the file `db` in it.
  std::string folder;
  mvcc::BackendOpener open;
  // The first entry with which the store has this revision is the last that is applied.
  std::optional<std::int64_t> to_revision = {};
  // Observes each revision as it is applied; outlives the replay. May be null.
  mvcc::PublishListener* listener = nullptr;
  // Without them the replay starts threads.
  std::optional<ReplayExecutors> executors = {};
};

class Replay {
 public:
  // kDataLoss for a database that no member can have written; kFailedPrecondition for one of
  // another storage version.
  static Result<std::unique_ptr<Replay>> Open(FileSystem& fs, ReplayOptions options);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // Applies the entries, which follow the last one. True once the store has the revision that was
  // asked for: later entries are not applied. Memory: what the store's buffer may hold.
  Result<bool> Apply(std::span<const raft::Entry> entries);
  // Waits until everything is in the database's file, in commits as its backend makes them. Nothing
  // is applied afterwards.
  Result<void> Close();

  raft::Index applied() const;
  raft::Term term() const;  // of that entry
  std::int64_t revision() const;
  // For reading, on the thread that uses the replay.
  mvcc::Store& store();

 private:
  class Work;
  explicit Replay(std::unique_ptr<Work> work);

  std::unique_ptr<Work> work_;
};

}  // namespace kvorum::server
