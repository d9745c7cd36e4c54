// A member as its archive sees it: its log's segments, its database, its times.
//
// Threading: thread-safe; meant for the archive's threads, which may wait for the disk. Nothing
// here makes the raft or apply executor do more than MemberNotes says. Ownership: its parts outlive
// it; the member runs for as long as it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "archive/ship/archived_member.h"
#include "archive/store/stop_signal.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "server/archive/kept_log.h"
#include "server/archive/place_marks.h"
#include "wal/entry_cursor.h"
#include "wal/log_terms.h"

namespace kvorum::server {

class LocalMember;
struct LocalMemberOptions;

// The notes that a member takes for its archive, as it applies entries and lets its log go.
// Outlives the member.
struct MemberNotes {
  MemberNotes(const Clock& clock, std::uint64_t max_log_bytes)
      : marks(clock), kept(max_log_bytes) {}
  void AddTo(LocalMemberOptions& options);

  PlaceMarks marks;
  KeptLog kept;
};

class MemberArchive final : public archive::ArchivedMember {
 public:
  struct Parts {
    FileSystem& fs;
    LocalMember& member;
    MemberNotes& notes;
    const Clock& clock;
    archive::StopSignal& stop;  // ends the wait for the database
    std::string wal_dir;
  };

  // The member is open and not started.
  static Result<std::unique_ptr<MemberArchive>> Open(const Parts& parts,
                                                     std::optional<archive::Departure> departure);

  const Identity& identity() const override { return identity_; }
  bool IsLeader() const override;
  std::vector<archive::TimeMark> MarksBehind(raft::Index index, std::size_t limit) override;
  archive::TimeMark NewestMark() override;
  Result<std::vector<raft::Entry>> Read(raft::Index from, raft::Index to,
                                        std::size_t max_size_bytes) override;
  Result<raft::Index> FirstIndex() override;
  Result<std::unique_ptr<archive::ImageSource>> OpenImage() override;
  void KeepBehind(raft::Index index) override;

 private:
  MemberArchive(const Parts& parts, Identity identity);

  Result<void> UpdateTerms(raft::Index up_to);
  std::vector<raft::Entry> ReadAgain(raft::Index from, raft::Index to) const;
  Result<void> MakeDurable();

  const Parts parts_;
  const Identity identity_;
  // Held while the log is read: by one thread of the archive's, as a rule.
  std::mutex reading_;
  wal::LogTerms terms_;
  std::optional<wal::EntryCursor> cursor_;
  raft::Index settled_ = 0;  // the terms of entries up to here are final
  // By the last call. An archive that cuts an object within them asks for the rest again, which
  // would cost a search.
  std::vector<raft::Entry> last_read_;
};

}  // namespace kvorum::server
