// Reads the log objects of a plan: the entries behind its base, in order, up to its target. Each
// object is checked by itself (archive/format/log_object.h) and against the one before it: entries
// without a gap, terms that do not fall, the predecessor's key and running CRC where the object
// names it. Objects of two leaders may overlap; entries that both have must be equal.
//
// Used by one thread at a time, which the store's calls block. Memory: one object unpacked (with a
// predecessor that overlaps it, two), and the next one as it is stored.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "archive/catalog/contents.h"
#include "archive/format/log_object.h"
#include "archive/format/records.h"
#include "archive/restore/object_reads.h"
#include "archive/restore/read_ahead.h"
#include "archive/store/object_store.h"
#include "proto/raft_types.h"

namespace kvorum::archive {

class LogReader {
 public:
  // `base_term`: of the base's last entry.
  LogReader(ObjectStore& store, const Plan& plan, raft::Term base_term, Ahead ahead);

  // The next entries; none at the end. A target that is an index or a time has been reached then;
  // one that is a revision is the caller's to find. A time's target is the last moment at or
  // before it of which the archive knows the entry.
  Read<std::vector<raft::Entry>> Next();

  // The last moment at or before this entry of which the archive knows the time; never one behind
  // the entries that were given. Forgets earlier ones.
  TimeMark MarkAt(raft::Index index);
  // The object that the last entries came from; empty before the first.
  const std::string& object() const { return object_; }

 private:
  bool NamesPredecessor(const LogHeader& header) const;
  Read<void> CheckFollows(const LogContent& content) const;
  // The last entry of this object that the target takes.
  raft::Index EndWithin(const LogHeader& header) const;
  bool IsOverlapped(std::size_t object) const;

  const Plan plan_;
  std::size_t asked_ = 0;  // the reading thread's
  std::size_t taken_ = 0;
  bool is_at_target_ = false;
  raft::Index last_ = 0;  // entry given
  raft::Term last_term_ = 0;
  std::string object_;
  std::optional<LogHeader> header_;      // of that object
  std::vector<raft::Entry> overlapped_;  // its entries, if the next object has some of them, too
  std::vector<TimeMark> marks_;          // of that object, and the last one before it
  ReadAhead objects_;                    // the last: its thread uses what is above
};

}  // namespace kvorum::archive
