// Looks up where an archive stands: its histories, marks, newest base and newest log object, by
// listings and small objects. Threading: that of the store (archive/store/object_store.h). Memory:
// a history's record each, and one page of a listing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "archive/format/names.h"
#include "archive/format/records.h"
#include "archive/ship/ship_error.h"
#include "archive/store/object_store.h"

namespace kvorum::archive {

// The records of all histories. A history without its record is left out; kRefused for a damaged
// record: it may be that of our own.
ShipResult<std::vector<HistoryRecord>> ReadHistories(ObjectStore& store);

// nullopt if the archive has no such record.
ShipResult<std::optional<HistoryRecord>> ReadHistory(ObjectStore& store, HistoryId id);

// nullopt if there is none, or a damaged one: it is only a hint, and is overwritten.
ShipResult<std::optional<Mark>> ReadMark(ObjectStore& store, HistoryId history);

// The newest base that has its manifest.
ShipResult<std::optional<BaseName>> FindNewestBase(ObjectStore& store, HistoryId history);

struct LogPlace {
  std::optional<LogName> log;  // the object that leads on the furthest
  std::optional<GapName> gap;  // likewise
};
// Looks at log objects whose keys are `from` or lie behind it; empty: all of them.
ShipResult<LogPlace> FindLogPlace(ObjectStore& store, HistoryId history, const std::string& from);

}  // namespace kvorum::archive
