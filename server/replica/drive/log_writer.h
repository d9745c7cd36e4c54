// Writes Raft's output to the log: everything queued when the disk is free goes out as one write
// and one sync (group commit), then Raft is notified. If it takes more than one write, for their
// size or their order, each is synced before the next: damage in an earlier one can then always be
// distinguished from a torn write (wal/format.h, PROMISE). So neither the writer's memory nor a
// segment grows with what has been queued.
//
// Push and SaveSnapshot belong to the raft executor; the work runs on the wal executor. A failed
// write or sync ends the replica through on_fatal, since acknowledged entries must not depend on
// it. Only a full disk is waited out: the write is retried once a second, however much is pushed
// meanwhile, while clients' writes are refused (SpaceLow).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/inbox.h"
#include "base/metric.h"
#include "base/task.h"
#include "proto/raft_types.h"
#include "server/state/write_stages.h"
#include "wal/wal.h"

namespace kvorum::server {

class LogWriter {
 public:
  struct Options {
    std::string snap_dir;
    std::size_t max_wals = 5;
    std::size_t max_snapshots = 5;
    bool unsafe_no_fsync = false;
    // The bound of one write, but at least one entry.
    std::size_t part_bytes = std::size_t{8} << 20;
    WriteStages* stages = nullptr;  // that are marked; null: none
    // A snapshot of this index is durable: segments up to it stay at the start for other readers
    // alone.
    raft::Index snapshot_index = 0;
  };
  struct Hooks {
    // Called on the wal executor.
    std::function<void(std::uint64_t ready_number)> on_persisted;
    // A received snapshot is durable in the log: it may be installed. After on_persisted.
    std::function<void(std::shared_ptr<const raft::Snapshot> snapshot)> on_snapshot_durable;
    // Called once for each SaveSnapshot; 0 if it could not be saved now, for lack of space.
    std::function<void(raft::Index index)> on_snapshot_ended;
    std::function<void(const Error& error)> on_fatal;
  };
  struct Write {
    std::uint64_t ready_number = 0;
    std::shared_ptr<const raft::Snapshot> snapshot;  // received; before the entries
    std::vector<raft::Entry> entries;
    std::optional<raft::HardState> hard_state;
    bool must_sync = false;
  };

  // For the metrics.
  struct Times {
    Histogram sync{DoublingBounds(0.001, 14)};  // those of a new segment included
    Histogram write{DoublingBounds(0.001, 14)};
    Histogram snapshot{DoublingBounds(0.001, 14)};  // a marker and its file
  };

  LogWriter(FileSystem& fs, std::unique_ptr<wal::Writer> writer, Executor& wal, Options options,
            Hooks hooks);

  void Push(Write write);
  // The backend is durable up to this entry: marks that in the log, and allows old segments and
  // snapshot files to be removed.
  void SaveSnapshot(raft::SnapshotMetadata metadata) {
    const raft::Index index = metadata.index;
    SaveSnapshot(std::move(metadata), index);
  }
  // The same, but entries behind `release` are still to be read from the segments, which stay until
  // the disk is short of space.
  void SaveSnapshot(raft::SnapshotMetadata metadata, raft::Index release);
  // Seals the log and calls `done`; nothing is written afterwards.
  void Close(Task done);
  // Thread-safe.
  bool SpaceLow() const { return writer_->SpaceLow(); }
  const Times& times() const { return times_; }
  std::uint64_t written_bytes() const { return writer_->written_bytes(); }
  // Checks the space every second until there is enough. Any thread.
  void WatchSpace();

 private:
  // One write to the log: entries of the writes from `begin` on, and the last hard state.
  struct Part {
    std::size_t begin = 0;
    std::vector<raft::Entry> entries = {};
    std::size_t bytes = 0;
    std::optional<raft::HardState> state = {};
  };

  void Drain();
  void RetrySpaceLater();
  void DropKept();
  void TakeQueue();
  // Returns false if it could not be written (now); nothing is tried while a full disk is waited
  // out.
  bool WriteUnwritten();
  void WaitForSpace(const Error& error);
  // Returns false if the disk is full and the writes were put back.
  bool WriteAll(std::vector<Write>& writes);
  void Mark(WriteStage stage, raft::Index up_to);
  Result<void> AppendAll(std::vector<Write>& writes);
  Result<void> AppendPart(Part& part, std::vector<Write>& writes, std::size_t end,
                          std::size_t entries);
  Result<void> Sync();
  void OnSync(Duration took);
  Result<void> SaveReceived(Write& write);
  void Fatal(const Error& error);

  FileSystem& fs_;
  std::unique_ptr<wal::Writer> writer_;
  Executor& wal_;
  const Options options_;
  const Hooks hooks_;

  Inbox<std::vector<Write>> inbox_;
  std::atomic<bool> watching_space_ = false;
  Times times_;

  // State of the wal executor.
  std::vector<Write> unwritten_;  // not yet in the log: a hard state that may wait, or everything
                                  // when the disk is full
  std::vector<std::shared_ptr<const raft::Snapshot>> received_;  // in the log, and not reported yet
  raft::Index received_index_ = 0;                               // of the last one
  raft::Index kept_up_to_ = 0;  // segments up to here are there for other readers alone; 0: none
  bool waiting_for_space_ = false;  // a timer will try again
  bool closed_ = false;
};

}  // namespace kvorum::server
