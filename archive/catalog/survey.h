// The contents of an archive as its store tells them: one listing, then each history's record and
// mark. Threading: plain values; the store is used by the caller's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "archive/catalog/contents.h"
#include "archive/format/names.h"
#include "archive/format/records.h"
#include "archive/store/object_store.h"

namespace kvorum::archive {

// The facts about a history that names do not have.
struct HistoryDetails {
  std::optional<Mark> mark;  // nullopt: it is missing or damaged
  // Why a record or a mark that is there is not taken; empty unless that is so.
  std::string record_problem;
  std::string mark_problem;
  // Sizes as stored.
  std::uint64_t log_bytes = 0;
  std::map<BaseName, std::uint64_t> base_bytes;
};

struct Survey {
  Contents contents;  // sorted, with the records
  std::map<HistoryId, HistoryDetails> details;
  std::uint64_t objects = 0;  // strangers not counted
  std::uint64_t size_bytes = 0;
};

// Costs one listing, and two reads for each history. A damaged record is not an error.
StoreResult<Survey> TakeSurvey(ObjectStore& store);

}  // namespace kvorum::archive
