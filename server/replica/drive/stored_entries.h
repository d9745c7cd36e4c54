// Reads entries for followers from the log's segments, when they have left the memory
// (raft::Fetch).
//
// Fetch may be called by any thread; the work and the answers are on the executor, which must run
// nothing after this is destroyed. Bound: one Fetch of each follower at a time (raft::Progress), of
// one App message's size.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/task.h"
#include "proto/raft_types.h"
#include "raft/ready.h"
#include "wal/entry_cursor.h"

namespace kvorum::server {

class StoredEntries {
 public:
  // Replica::Fetched: without entries if they cannot be read.
  using Answer =
      std::function<void(raft::MemberId peer, raft::Index from, std::vector<raft::Entry> entries)>;
  StoredEntries(FileSystem& fs, std::string wal_dir, Executor& executor, Answer answer)
      : fs_(fs), wal_dir_(std::move(wal_dir)), executor_(executor), answer_(std::move(answer)) {}

  void Fetch(raft::Fetch fetch);

 private:
  void Read(const raft::Fetch& fetch);

  FileSystem& fs_;
  const std::string wal_dir_;
  Executor& executor_;
  const Answer answer_;
  std::map<raft::MemberId, wal::EntryCursor> cursors_;  // of the executor
};

}  // namespace kvorum::server
