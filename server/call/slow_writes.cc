#include "server/call/slow_writes.h"

#include <algorithm>

#include "rpc/io/loop.h"

namespace kvorum::server {
namespace {

// The mean of about so many writes.
constexpr std::int64_t kMeanOf = 256;

}  // namespace

std::string_view SlowWrites::NameOf(Part part) {
  constexpr std::array<std::string_view, kParts> kNames = {
      "raft", "log_turn", "log_sync", "commit", "apply_turn", "apply", "answer"};
  return kNames[static_cast<std::size_t>(part)];
}

SlowWrites::SlowWrites(const WriteStages& stages, std::size_t loops)
    : stages_(stages), loops_(loops) {}

void SlowWrites::OnEnd(const rpc::CallContext& call, const rpc::CallEnd& end) {
  const raft::Index index{call.place()};
  if (index == 0 || call.loop() == nullptr || call.loop()->index() >= loops_.size()) return;
  PerLoop& mine = loops_[call.loop()->index()];
  const std::int64_t took_ns = end.duration.count();
  const std::int64_t mean_ns = mine.writes == 0 ? took_ns : mine.mean_ns;
  mine.mean_ns = mean_ns + (took_ns - mean_ns) / kMeanOf;
  const TimePoint ended = call.started() + end.duration;
  if (++mine.writes % kSampleEvery == 0) Charge(Kind::kSampled, index, call.started(), ended);
  if (took_ns > kSlowTimes * mean_ns) Charge(Kind::kSlow, index, call.started(), ended);
}

// A leader may commit an entry before it is durable here: its sync was not waited for then.
void SlowWrites::Charge(Kind kind, raft::Index index, TimePoint started, TimePoint ended) {
  const TimePoint committed = stages_.When(WriteStage::kCommitted, index).value_or(ended);
  ThreadCells::Mine cells = cells_.Here();
  TimePoint reached = started;
  for (std::size_t i = 0; i < kWriteStages; ++i) {
    const auto stage = static_cast<WriteStage>(i);
    const TimePoint latest = stage < WriteStage::kCommitted ? std::min(committed, ended) : ended;
    TimePoint when = stages_.When(stage, index).value_or(reached);
    when = std::max(reached, std::min(when, latest));
    cells.Add(CellOf(kind, i), static_cast<std::uint64_t>((when - reached).count()));
    reached = when;
  }
  cells.Add(CellOf(kind, kWriteStages), static_cast<std::uint64_t>((ended - reached).count()));
  cells.Add(CellOf(kind, kParts), 1);
}

}  // namespace kvorum::server
