// Checks the log objects of one history: each by itself (archive/format/log_object.h), and against
// the others: the predecessor that its header names, the running CRC, terms, entries that two
// objects have, and the terms that bases and the mark tell of. The times within an object are
// guarded by the CRC of its header alone.
//
// Used by one thread. Memory: one object, packed and unpacked; 16 bytes for each entry of an object
// that overlaps the next one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "archive/catalog/contents.h"
#include "archive/check/base_check.h"
#include "archive/check/finding.h"
#include "archive/check/object_read.h"
#include "archive/format/log_object.h"
#include "archive/format/names.h"

namespace kvorum::archive {

class LogCheck {
 public:
  // All references outlive it. The history's names are sorted.
  LogCheck(HistoryId id, const History& history, const TermClaims& claims, Report& report);

  StoreResult<void> Run(ObjectReader& reader);

 private:
  // Entries between two objects, or between the floor and the first.
  struct Hole {
    raft::Index from = 0;
    raft::Index to = 0;
    std::string next;  // the key of the object behind it
    bool is_named = false;
  };
  struct End {
    raft::Index last = 0;
    raft::Term term = 0;
    std::uint32_t crc = 0;
    std::int64_t revision = 0;
    UnixMillis time_ms = 0;
  };
  // The entries of an object that the next one may have, too.
  struct Overlapped {
    LogName name;
    std::vector<std::pair<raft::Term, std::uint32_t>> entries;  // the CRC of each
  };

  std::string KeyOf(const LogName& name) const { return KeyText({.history = id_, .name = name}); }
  void FindHoles();
  bool IsDeclared(raft::Index from, raft::Index to) const;
  Hole* HoleBefore(raft::Index first);
  void Check(const LogName& name, std::string_view bytes);
  void AddMismatch(const LogName& name, std::string text);
  void CheckPrevious(const LogName& name, const LogHeader& header);
  void CheckFollows(const LogName& name, const LogHeader& header, const End& previous);
  void AddMissing(const LogName& previous, const LogName& name);
  void CheckOverlaps(const LogContent& content);
  void KeepOverlapped(const LogContent& content);
  void CheckClaims(const LogContent& content);
  void ForgetBefore(raft::Index first);
  void ReportHoles();

  const HistoryId id_;
  const History& history_;
  const TermClaims& claims_;
  Report& report_;
  std::vector<Hole> holes_;          // as many as the names show
  std::map<std::string, End> ends_;  // by key: of objects that a later one may follow
  std::deque<Overlapped> overlapped_;
  std::set<LogName> missing_;  // already reported
  std::size_t position_ = 0;   // of the object at work
};

}  // namespace kvorum::archive
