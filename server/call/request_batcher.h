// What the calls of one wake-up of an I/O loop ask of the replica, collected so that it costs one
// hand-over: all its proposals in one batch, all its linearizable reads behind one ReadIndex.
//
// A call is added on its loop's own thread; one without a loop (start-up, the gateway, tests) goes
// through at once.
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
