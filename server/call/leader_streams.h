// The running streams, long-waiting calls and other work that cannot be answered without a leader,
// whose clients required one (metadata hasleader). When this member has known no leader for two
// election time-outs, all of them are cut with `no leader`, so that their clients go to a member
// that has one. An election that is won in its first round is over by then, and cuts no stream.
//
// Thread-safe. Neither streams nor calls are kept alive.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/task.h"
#include "rpc/call/service.h"

namespace kvorum::server {

// A call that may wait for long.
class NeedsLeader {
 public:
  virtual ~NeedsLeader() = default;
  // Called on any thread, once.
  virtual void OnNoLeader() = 0;
};

class LeaderStreams {
 public:
  using IsLeaderless = std::function<bool()>;  // true after two election time-outs without a leader

  // Checks twenty times per election time-out (but at most a hundred times a second), on the
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
    std::size_t sweep_at = 64;  // at this number, those that have ended are dropped
  };
  std::mutex mutex_;  // guards what follows
  Known<rpc::ServerStream> streams_;
  Known<NeedsLeader> calls_;
};

}  // namespace kvorum::server
