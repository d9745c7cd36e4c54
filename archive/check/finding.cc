#include "archive/check/finding.h"

#include <algorithm>
#include <limits>

namespace kvorum::archive {

std::string_view FindingKindName(FindingKind kind) {
  switch (kind) {
    case FindingKind::kDamaged:
      return "damaged";
    case FindingKind::kMissing:
      return "missing";
    case FindingKind::kMismatch:
      return "mismatch";
    case FindingKind::kGap:
      return "gap";
    case FindingKind::kUnfinished:
      return "unfinished";
    case FindingKind::kStranger:
      return "stranger";
  }
  return "";
}

bool IsNote(FindingKind kind) {
  return kind == FindingKind::kUnfinished || kind == FindingKind::kStranger;
}

void Report::Add(FindingKind kind, std::string key, std::string text) {
  if (!IsNote(kind)) ++damage_count_;
  if (findings_.size() >= kMaxFindings) return;
  findings_.push_back({.kind = kind, .key = std::move(key), .text = std::move(text)});
}

void Report::AddAbsence(FindingKind kind, std::string key, std::string text, Still still) {
  // So many at once are not the work of a server.
  if (absences_.size() >= kMaxFindings) return Add(kind, std::move(key), std::move(text));
  absences_.push_back({.finding = {.kind = kind, .key = std::move(key), .text = std::move(text)},
                       .still = std::move(still)});
}

void Report::Explain(const Survey& survey) {
  std::erase_if(absences_, [&](const Absence& absence) { return !absence.still(survey); });
}

void Report::Confirm() {
  for (Absence& absence : absences_)
    Add(absence.finding.kind, std::move(absence.finding.key), std::move(absence.finding.text));
  absences_.clear();
}

Contents Report::Sound(Contents contents) const {
  for (auto& [id, history] : contents.histories) {
    std::erase_if(history.logs,
                  [&](const LogName& log) { return logs_.contains(std::pair(id, log)); });
    for (Base& base : history.bases) {
      const std::pair name(id, base.name);
      base.has_manifest = (base.has_manifest || made_up_.contains(name)) && !bases_.contains(name);
    }
  }
  return contents;
}

std::optional<raft::Index> OldestBase(const History& history) {
  const auto oldest = std::ranges::find_if(history.bases, &Base::has_manifest);
  if (oldest == history.bases.end()) return std::nullopt;
  return oldest->name.index;
}

raft::Index FloorOf(const History& history) {
  return OldestBase(history).value_or(raft::Index{std::numeric_limits<std::uint64_t>::max()});
}

bool IsLeft(const Survey& survey, HistoryId id) {
  return std::ranges::any_of(survey.contents.histories, [&](const auto& one) {
    const auto& record = one.second.record;
    return record && record->parent && record->parent->history == id && one.first != id;
  });
}

const History* FindHistory(const Survey& survey, HistoryId id) {
  const auto found = survey.contents.histories.find(id);
  return found == survey.contents.histories.end() ? nullptr : &found->second;
}

}  // namespace kvorum::archive
