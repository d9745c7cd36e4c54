#include "server/call/leader_streams.h"

#include <algorithm>
#include <utility>

#include "base/api_errors.h"

namespace kvorum::server {
namespace {

constexpr int kLooksPerElectionTimeout = 20;
constexpr Duration kLeastInterval = std::chrono::milliseconds(10);
constexpr std::size_t kSweepAtLeast = 64;

}  // namespace

LeaderStreams::LeaderStreams(Executor& executor, Duration election_timeout,
                             IsLeaderless is_leaderless)
    : executor_(executor),
      interval_(std::max(kLeastInterval, election_timeout / kLooksPerElectionTimeout)),
      is_leaderless_(std::move(is_leaderless)) {}

void LeaderStreams::Start() { LookLater(); }

void LeaderStreams::LookLater() {
  executor_.PostAt(executor_.clock().Now() + interval_, [this] {
    Look();
    LookLater();
  });
}

template <class Item>
void LeaderStreams::Known<Item>::Add(const std::shared_ptr<Item>& item) {
  if (items.size() >= sweep_at) {
    std::erase_if(items, [](const auto& each) { return each.expired(); });
    sweep_at = std::max(kSweepAtLeast, 2 * items.size());
  }
  items.push_back(item);
}

void LeaderStreams::Add(const std::shared_ptr<rpc::ServerStream>& stream) {
  std::lock_guard lock(mutex_);
  streams_.Add(stream);
}

void LeaderStreams::Add(const std::shared_ptr<NeedsLeader>& call) {
  std::lock_guard lock(mutex_);
  calls_.Add(call);
}

void LeaderStreams::Look() {
  if (!is_leaderless_()) return;
  std::vector<std::weak_ptr<rpc::ServerStream>> streams;
  std::vector<std::weak_ptr<NeedsLeader>> calls;
  {
    std::lock_guard lock(mutex_);
    streams.swap(streams_.items);
    calls.swap(calls_.items);
  }
  for (const auto& each : streams) {
    if (const auto stream = each.lock()) stream->Cut(kErrNoLeader.ToError());
  }
  for (const auto& each : calls) {
    if (const auto call = each.lock()) call->OnNoLeader();
  }
}

}  // namespace kvorum::server
