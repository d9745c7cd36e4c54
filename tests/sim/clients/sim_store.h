// The simulated cluster as a sync::Store: the calls and watches of one simulated program that
// embeds sync/, each over its own connection to the member that the program talks to, or to
// another one after an error.
//
// Calls that have no answer after the program's own time-out are answered with kDeadlineExceeded;
// their outcome is unknown. Destroying the store drops what is under way unanswered, as
// the end of a process does. World, machines and user outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sync/store/store.h"
#include "tests/sim/program_user.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class SimStore final : public sync::Store {
 public:
  struct Options {
    Duration call_timeout = std::chrono::seconds(10);
    // Called for each transaction that is answered as done.
    std::function<void(const sync::TxnRequest& request, std::int64_t revision)> on_done = nullptr;
  };
  SimStore(World& world, std::vector<std::unique_ptr<Machine>>& machines, ProgramUser& user,
           Options options);
  ~SimStore() override;
  SimStore(const SimStore&) = delete;
  SimStore& operator=(const SimStore&) = delete;

  void Range(sync::RangeRequest request, OnAnswer<sync::RangeAnswer> on_answer) override;
  void Txn(sync::TxnRequest request, OnAnswer<sync::TxnAnswer> on_answer) override;
  std::unique_ptr<sync::StoreWatch> Watch(sync::WatchRequest request,
                                          sync::WatchSink sink) override;
  void LeaseGrant(std::int64_t ttl_s, OnAnswer<sync::LeaseAnswer> on_answer) override;
  void LeaseKeepAlive(std::int64_t lease, OnAnswer<sync::LeaseAnswer> on_answer) override;
  void LeaseRevoke(std::int64_t lease, OnAnswer<sync::LeaseAnswer> on_answer) override;
  bool has_ordered_progress() const override { return true; }

  // The way to the cluster, shared with what is under way.
  struct Connection;

 private:
  const std::shared_ptr<Connection> connection_;
};

}  // namespace kvorum::sim
