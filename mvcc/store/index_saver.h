// Saves the key index while the store serves, so that a start after a kill reads the file and the
// few records after it (mvcc/index/index_file.h).
//
//   1. backend: a commit finds that enough was written since the last file (IndexSaving);
//   2. apply: a snapshot of the index is taken. Then the attachments to leases are copied, a few a
//      task: that of a key without a later record is the snapshot's, whenever it is read;
//   3. copier: the snapshot's keys are written, a piece per task with a pause after each;
//   4. apply: the file's mark is published;
//   5. backend: once the mark is durable, and with it all before, the file gets its name.
//
// A file is of use until the backend drops a deletion that came after it: the deleted key would
// live again (mvcc/store/restore.h). Then the next is due.
//
// Threads: see each group. Memory: what the snapshot keeps of the index, at most all of it as it
// was, and the attachments. An error is logged, and the file of before stays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "mvcc/index/index_keeper.h"
#include "mvcc/lmdb/write_batch.h"

namespace kvorum::mvcc {

class Store;

class IndexSaver {
 public:
  IndexSaver(Store& store, IndexKeeper& keeper);
  ~IndexSaver();
  IndexSaver(const IndexSaver&) = delete;
  IndexSaver& operator=(const IndexSaver&) = delete;

  // ---- before the executors run ----

  // `records` are in the backend, `later_records` of them after the file's revision. Without a file
  // in effect the revision is 0.
  void Begin(std::uint64_t records, std::int64_t file_revision, std::uint64_t later_records);
  // The meta bucket's value, to go on from.
  void SetMarks(std::string marks) { marks_ = std::move(marks); }

  // ---- backend executor ----

  void OnWritten(const WriteBatch& batch);
  // A compaction deletes the record of a deletion.
  void OnDeletionDropped(std::int64_t revision);
  // Another member's content takes the place of this one, and the file was removed.
  void OnReplaced(std::uint64_t records);

  // ---- apply executor ----

  // Gives up what is being written.
  void Cancel();
  // The same, and begins no other.
  void End();
  // Puts the mark into the open batch.
  void PutMark(const std::string& mark);

 private:
  struct Run;

  bool IsInEffect() const { return saved_revision_ > 0 && newest_dropped_ <= saved_revision_; }
  bool IsDue() const;
  void Look();
  void ShowCosts() const;

  void Start(std::uint64_t changed);
  bool HasTooManyAttachments() const;
  void CopyAttachments(const std::shared_ptr<Run>& run, std::size_t part);
  void OpenFile(const std::shared_ptr<Run>& run);
  void WritePiece(const std::shared_ptr<Run>& run);
  void Publish(const std::shared_ptr<Run>& run);
  void Finish(const std::shared_ptr<Run>& run);
  // From any of the executors: `error` is null if it was cancelled.
  void GiveUp(const std::shared_ptr<Run>& run, const Error* error);
  void LetGo(const std::shared_ptr<Run>& run);
  void Rest(Duration pause);

  Store& store_;
  IndexKeeper& keeper_;
  const IndexSaving& options_;

  // State of the backend executor.
  std::uint64_t records_ = 0;
  std::uint64_t changed_ = 0;        // records since the file; all without one
  std::int64_t saved_revision_ = 0;  // 0: no file of this content
  std::int64_t newest_dropped_ = 0;  // deletion
  TimePoint not_before_;
  bool is_running_ = false;
  bool is_timer_armed_ = false;

  // State of the apply executor.
  std::string marks_;  // as the meta bucket has them
  std::shared_ptr<Run> run_;
  bool told_of_attachments_ = false;
  bool has_ended_ = false;
};

}  // namespace kvorum::mvcc
