#include "archive/check/log_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "archive/format/frame.h"
#include "base/crc32c.h"

namespace kvorum::archive {
namespace {

std::uint32_t SumOf(const raft::Entry& entry) {
  const char type = static_cast<char>(entry.type);
  return Crc32c(Crc32c(0, std::string_view(&type, 1)), entry.data.view());
}

std::string Entries(raft::Index from, raft::Index to) {
  if (from == to) return fmt::format("entry {}", from.value());
  return fmt::format("entries {} to {}", from.value(), to.value());
}

// True if log objects have all of these entries.
bool Covers(const History& history, raft::Index from, raft::Index to) {
  raft::Index next = from;
  for (const LogName& log : history.logs) {
    if (log.first > next) break;
    next = std::max(next, log.last + 1);
  }
  return next > to;
}

// The error's text without the key that it begins with.
std::string WithoutKey(std::string text, const std::string& key) {
  if (text.starts_with(key + ": ")) text.erase(0, key.size() + 2);
  return text;
}

}  // namespace

LogCheck::LogCheck(HistoryId id, const History& history, const TermClaims& claims, Report& report)
    : id_(id), history_(history), claims_(claims), report_(report) {
  FindHoles();
}

void LogCheck::FindHoles() {
  raft::Index covered = OldestBase(history_).value_or(raft::Index{0});
  for (const LogName& log : history_.logs) {
    if (covered != 0 && log.first > covered + 1 && !IsDeclared(covered + 1, log.first - 1)) {
      holes_.push_back(
          {.from = covered + 1, .to = log.first - 1, .next = KeyOf(log), .is_named = false});
    }
    covered = std::max(covered, log.last);
  }
}

bool LogCheck::IsDeclared(raft::Index from, raft::Index to) const {
  return std::ranges::any_of(history_.gaps,
                             [&](const GapName& gap) { return gap.from <= from && gap.to >= to; });
}

LogCheck::Hole* LogCheck::HoleBefore(raft::Index first) {
  const auto hole = std::ranges::find(holes_, first - 1, &Hole::to);
  return hole == holes_.end() ? nullptr : &*hole;
}

StoreResult<void> LogCheck::Run(ObjectReader& reader) {
  for (position_ = 0; position_ < history_.logs.size(); ++position_) {
    const LogName& name = history_.logs[position_];
    const std::string key = KeyOf(name);
    ForgetBefore(name.first);
    KV_TRY(const ObjectRead read, reader.Read(key, kMaxFrameBytes));
    switch (read.state) {
      case ObjectRead::State::kRead:
        Check(name, read.bytes);
        break;
      case ObjectRead::State::kUnreadable:
        report_.Add(FindingKind::kDamaged, key, read.problem);
        report_.Exclude(id_, name);
        break;
      case ObjectRead::State::kAbsent:
        missing_.insert(name);
        report_.Exclude(id_, name);
        report_.AddAbsence(FindingKind::kMissing, key, "it was listed and is gone",
                           [id = id_, name](const Survey& survey) {
                             const History* now = FindHistory(survey, id);
                             return now != nullptr && name.last > FloorOf(*now);
                           });
        break;
    }
  }
  ReportHoles();
  return {};
}

void LogCheck::Check(const LogName& name, std::string_view bytes) {
  const std::string key = KeyOf(name);
  const auto content = ReadLogObject({.history = id_, .name = name}, bytes);
  if (!content.has_value()) {
    report_.Add(FindingKind::kDamaged, key, WithoutKey(content.error().message, key));
    report_.Exclude(id_, name);
    return;
  }
  const LogHeader& header = content->header;
  const TimeMark last = {.index = name.last, .time_ms = name.time_ms, .revision = name.revision};
  if (header.times.empty() || header.times.back() != last)
    AddMismatch(name, "its last time is not that of its name");
  CheckPrevious(name, header);
  CheckOverlaps(*content);
  CheckClaims(*content);
  KeepOverlapped(*content);
  ends_.emplace(key, End{.last = name.last,
                         .term = header.last_term,
                         .crc = header.end_crc,
                         .revision = name.revision,
                         .time_ms = name.time_ms});
}

void LogCheck::AddMismatch(const LogName& name, std::string text) {
  report_.Add(FindingKind::kMismatch, KeyOf(name), std::move(text));
  report_.Exclude(id_, name);
}

void LogCheck::CheckPrevious(const LogName& name, const LogHeader& header) {
  if (header.previous.empty()) {
    const bool follows = std::ranges::any_of(
        ends_, [&](const auto& end) { return end.second.last + 1 == name.first; });
    if (follows) AddMismatch(name, "it does not say which object it follows");
    return;
  }
  const auto parsed = ParseKey(header.previous);
  const LogName* previous = parsed ? std::get_if<LogName>(&parsed->name) : nullptr;
  if (previous == nullptr || parsed->history != id_) {
    AddMismatch(
        name,
        fmt::format("it names {} as its predecessor, and that is not a log object of its history",
                    header.previous));
    return;
  }
  const bool is_behind = previous->last < name.first;
  const bool is_next =
      previous->last + 1 == name.first || IsDeclared(previous->last + 1, name.first - 1);
  if (!is_behind || !is_next) {
    AddMismatch(name, fmt::format("it follows {}, which does not end before it", header.previous));
    return;
  }
  const auto end = ends_.find(header.previous);
  if (end != ends_.end()) return CheckFollows(name, header, end->second);
  if (!std::ranges::binary_search(history_.logs, *previous)) AddMissing(*previous, name);
}

void LogCheck::CheckFollows(const LogName& name, const LogHeader& header, const End& previous) {
  if (header.previous_crc != previous.crc) {
    AddMismatch(name, fmt::format("its running CRC is not that of {}", header.previous));
  } else if (header.first_term < previous.term) {
    AddMismatch(name, fmt::format("its term is lower than that of {}", header.previous));
  } else if (name.revision < previous.revision || name.time_ms < previous.time_ms) {
    AddMismatch(name,
                fmt::format("its revision or time is lower than that of {}", header.previous));
  }
}

// Retention may have taken it, before the check or meanwhile.
void LogCheck::AddMissing(const LogName& previous, const LogName& name) {
  if (previous.last <= FloorOf(history_) || !missing_.insert(previous).second) return;
  std::string text = KeyOf(name) + " follows it";
  if (Hole* hole = HoleBefore(name.first)) {
    hole->is_named = true;
    text += "; no object has " + Entries(hole->from, hole->to);
  }
  report_.AddAbsence(FindingKind::kMissing, KeyOf(previous), std::move(text),
                     [id = id_, previous](const Survey& survey) {
                       const History* now = FindHistory(survey, id);
                       return now != nullptr && previous.last > FloorOf(*now) &&
                              !std::ranges::binary_search(now->logs, previous);
                     });
}

void LogCheck::CheckOverlaps(const LogContent& content) {
  const LogName& name = content.header.name;
  for (const Overlapped& other : overlapped_) {
    for (const raft::Entry& entry : content.entries) {
      if (entry.index < other.name.first || entry.index > other.name.last) continue;
      const std::size_t place = entry.index - other.name.first;
      if (other.entries[place] == std::pair(entry.term, SumOf(entry))) continue;
      AddMismatch(name, fmt::format("its entry {} is another than in {}", entry.index.value(),
                                    KeyOf(other.name)));
      report_.Exclude(id_, other.name);  // either may be the wrong one
      break;
    }
  }
}

void LogCheck::KeepOverlapped(const LogContent& content) {
  const LogName& name = content.header.name;
  const bool overlaps =
      position_ + 1 < history_.logs.size() && history_.logs[position_ + 1].first <= name.last;
  if (!overlaps) return;
  Overlapped kept = {.name = name, .entries = {}};
  kept.entries.reserve(content.entries.size());
  for (const raft::Entry& entry : content.entries)
    kept.entries.emplace_back(entry.term, SumOf(entry));
  overlapped_.push_back(std::move(kept));
}

void LogCheck::CheckClaims(const LogContent& content) {
  const LogName& name = content.header.name;
  for (auto claim = claims_.lower_bound(name.first);
       claim != claims_.end() && claim->first <= name.last; ++claim) {
    const raft::Entry& entry = content.entries[claim->first - name.first];
    const raft::Term told = claim->second.term;
    if (entry.term == told || (claim->second.is_bound && entry.term < told)) continue;
    report_.Add(FindingKind::kMismatch, claim->second.key,
                fmt::format("it tells of term {} at entry {}, which has term {} in {}",
                            told.value(), entry.index.value(), entry.term.value(), KeyOf(name)));
    if (claim->second.base.index != 0) report_.Exclude(id_, claim->second.base);
  }
}

// Objects come by their first entries: later ones follow none that ended long before.
void LogCheck::ForgetBefore(raft::Index first) {
  raft::Index newest = 0;
  for (const auto& [key, end] : ends_) newest = std::max(newest, end.last);
  std::erase_if(ends_, [&](const auto& end) {
    return end.second.last + 1 < first && end.second.last != newest;
  });
  std::erase_if(overlapped_, [&](const Overlapped& other) { return other.name.last < first; });
}

void LogCheck::ReportHoles() {
  for (const Hole& hole : holes_) {
    if (hole.is_named) continue;
    report_.AddAbsence(FindingKind::kGap, hole.next,
                       fmt::format("no object has {} before it", Entries(hole.from, hole.to)),
                       [id = id_, from = hole.from, to = hole.to](const Survey& survey) {
                         const History* now = FindHistory(survey, id);
                         if (now == nullptr || to <= FloorOf(*now) || Covers(*now, from, to))
                           return false;
                         return std::ranges::none_of(now->gaps, [&](const GapName& gap) {
                           return gap.from <= from && gap.to >= to;
                         });
                       });
  }
}

}  // namespace kvorum::archive
