#include "server/leader_streams.h"

#include <algorithm>
#include <utility>

#include "server/errors.h"

namespace kvorum::server {
namespace {

constexpr int kLooksWithoutLeader = 3;
constexpr std::size_t kSweepAtLeast = 64;

}  // namespace

LeaderStreams::LeaderStreams(Executor& executor, Duration election_timeout, HasLeader has_leader)
    : executor_(executor),
      election_timeout_(election_timeout),
      has_leader_(std::move(has_leader)) {}

void LeaderStreams::Start() { LookLater(); }

void LeaderStreams::LookLater() {
  executor_.PostAt(executor_.clock().Now() + election_timeout_, [this] {
    Look();
    LookLater();
  });
}

void LeaderStreams::Add(const std::shared_ptr<rpc::ServerStream>& stream) {
  std::lock_guard lock(mutex_);
  if (streams_.size() >= sweep_at_) {
    std::erase_if(streams_, [](const auto& each) { return each.expired(); });
    sweep_at_ = std::max(kSweepAtLeast, 2 * streams_.size());
  }
  streams_.push_back(stream);
}

void LeaderStreams::Look() {
  leaderless_ = has_leader_() ? 0 : leaderless_ + 1;
  if (leaderless_ < kLooksWithoutLeader) return;
  std::vector<std::weak_ptr<rpc::ServerStream>> cut;
  {
    std::lock_guard lock(mutex_);
    cut.swap(streams_);
  }
  for (const auto& each : cut) {
    if (const auto stream = each.lock()) stream->Cut(kNoLeader.ToError());
  }
}

}  // namespace kvorum::server
