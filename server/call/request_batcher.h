// Collects the requests of one I/O loop's wake-up to the replica, so that they cost one hand-off:
// all proposals in one batch, all linearizable reads behind one ReadIndex.
//
// A call is added on its loop's own thread; one without a loop (start-up, the gateway, tests) is
// passed on at once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "rpc/loop.h"
#include "server/apply/read_task.h"
#include "server/replica/proposal.h"

namespace kvorum::server {

class Replica;

class RequestBatcher {
 public:
  RequestBatcher(Replica& replica, std::size_t loops);
  ~RequestBatcher();

  void Propose(rpc::Loop* loop, Proposal proposal);
  // The task runs on the loop's thread.
  void Read(rpc::Loop* loop, ReadTask task);

  // The loop's batch hook.
  void Flush(rpc::Loop& loop);

 private:
  struct PerLoop {
    std::vector<Proposal> proposals;
    std::vector<ReadTask> reads;
  };

  Replica& replica_;
  std::vector<PerLoop> loops_;  // each used by its loop's thread only
};

}  // namespace kvorum::server
