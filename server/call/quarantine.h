// Keeps a member whose copy of the keys is wrong from serving them: its clients get "corrupt
// cluster" and turn to another member; probes and Status show a CORRUPT alarm of this member. The
// rest of the cluster goes on: no entry of the log says anything about it. The member goes on
// voting and storing the log, which is checked on its own.
//
// A file in the data directory keeps it so across restarts, until a snapshot has replaced the
// database. Thread-safe. A check costs one atomic load.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "rpc/call/call_context.h"
#include "rpc/call/service.h"

namespace kvorum::server {

class Quarantine {
 public:
  // `path` is the file's; its directory exists.
  Quarantine(FileSystem& fs, std::string path) : fs_(fs), path_(std::move(path)) {}

  // Takes up what the file says, at the start.
  Result<void> Load();
  bool stands() const { return stands_.load(std::memory_order_acquire); }
  // Ends the streams that clients have open. Stands even if the file cannot be written, until the
  // process ends.
  void Begin(const std::string& reason);
  // The database was replaced.
  void End();

  // The database is known to be damaged, whether or not this member serves: one that could not be
  // replaced keeps serving, but no other member is re-seeded from it.
  void SetDamaged(bool damaged) { damaged_.store(damaged, std::memory_order_relaxed); }
  bool is_damaged() const { return damaged_.load(std::memory_order_relaxed); }

  // True for calls that read or write keys, or depend on them, while it stands. Maintenance,
  // members and users are served.
  bool Refuses(const rpc::CallContext& call) const;
  // The stream ends when it begins.
  void Watch(const std::shared_ptr<rpc::ServerStream>& stream) const;

 private:
  Result<void> Write(const std::string& reason);

  FileSystem& fs_;
  const std::string path_;
  std::atomic<bool> stands_{false};
  std::atomic<bool> damaged_{false};
  mutable std::mutex mutex_;  // guards what follows
  mutable std::vector<std::weak_ptr<rpc::ServerStream>> streams_;
  mutable std::size_t sweep_at_ = 64;  // at this number, those that have ended are dropped
};

}  // namespace kvorum::server
