// The findings of reading an archive through: values that commands print and tests compare.
//
// Threading: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/catalog/contents.h"
#include "archive/catalog/survey.h"
#include "archive/format/names.h"

namespace kvorum::archive {

enum class FindingKind : std::uint8_t {
  kDamaged,     // the object's bytes are not what its name, its header or a checksum says
  kMissing,     // the object is not there, although another one tells of it
  kMismatch,    // the object is whole by itself, and does not fit the others
  kGap,         // entries that no object has
  kUnfinished,  // no damage: a base without its end, which is being made or was given up
  kStranger,    // no damage: no archive writes such a name
};
// "damaged", "missing" ...
std::string_view FindingKindName(FindingKind kind);
// True of what takes nothing from the archive.
bool IsNote(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::kDamaged;
  std::string key;   // of an object, or the prefix of several
  std::string text;  // without the key

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Gathers findings while objects are read. An archive may be at work meanwhile: objects come, and
// retention takes others. So an object that is not there is an absence, to be confirmed by a
// later survey.
class Report {
 public:
  // More are counted only.
  static constexpr std::size_t kMaxFindings = 10'000;
  // True if a later survey does not explain why something was not there.
  using Still = std::function<bool(const Survey&)>;

  void Add(FindingKind kind, std::string key, std::string text);
  void AddAbsence(FindingKind kind, std::string key, std::string text, Still still);
  // Nothing is to be restored through it.
  void Exclude(HistoryId history, const LogName& log) { logs_.emplace(history, log); }
  void Exclude(HistoryId history, const BaseName& base) { bases_.emplace(history, base); }
  // A restore makes up for its manifest, which is missing.
  void Include(HistoryId history, const BaseName& base) { made_up_.emplace(history, base); }

  bool has_absences() const { return !absences_.empty(); }
  // Forgets the absences that the survey explains.
  void Explain(const Survey& survey);
  // The remaining ones are findings.
  void Confirm();

  const std::vector<Finding>& findings() const { return findings_; }
  // Counts damage alone, but with the findings that were left out.
  std::uint64_t damage_count() const { return damage_count_; }
  // The contents without what is excluded.
  Contents Sound(Contents contents) const;

 private:
  struct Absence {
    Finding finding;
    Still still;
  };

  std::vector<Finding> findings_;  // at most kMaxFindings
  std::uint64_t damage_count_ = 0;
  std::vector<Absence> absences_;  // at most kMaxFindings
  std::set<std::pair<HistoryId, LogName>> logs_;
  std::set<std::pair<HistoryId, BaseName>> bases_;
  std::set<std::pair<HistoryId, BaseName>> made_up_;
};

// The oldest base with a manifest; nullopt without one.
std::optional<raft::Index> OldestBase(const History& history);
// Retention lets go of everything up to here: the oldest base, or all there is without one.
raft::Index FloorOf(const History& history);
// True if another history came from this one: by its retention everything of this may go, but for
// record and mark.
bool IsLeft(const Survey& survey, HistoryId id);
// The history in a survey; null without any of its objects.
const History* FindHistory(const Survey& survey, HistoryId id);

}  // namespace kvorum::archive
