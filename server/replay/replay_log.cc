#include "server/replay/replay_log.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "archive/restore/log_reader.h"

namespace kvorum::server {
namespace {

using archive::FailObject;
using archive::Read;

// Between two looks at the progress.
constexpr std::size_t kEntriesAtOnce = 10'000;

std::string BaseKey(const archive::Plan& plan) {
  return archive::KeyText({.history = plan.history, .name = archive::ManifestName{plan.base}});
}

Read<void> CheckBase(const archive::Plan& plan, raft::Term base_term, const Replay& replay) {
  if (replay.applied() == plan.base.index && replay.term() == base_term &&
      replay.revision() == plan.base.revision)
    return {};
  return FailObject(BaseKey(plan), "the image is of another state than the base's name says");
}

// An entry that cannot be applied is damage that the object's checksums do not show.
archive::ObjectError Blame(const Error& error, const std::string& object) {
  if (error.code != Code::kDataLoss && error.code != Code::kUnimplemented) return {error};
  return {Error{error.code, object + ": " + error.message}, object};
}

struct IsReached {
  const Replayed& state;

  bool operator()(const archive::ToLatest&) const { return true; }
  bool operator()(const archive::ToTime&) const { return true; }
  bool operator()(const archive::ToRevision& to) const { return state.revision == to.revision; }
  bool operator()(const archive::ToIndex& to) const { return state.index == to.index; }
};

}  // namespace

std::optional<std::int64_t> StopRevision(const archive::Plan& plan) {
  const auto* to = std::get_if<archive::ToRevision>(&plan.target);
  return to == nullptr ? std::nullopt : std::optional(to->revision);
}

Read<Replayed> ReplayLog(archive::ObjectStore& store, const archive::Plan& plan,
                         raft::Term base_term, Replay& replay, archive::Ahead ahead,
                         const std::function<void(const Replayed&)>& on_progress) {
  KV_RETURN_IF_ERROR(CheckBase(plan, base_term, replay));
  archive::LogReader log(store, plan, base_term, ahead);
  Replayed state = {
      .index = replay.applied(), .revision = replay.revision(), .time_ms = plan.base.time_ms};
  bool is_at_target = StopRevision(plan) == state.revision;
  while (!is_at_target) {
    KV_TRY(const std::vector<raft::Entry> read, log.Next());
    if (read.empty()) break;
    std::span<const raft::Entry> entries = read;
    while (!entries.empty() && !is_at_target) {
      const std::size_t size = std::min(entries.size(), kEntriesAtOnce);
      const auto reached = replay.Apply(entries.first(size));
      if (!reached.has_value()) return std::unexpected(Blame(reached.error(), log.object()));
      is_at_target = *reached;
      entries = entries.subspan(size);
      const archive::TimeMark mark = log.MarkAt(replay.applied());
      state = {.index = replay.applied(), .revision = replay.revision(), .time_ms = mark.time_ms};
      if (state.revision < mark.revision)
        return FailObject(log.object(), "its entries do not lead to the revision that it tells");
      if (on_progress) on_progress(state);
    }
  }
  if (!std::visit(IsReached{state}, plan.target)) {
    return std::unexpected(Error{
        Code::kNotFound, "the archive's log leads to index " + std::to_string(state.index.value()) +
                             " and revision " + std::to_string(state.revision) +
                             " only, which is not the state that was asked for"});
  }
  return state;
}

}  // namespace kvorum::server
