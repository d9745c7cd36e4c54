// The running streams, and calls that wait for long, whose clients asked for a leader (metadata
// hasleader): when this member has known of none for three election time-outs, all of them are cut
// with `no leader`, so that their clients go to a member that has one.
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
  using HasLeader = std::function<bool()>;

  // Looks once per election time-out, on the executor, which ends before this object.
  LeaderStreams(Executor& executor, Duration election_timeout, HasLeader has_leader);
  void Start();

  void Add(const std::shared_ptr<rpc::ServerStream>& stream);
  void Add(const std::shared_ptr<NeedsLeader>& call);

 private:
  void LookLater();
  void Look();

  Executor& executor_;
  const Duration election_timeout_;
  const HasLeader has_leader_;
  int leaderless_ = 0;  // looks without a leader; the executor's

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
