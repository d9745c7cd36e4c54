// The state that an archive's commands restore or look at: its base as a file, the log behind it,
// the progress of both, and the way around damaged objects.
//
// Used by the command's main thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "archive/catalog/contents.h"
#include "archive/restore/object_reads.h"
#include "archive/restore/plans.h"
#include "archive/store/object_store.h"
#include "bbolt/reader.h"
#include "proto/raft_types.h"
#include "server/replay/replay.h"
#include "server/replay/replay_log.h"
#include "tools/shell/command.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/step_progress.h"
#include "tools/utl/utl_database.h"

namespace kvorum::utl {

// Thread-safe: set by the thread that works, and shown by a bar's.
class ArchiveProgress {
 public:
  datadir::OnProgress Bytes() { return bytes_.Callback(); }
  // The log is replayed up to here, of entries that end there.
  void Replayed(const server::Replayed& state, raft::Index from, raft::Index to);
  ctl::ProgressBar::State State() const;

 private:
  ctl::StepProgress bytes_;
  mutable std::mutex mutex_;
  std::optional<ctl::ProgressBar::State> replay_;
};

struct BaseImage {
  UnnamedFile file;
  std::unique_ptr<bbolt::Reader> reader;  // of that file
  raft::Term term = 0;                    // of the last entry in it
};
// Reads a base into a file without a name in that folder.
archive::Read<BaseImage> FetchBase(archive::ObjectStore& store, const archive::BaseToRead& base,
                                   const std::string& folder, ArchiveProgress& progress);

// An error that the base is to blame for, if it is one of damage.
archive::ObjectError BlameBase(Error error, archive::HistoryId history,
                               const archive::BaseName& base);

// A folder for a state that is looked at, below that for temporary files; removed with the object.
class ScratchFolder {
 public:
  static ctl::Outcome<std::unique_ptr<ScratchFolder>> Create();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

// The state that the plan leads to, in the folder; the listener observes each revision on the
// way, and may be null. The replay's store is good for reading.
archive::Read<std::unique_ptr<server::Replay>> ReplayInto(
    const std::string& folder, archive::ObjectStore& store, const archive::Plans& plans,
    const archive::Plan& plan, mvcc::PublishListener* listener, ArchiveProgress& progress);

// The archive's listing, with a line for each history whose record cannot be read.
ctl::Outcome<archive::Contents> ListArchive(ctl::World& world, archive::ObjectStore& store);

// Warns where the archive's mark tells of more than the plan leads to: entries that no object has,
// or a time of which nothing is known. Without a mark nothing is said.
void WarnOfWhatIsMissing(ctl::World& world, archive::ObjectStore& store, const archive::Plan& plan);

// Goes along one plan after the other until one leads to the target: a line names each damaged
// object, which is gone around.
ctl::Outcome<void> AlongPlans(ctl::World& world, archive::Plans& plans,
                              const std::function<archive::Read<void>(const archive::Plan&)>& go);

}  // namespace kvorum::utl
