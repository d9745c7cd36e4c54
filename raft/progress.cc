#include "raft/progress.h"

#include <algorithm>

#include "base/check.h"

namespace kvorum::raft {

namespace {

// The refusals in a row, each answering another heartbeat's probe, that prove a loss.
constexpr int kDoubtsThatProve = 3;

}  // namespace

std::string_view Name(ProgressState state) {
  switch (state) {
    case ProgressState::kProbe:
      return "probe";
    case ProgressState::kReplicate:
      return "replicate";
    case ProgressState::kSnapshot:
      return "snapshot";
  }
  return "unknown";
}

void Inflights::Add(Index last_index, std::size_t size_bytes) {
  messages_.push_back({.last_index = last_index, .size_bytes = size_bytes});
  size_bytes_ += size_bytes;
}

void Inflights::FreeUpTo(Index index) {
  while (!messages_.empty() && messages_.front().last_index <= index) FreeFirst();
}

void Inflights::FreeFirst() {
  size_bytes_ -= messages_.front().size_bytes;
  messages_.pop_front();
}

void Inflights::Clear() {
  messages_.clear();
  size_bytes_ = 0;
}

void Progress::BecomeProbe() {
  // A snapshot that the follower took moves it to the snapshot's index, whether it has answered or
  // not.
  next = std::max(match, pending_snapshot) + 1;
  state = ProgressState::kProbe;
  pending_snapshot = 0;
  must_take_snapshot = false;
  is_probe_sent = false;
  sent_commit = std::min(sent_commit, match);
  inflights.Clear();
}

void Progress::BecomeReplicate() {
  state = ProgressState::kReplicate;
  pending_snapshot = 0;
  must_take_snapshot = false;
  is_probe_sent = false;
  next = match + 1;
  inflights.Clear();
}

void Progress::BecomeSnapshot(Index snapshot_index) {
  state = ProgressState::kSnapshot;
  pending_snapshot = snapshot_index;
  is_probe_sent = false;
  wants_append = false;
  inflights.Clear();
}

bool Progress::Advance(Index index) {
  if (index <= match) return false;
  match = index;
  next = std::max(next, index + 1);
  is_probe_sent = false;
  return true;
}

bool Progress::Retreat(Index rejected, Index hint) {
  if (state == ProgressState::kReplicate) {
    if (rejected <= match) return false;
    next = match + 1;
    return true;
  }
  if (next - 1 != rejected) return false;  // the answer to another probe
  next = std::max(std::min(rejected, hint + 1), match + 1);
  sent_commit = std::min(sent_commit, next - 1);
  is_probe_sent = false;
  return true;
}

bool Progress::Doubt(std::uint64_t now) {
  if (state == ProgressState::kReplicate) BecomeProbe();
  if (doubts > 0 && doubted_at == now) return false;
  doubted_at = now;
  return ++doubts >= kDoubtsThatProve;
}

void Progress::LoseData(Index hint) {
  lost = std::max(lost, match);
  match = 0;
  next = std::max(std::min(next, hint + 1), Index{1});
  state = ProgressState::kProbe;
  pending_snapshot = 0;
  must_take_snapshot = false;
  is_probe_sent = false;
  sent_commit = 0;
  doubts = 0;
  inflights.Clear();
}

bool Progress::IsMadeGood() {
  if (lost == 0 || match < lost) return false;
  lost = 0;
  return true;
}

void Progress::CheckInvariants() const {
  KV_CHECK(match < next, "a follower is sent entries that it has");
  KV_CHECK(state == ProgressState::kReplicate || inflights.size() == 0,
           "messages in flight outside of replication");
  KV_CHECK((state == ProgressState::kSnapshot) == (pending_snapshot != 0),
           "a pending snapshot outside of its state");
  KV_CHECK(!must_take_snapshot || state == ProgressState::kSnapshot,
           "a follower is held for no snapshot");
}

}  // namespace kvorum::raft
