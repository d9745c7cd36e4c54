#include "archive/catalog/ranges.h"

namespace kvorum::archive {
namespace {

// Entries in log objects without a gap.
struct Run {
  raft::Index first = 0;
  StatePlace last;
};

std::vector<Run> RunsOf(const std::vector<LogName>& logs) {
  std::vector<Run> runs;
  for (const LogName& log : logs) {
    if (runs.empty() || log.first > runs.back().last.index + 1)
      runs.push_back({.first = log.first, .last = {}});
    if (log.last <= runs.back().last.index) continue;
    runs.back().last = {.index = log.last, .revision = log.revision, .time_ms = log.time_ms};
  }
  return runs;
}

}  // namespace

std::vector<StateRange> RestorableRanges(const History& history) {
  std::vector<StateRange> ranges;
  const std::vector<Run> runs = RunsOf(history.logs);
  auto run = runs.begin();
  for (const Base& base : history.bases) {
    if (!base.has_manifest) continue;
    const BaseName& name = base.name;
    const StatePlace begin = {
        .index = name.index, .revision = name.revision, .time_ms = name.time_ms};
    while (run != runs.end() && run->last.index <= name.index) ++run;
    const bool goes_on = run != runs.end() && run->first <= name.index + 1;
    const StatePlace end = goes_on ? run->last : begin;
    if (ranges.empty() || begin.index > ranges.back().last.index + 1) {
      ranges.push_back({.first = begin, .last = end});
    } else if (end.index > ranges.back().last.index) {
      ranges.back().last = end;
    }
  }
  return ranges;
}

}  // namespace kvorum::archive
