#include "archive/catalog/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace kvorum::archive {
namespace {

struct Sorter {
  History& history;

  void operator()(const HistoryFileName&) const { history.has_file = true; }
  void operator()(const MarkName&) const { history.has_mark = true; }
  void operator()(const LogName& name) const { history.logs.push_back(name); }
  void operator()(const GapName& name) const { history.gaps.push_back(name); }
  void operator()(const ManifestName& name) const {
    history.bases.push_back({.name = name.base, .has_manifest = true});
  }
  void operator()(const PartName& name) const {
    history.bases.push_back({.name = name.base, .parts = 1, .parts_end = name.number + 1});
  }
};

// Joins what was found of each base.
void JoinBases(std::vector<Base>& bases) {
  std::ranges::sort(bases, {}, &Base::name);
  std::vector<Base> joined;
  for (const Base& base : bases) {
    if (joined.empty() || joined.back().name != base.name) joined.push_back({.name = base.name});
    joined.back().has_manifest |= base.has_manifest;
    joined.back().parts += base.parts;
    joined.back().parts_end = std::max(joined.back().parts_end, base.parts_end);
  }
  bases = std::move(joined);
}

// True if the state of the base is the target or lies before it.
struct IsAtOrBefore {
  const BaseName& base;
  bool operator()(const ToLatest&) const { return true; }
  bool operator()(const ToIndex& to) const { return base.index <= to.index; }
  bool operator()(const ToRevision& to) const { return base.revision <= to.revision; }
  bool operator()(const ToTime& to) const { return base.time_ms <= to.time_ms; }
};

// True if what ends at this index, revision and time reaches the target.
struct IsReachedBy {
  raft::Index index;
  std::int64_t revision;
  // The last entry's: a target's time is reached once a later one is known.
  std::optional<UnixMillis> next_time_ms;

  bool operator()(const ToLatest&) const { return false; }
  bool operator()(const ToIndex& to) const { return index >= to.index; }
  bool operator()(const ToRevision& to) const { return revision >= to.revision; }
  bool operator()(const ToTime& to) const { return next_time_ms && *next_time_ms > to.time_ms; }
};

// True if the target may lie in what a history has in common with the one that left it there.
struct IsBefore {
  const Origin& origin;
  bool operator()(const ToLatest&) const { return true; }
  bool operator()(const ToIndex& to) const { return to.index <= origin.index; }
  bool operator()(const ToRevision& to) const { return to.revision <= origin.revision; }
  bool operator()(const ToTime&) const { return true; }
};

struct TargetText {
  std::string operator()(const ToLatest&) const { return "the latest state"; }
  std::string operator()(const ToIndex& to) const {
    return fmt::format("index {}", to.index.value());
  }
  std::string operator()(const ToRevision& to) const {
    return fmt::format("revision {}", to.revision);
  }
  std::string operator()(const ToTime& to) const { return fmt::format("time {} ms", to.time_ms); }
};

std::string Describe(const std::vector<Restorable>& restorables) {
  if (restorables.empty()) return "nothing can be restored";
  std::string text = "what can be restored:";
  for (const Restorable& one : restorables)
    text += fmt::format(" revisions {} to {} (index {} to {});", one.base.revision,
                        one.last_revision, one.base.index.value(), one.last.value());
  text.pop_back();
  return text;
}

// The plan within one history, up to the entry with which another one left it, if that is given;
// nullopt if it does not hold the target.
std::optional<Plan> PlanWithin(HistoryId id, const History& history, const Target& target,
                               std::optional<raft::Index> end) {
  for (auto base = history.bases.rbegin(); base != history.bases.rend(); ++base) {
    if (!base->has_manifest || !std::visit(IsAtOrBefore{base->name}, target)) continue;
    if (end && base->name.index > *end) continue;
    Plan plan = {.history = id, .base = base->name, .logs = {}, .target = target, .end = end};
    IsReachedBy reached = {
        .index = base->name.index, .revision = base->name.revision, .next_time_ms = {}};
    for (const LogName& log : history.Chain(base->name.index)) {
      if (std::visit(reached, target) || (end && reached.index >= *end)) break;
      plan.logs.push_back(log);
      reached = {.index = log.last, .revision = log.revision, .next_time_ms = log.time_ms};
    }
    // Behind everything that is known the latest state is that of any later time.
    const bool is_whole = reached.index >= end.value_or(history.last());
    const bool is_open =
        std::holds_alternative<ToLatest>(target) || std::holds_alternative<ToTime>(target);
    if (std::visit(reached, target) || (is_open && is_whole)) return plan;
  }
  return std::nullopt;
}

}  // namespace

raft::Index History::last() const {
  raft::Index last = 0;
  for (const LogName& log : logs) last = std::max(last, log.last);
  for (const Base& base : bases) {
    if (base.has_manifest) last = std::max(last, base.name.index);
  }
  return last;
}

std::vector<LogName> History::Chain(raft::Index index) const {
  std::vector<LogName> chain;
  auto candidate = logs.begin();
  while (true) {
    const LogName* best = nullptr;
    for (; candidate != logs.end() && candidate->first <= index + 1; ++candidate) {
      if (candidate->last > index && (best == nullptr || candidate->last > best->last))
        best = &*candidate;
    }
    if (best == nullptr) return chain;
    chain.push_back(*best);
    index = best->last;
  }
}

std::vector<Restorable> History::Restorables() const {
  std::vector<Restorable> all;
  for (const Base& base : bases) {
    if (!base.has_manifest) continue;
    Restorable one = {.base = base.name,
                      .last = base.name.index,
                      .last_revision = base.name.revision,
                      .last_time_ms = base.name.time_ms};
    if (const auto chain = Chain(base.name.index); !chain.empty()) {
      one.last = chain.back().last;
      one.last_revision = chain.back().revision;
      one.last_time_ms = chain.back().time_ms;
    }
    all.push_back(one);
  }
  return all;
}

void Contents::Add(std::string_view key) {
  const auto parsed = ParseKey(key);
  if (!parsed) {
    if (strangers.size() < kMaxStrangers) strangers.emplace_back(key);
    ++stranger_count;
    return;
  }
  std::visit(Sorter{histories[parsed->history]}, parsed->name);
}

void Contents::Sort() {
  for (auto& [id, history] : histories) {
    std::ranges::sort(history.logs);
    std::ranges::sort(history.gaps);
    JoinBases(history.bases);
  }
}

std::vector<HistoryId> Contents::Heads() const {
  std::set<HistoryId> left;
  for (const auto& [id, history] : histories) {
    if (history.record && history.record->parent) left.insert(history.record->parent->history);
  }
  std::vector<HistoryId> heads;
  for (const auto& [id, history] : histories) {
    if (!left.contains(id)) heads.push_back(id);
  }
  return heads;
}

Result<Plan> MakePlan(const Contents& contents, std::optional<HistoryId> history,
                      const Target& target) {
  const bool is_named = history.has_value();
  if (!is_named) {
    const std::vector<HistoryId> heads = contents.Heads();
    if (heads.empty()) return Fail(Code::kNotFound, "the archive is empty");
    if (heads.size() > 1) {
      std::string text = "the archive has several histories; name one of";
      for (const HistoryId head : heads) text += " " + HistoryText(head);
      return Fail(Code::kFailedPrecondition, std::move(text));
    }
    history = heads.front();
  }
  std::string found;
  std::set<HistoryId> seen;
  std::optional<raft::Index> end;
  while (seen.insert(*history).second) {
    const auto place = contents.histories.find(*history);
    if (place == contents.histories.end()) {
      found += "; the archive has no history " + HistoryText(*history);
      break;
    }
    if (auto plan = PlanWithin(*history, place->second, target, end)) return *std::move(plan);
    found += "; history " + HistoryText(*history) + ": " + Describe(place->second.Restorables());
    if (is_named || !place->second.record || !place->second.record->parent) break;
    // The parent's entries count up to the place where it was left.
    const Origin& origin = *place->second.record->parent;
    if (!std::visit(IsBefore{origin}, target)) break;
    history = origin.history;
    end = origin.index;
  }
  return Fail(Code::kNotFound,
              "the archive does not hold " + std::visit(TargetText{}, target) + found);
}

}  // namespace kvorum::archive
