// Checks what stands beside a history's log and bases: its record, its parent, its mark, its gaps.
//
// Used by one thread. Memory: one record.
#pragma once

#include "archive/catalog/survey.h"
#include "archive/check/base_check.h"
#include "archive/check/finding.h"
#include "archive/check/object_read.h"
#include "archive/format/names.h"

namespace kvorum::archive {

// The record and the parent that it names; the history is one of the survey's.
void CheckRecord(const Survey& survey, HistoryId id, Report& report);

// That what the mark tells of is there. Claims the term of its entry.
void CheckMark(const Survey& survey, HistoryId id, Report& report, TermClaims& claims);

// Each gap that a record tells of is a finding, unless retention's floor has passed it.
StoreResult<void> CheckGaps(ObjectReader& reader, HistoryId id, const History& history,
                            Report& report);

// That there is something to restore from.
void CheckHasBase(HistoryId id, const History& history, Report& report);

}  // namespace kvorum::archive
