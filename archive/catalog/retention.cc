#include "archive/catalog/retention.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace kvorum::archive {
namespace {

// A base of the line, and its place there.
struct LineBase {
  std::size_t depth = 0;  // 0: of the head
  BaseName name;
};

// A history of the line with the last of its entries that the line has.
struct LineHistory {
  HistoryId id = 0;
  const History* history = nullptr;
  std::optional<raft::Index> end;  // nullopt: all of them
};

std::vector<LineHistory> HistoriesOf(const Contents& contents, const std::vector<HistoryId>& line) {
  std::vector<LineHistory> histories;
  std::optional<raft::Index> end;
  for (const HistoryId id : line) {
    const auto found = contents.histories.find(id);
    if (found == contents.histories.end()) break;
    histories.push_back({.id = id, .history = &found->second, .end = end});
    const auto& record = found->second.record;
    if (!record || !record->parent) break;
    end = record->parent->index;
  }
  return histories;
}

// The bases from which the line's states are restored, oldest first.
std::vector<LineBase> BasesOf(const std::vector<LineHistory>& histories) {
  std::vector<LineBase> bases;
  for (std::size_t depth = histories.size(); depth-- > 0;) {
    const LineHistory& one = histories[depth];
    for (const Base& base : one.history->bases) {
      if (base.has_manifest && (!one.end || base.name.index <= *one.end))
        bases.push_back({.depth = depth, .name = base.name});
    }
  }
  return bases;
}

// The place of the oldest base that is kept; there is at least one base.
std::size_t FloorOf(const std::vector<LineBase>& bases, const RetentionOptions& options,
                    UnixMillis now_ms) {
  std::size_t floor = 0;
  if (options.keep_for_ms > 0) {
    const UnixMillis oldest_ms = now_ms - options.keep_for_ms;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      if (bases[i].name.time_ms <= oldest_ms) floor = i;
    }
  }
  if (options.keep_bases > 0 && bases.size() > options.keep_bases)
    floor = std::max<std::size_t>(floor, bases.size() - options.keep_bases);
  return floor;
}

Retention::OldBase OldBaseOf(HistoryId history, const Base& base) {
  Retention::OldBase old = {
      .history = history, .name = base.name, .has_manifest = base.has_manifest};
  old.parts.reserve(base.parts_end);
  for (std::uint32_t number = 0; number < base.parts_end; ++number)
    old.parts.push_back(
        KeyText({.history = history, .name = PartName{.base = base.name, .number = number}}));
  return old;
}

// Adds what a history has before the floor: before this index there, or all of it.
class Collector {
 public:
  Collector(Retention& retention, HistoryId id, const History& history)
      : retention_(retention), id_(id), history_(history) {}

  // Bases without a manifest are taken only if they were given up by then.
  void TakeBefore(std::optional<raft::Index> floor, UnixMillis given_up_ms) {
    for (const Base& base : history_.bases) {
      if (floor && base.name.index >= *floor && (base.has_manifest || !IsBeforeNewest(base)))
        continue;
      if (base.has_manifest || base.name.time_ms <= given_up_ms)
        retention_.bases.push_back(OldBaseOf(id_, base));
    }
    const raft::Index newest = NewestLog();
    for (const LogName& log : history_.logs) {
      if (floor && (log.last > *floor || log.last == newest)) continue;
      retention_.objects.push_back(KeyText({.history = id_, .name = log}));
    }
    for (const GapName& gap : history_.gaps) {
      if (floor && gap.to > *floor) continue;
      retention_.objects.push_back(KeyText({.history = id_, .name = gap}));
    }
  }

 private:
  bool IsBeforeNewest(const Base& base) const {
    return std::ranges::any_of(history_.bases, [&](const Base& other) {
      return other.has_manifest && other.name > base.name;
    });
  }
  raft::Index NewestLog() const {
    raft::Index newest = 0;
    for (const LogName& log : history_.logs) newest = std::max(newest, log.last);
    return newest;
  }

  Retention& retention_;
  HistoryId id_;
  const History& history_;
};

// True if another history than this one left the parent, too.
bool IsLeftByAnother(const Contents& contents, HistoryId parent, HistoryId child) {
  return std::ranges::any_of(contents.histories, [&](const auto& one) {
    const auto& record = one.second.record;
    return one.first != child && record && record->parent && record->parent->history == parent;
  });
}

}  // namespace

std::vector<HistoryId> PrunableLine(const Contents& contents, HistoryId head,
                                    const std::map<HistoryId, UnixMillis>& marks, UnixMillis now_ms,
                                    UnixMillis dead_after_ms) {
  std::vector<HistoryId> line = {head};
  while (true) {
    const auto found = contents.histories.find(line.back());
    if (found == contents.histories.end() || !found->second.record) return line;
    const auto& parent = found->second.record->parent;
    if (!parent || !contents.histories.contains(parent->history)) return line;
    if (std::ranges::find(line, parent->history) != line.end()) return line;
    const auto mark = marks.find(parent->history);
    const bool is_alive = mark != marks.end() && mark->second > now_ms - dead_after_ms;
    if (is_alive || IsLeftByAnother(contents, parent->history, line.back())) return line;
    line.push_back(parent->history);
  }
}

Retention PlanRetention(const Contents& contents, const std::vector<HistoryId>& line,
                        const RetentionOptions& options, UnixMillis now_ms) {
  Retention retention;
  const std::vector<LineHistory> histories = HistoriesOf(contents, line);
  const std::vector<LineBase> bases = BasesOf(histories);
  if (bases.empty()) return retention;
  const LineBase& floor = bases[FloorOf(bases, options, now_ms)];
  retention.floor = Retention::OldBase{
      .history = histories[floor.depth].id, .name = floor.name, .has_manifest = true};
  const UnixMillis given_up_ms = now_ms - kUnfinishedBaseMs;
  for (std::size_t depth = histories.size(); depth-- > 0;) {
    Collector collector(retention, histories[depth].id, *histories[depth].history);
    std::optional<raft::Index> before;  // of histories older than the floor's, everything goes
    if (depth == floor.depth) before = floor.name.index;
    if (depth < floor.depth) before = raft::Index{0};
    collector.TakeBefore(before, given_up_ms);
  }
  // Before the first base the log leads nowhere; without a retention it stays all the same.
  if (options.keep_for_ms == 0 && options.keep_bases == 0) retention.objects.clear();
  return retention;
}

}  // namespace kvorum::archive
