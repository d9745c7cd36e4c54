// Checks a base: each part against its name, its header and the manifest, and the image that the
// parts make against its SHA-256. Memory: one part, packed and unpacked.
#pragma once

#include <map>
#include <string>

#include "archive/catalog/contents.h"
#include "archive/check/finding.h"
#include "archive/check/object_read.h"
#include "archive/format/names.h"
#include "archive/store/store_error.h"
#include "proto/raft_types.h"

namespace kvorum::archive {

// The term of an entry as an object tells that is not the log.
struct TermClaim {
  raft::Term term = 0;
  bool is_bound = false;  // the entry's term is that or lower
  std::string key;        // of that object
  BaseName base = {};     // index 0: it is not a base's
};
using TermClaims = std::multimap<raft::Index, TermClaim>;

// `floor`: retention may be at work on bases before this entry.
StoreResult<void> CheckBase(ObjectReader& reader, HistoryId history, const Base& base,
                            raft::Index floor, Report& report, TermClaims& claims);

}  // namespace kvorum::archive
