// The running streams, and calls that wait for long, whose clients asked for a leader (metadata
// hasleader), and what else has no answer without one: when this member has known of none for two
// election time-outs, all of them are cut with `no leader`, so that their clients go to a member
// that has one. An election that is won in its first round is over by then, and cuts nobody off.
//
// Thread-safe. Neither streams nor calls are kept alive.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/executor.h"
#include "rpc/service.h"

namespace kvorum::server {

// A call that may wait for long.
class NeedsLeader {
 public:
  virtual ~NeedsLeader() = default;
  // On any thread, once.
  virtual void OnNoLeader() = 0;
};

class LeaderStreams {
 public:
  using IsLeaderless = std::function<bool()>;  // for two election time-outs by now

  // Looks twenty times per election time-out (but a hundred times a second at most), on the
  // executor, which ends before this object.
  LeaderStreams(Executor& executor, Duration election_timeout, IsLeaderless is_leaderless);
  void Start();

  void Add(const std::shared_ptr<rpc::ServerStream>& stream);
  void Add(const std::shared_ptr<NeedsLeader>& call);

 private:
  void LookLater();
  void Look();

  Executor& executor_;
  const Duration interval_;
  const IsLeaderless is_leaderless_;

  template <class Item>
  struct Known {
    void Add(const std::shared_ptr<Item>& item);

    std::vector<std::weak_ptr<Item>> items;
    std::size_t sweep_at = 64;  // when there are so many, those that have ended are forgotten
  };
  std::mutex mutex_;  // guards what follows
  Known<rpc::ServerStream> streams_;
  Known<NeedsLeader> calls_;
};

}  // namespace kvorum::server
