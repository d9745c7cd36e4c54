#include "archive/check/history_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "archive/catalog/ranges.h"
#include "archive/format/records.h"

namespace kvorum::archive {
namespace {

// The reason of a history whose parent was left in need: some entries before that
// place may not have been archived yet.
constexpr std::string_view kForced = "force-new-cluster";

std::string KeyIn(HistoryId id, const ObjectName& name) {
  return KeyText({.history = id, .name = name});
}

// One of the history's objects that is not its record; empty without one.
std::string AnObjectOf(HistoryId id, const History& history, bool mark_too) {
  if (!history.logs.empty()) return KeyIn(id, history.logs.front());
  if (!history.bases.empty()) {
    const Base& base = history.bases.front();
    if (base.has_manifest) return KeyIn(id, ManifestName{base.name});
    return KeyIn(id, PartName{.base = base.name, .number = base.parts_end - 1});
  }
  if (!history.gaps.empty()) return KeyIn(id, history.gaps.front());
  return history.has_mark && mark_too ? KeyIn(id, MarkName{}) : "";
}

// The last entry of objects and gaps.
raft::Index EndOf(const History& history) {
  raft::Index end = history.last();
  for (const GapName& gap : history.gaps) end = std::max(end, gap.to);
  return end;
}

// The last entry that the history tells of, in any way; 0 if in none.
raft::Index ReachOf(const Survey& survey, HistoryId id, const History& history) {
  raft::Index reach = EndOf(history);
  const auto details = survey.details.find(id);
  if (details != survey.details.end() && details->second.mark)
    reach = std::max(reach, details->second.mark->index);
  return reach;
}

bool IsItsOwnAncestor(const Survey& survey, HistoryId id) {
  std::set<HistoryId> seen;
  for (HistoryId at = id; seen.insert(at).second;) {
    const History* history = FindHistory(survey, at);
    if (history == nullptr || !history->record || !history->record->parent) return false;
    at = history->record->parent->history;
    if (at == id) return true;
  }
  return false;
}

void CheckParent(const Survey& survey, HistoryId id, const Origin& origin,
                 const std::string& reason, Report& report) {
  const std::string key = KeyIn(id, HistoryFileName{});
  if (IsItsOwnAncestor(survey, id)) {
    report.Add(FindingKind::kMismatch, key, "the history comes from itself, by its parents");
    return;
  }
  const History* parent = FindHistory(survey, origin.history);
  if (parent == nullptr) {
    report.Add(FindingKind::kMissing, KeyIn(origin.history, HistoryFileName{}),
               "history " + HistoryText(id) + " came from there, and none of its objects is there");
    return;
  }
  if (parent->record && origin.index != 0 && origin.index + 1 < parent->record->first) {
    report.Add(FindingKind::kMismatch, key,
               fmt::format("it left its parent at entry {}, and that begins at {}",
                           origin.index.value(), parent->record->first.value()));
  }
  const raft::Index reach = ReachOf(survey, origin.history, *parent);
  if (origin.index <= reach || reason == kForced) return;
  report.AddAbsence(FindingKind::kMismatch, key,
                    fmt::format("it left its parent at entry {}, and that ends at {}",
                                origin.index.value(), reach.value()),
                    [origin](const Survey& later) {
                      const History* now = FindHistory(later, origin.history);
                      return now == nullptr || ReachOf(later, origin.history, *now) < origin.index;
                    });
}

}  // namespace

void CheckRecord(const Survey& survey, HistoryId id, Report& report) {
  const History& history = survey.contents.histories.at(id);
  const HistoryDetails& details = survey.details.at(id);
  const std::string key = KeyIn(id, HistoryFileName{});
  if (!history.record) {
    if (!details.record_problem.empty()) {
      report.Add(FindingKind::kDamaged, key, details.record_problem);
      return;
    }
    report.AddAbsence(FindingKind::kMissing, key,
                      "the history has no record, but objects, as " + AnObjectOf(id, history, true),
                      [id](const Survey& later) {
                        const History* now = FindHistory(later, id);
                        return now != nullptr && !now->has_file;
                      });
    return;
  }
  const HistoryRecord& record = *history.record;
  const bool begins_early = !history.logs.empty() && history.logs.front().first < record.first;
  if (begins_early) {
    report.Add(FindingKind::kMismatch, key,
               fmt::format("the history begins at entry {}, and {} before it", record.first.value(),
                           KeyIn(id, history.logs.front())));
  }
  if (record.parent) CheckParent(survey, id, *record.parent, record.reason, report);
}

// A history begins with its first base, which has what was before its first entry; until that is
// made, the mark is ahead of all objects.
bool AwaitsFirstBase(const History& history, const Mark& mark) {
  constexpr UnixMillis kFirstBaseMs = 10 * 60'000;
  return history.record && !OldestBase(history) && mark.index < history.record->first &&
         mark.time_ms - history.record->began_ms < kFirstBaseMs;
}

void CheckMark(const Survey& survey, HistoryId id, Report& report, TermClaims& claims) {
  const History& history = survey.contents.histories.at(id);
  const HistoryDetails& details = survey.details.at(id);
  const std::string key = KeyIn(id, MarkName{});
  if (!details.mark_problem.empty()) {
    report.Add(FindingKind::kDamaged, key, details.mark_problem);
    return;
  }
  if (!details.mark) {
    const std::string object = AnObjectOf(id, history, false);
    if (object.empty()) return;  // a history that begins
    report.AddAbsence(FindingKind::kMissing, key,
                      "the history has no mark, but objects, as " + object,
                      [id](const Survey& later) {
                        const History* now = FindHistory(later, id);
                        return now != nullptr && !now->has_mark;
                      });
    return;
  }
  const Mark& mark = *details.mark;
  const auto parsed = ParseKey(mark.last_object);
  const LogName* last = parsed ? std::get_if<LogName>(&parsed->name) : nullptr;
  const bool is_of_history = last != nullptr && parsed->history == id && last->last <= mark.index;
  if (!mark.last_object.empty() && !is_of_history) {
    report.Add(FindingKind::kMismatch, key,
               "it names " + mark.last_object + " as the newest log object");
    return;
  }
  // At the end of a gap no term is known.
  if (mark.term != 0)
    claims.emplace(mark.index, TermClaim{.term = mark.term, .is_bound = true, .key = key});
  const bool is_pruned = IsLeft(survey, id) && !OldestBase(history);
  if (EndOf(history) < mark.index && !is_pruned && !AwaitsFirstBase(history, mark)) {
    report.AddAbsence(
        FindingKind::kMissing, last == nullptr ? key : mark.last_object,
        fmt::format("{} tells of everything up to entry {}, and the objects end at {}", key,
                    mark.index.value(), EndOf(history).value()),
        [id, index = mark.index](const Survey& later) {
          const History* now = FindHistory(later, id);
          return now != nullptr && EndOf(*now) < index;
        });
    return;
  }
  if (last == nullptr || std::ranges::binary_search(history.logs, *last)) return;
  report.AddAbsence(FindingKind::kMissing, mark.last_object, key + " tells of it",
                    [id, name = *last](const Survey& later) {
                      const History* now = FindHistory(later, id);
                      return now != nullptr && name.last > FloorOf(*now) &&
                             !std::ranges::binary_search(now->logs, name);
                    });
}

StoreResult<void> CheckGaps(ObjectReader& reader, HistoryId id, const History& history,
                            Report& report) {
  for (const GapName& name : history.gaps) {
    const std::string key = KeyIn(id, name);
    KV_TRY(const ObjectRead read, reader.Read(key, kMaxHeaderBytes));
    if (read.state == ObjectRead::State::kAbsent) continue;  // retention alone takes one
    if (read.state == ObjectRead::State::kUnreadable) {
      report.Add(FindingKind::kDamaged, key, read.problem);
      continue;
    }
    const auto gap = ParseGap(read.bytes);
    if (!gap.has_value()) {
      report.Add(FindingKind::kDamaged, key, gap.error().message);
      continue;
    }
    if (gap->name != name) {
      report.Add(FindingKind::kDamaged, key, "its content is that of another gap");
      continue;
    }
    const bool is_past = name.to <= FloorOf(history);
    const bool is_covered = std::ranges::any_of(history.logs, [&](const LogName& log) {
      return log.first <= name.to && log.last >= name.from;
    });
    if (is_covered) {
      report.Add(FindingKind::kMismatch, key, "log objects have entries of this gap");
    } else if (!is_past) {
      report.Add(FindingKind::kGap, key,
                 fmt::format("no object has entries {} to {}: {}", name.from.value(),
                             name.to.value(), gap->reason));
    }
  }
  return {};
}

void CheckHasBase(HistoryId id, const History& history, Report& report) {
  if (history.logs.empty() || !history.bases.empty()) return;
  report.AddAbsence(FindingKind::kMissing, BasePrefix(id),
                    "the history has no base: nothing can be restored by its log objects",
                    [id](const Survey& later) {
                      const History* now = FindHistory(later, id);
                      return now != nullptr && now->bases.empty() && !now->logs.empty();
                    });
}

}  // namespace kvorum::archive
