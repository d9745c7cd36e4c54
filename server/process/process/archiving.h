// The archive of a process: its member's notes, the archiver over them, and their state for the
// metrics.
//
// Threading: made, opened, started and stopped by the main thread. Ownership: outlives the member;
// Stop comes before the member's.
#pragma once

#include <memory>

#include "archive/ship/archive_status.h"
#include "archive/ship/archiver.h"
#include "archive/store/stop_signal.h"
#include "base/error.h"
#include "base/file_system.h"
#include "datadir/data_directory.h"
#include "server/archive/member_archive.h"

namespace kvorum::server {

class LocalMember;
struct LocalMemberOptions;
struct Options;

class Archiving {
 public:
  // Null unless the options ask for an archive.
  static std::unique_ptr<Archiving> Make(const Options& options);
  ~Archiving();

  // Before the member is opened.
  void AddTo(LocalMemberOptions& member) { notes_.AddTo(member); }
  // The member is open and not started.
  Result<void> Open(FileSystem& fs, LocalMember& member, const datadir::DataDirectory& directory);
  void Start();
  // At most about a second.
  void Stop();

  const archive::ArchiveStatus& status() const { return status_; }
  // The age of the oldest entry that this leader has applied and not archived; 0 on others. Any
  // thread.
  std::int64_t LagMillis();

 private:
  explicit Archiving(const Options& options);

  const Options& options_;
  archive::StopSignal stop_;
  archive::ArchiveStatus status_;
  MemberNotes notes_;
  std::unique_ptr<MemberArchive> member_;
  std::unique_ptr<archive::Archiver> archiver_;
};

// The note that --force-new-cluster leaves for an archive (LocalMemberOptions::on_departure).
void NoteDepartures(FileSystem& fs, const datadir::DataDirectory& directory,
                    LocalMemberOptions& member);

}  // namespace kvorum::server
