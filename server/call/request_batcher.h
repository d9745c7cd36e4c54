// Collects the requests of one I/O loop's wake-up to the replica, so that they cost one hand-off:
// all proposals in one batch, all linearizable reads behind one ReadIndex.
//
// A call is added on its loop's own thread; one without a loop (start-up, the gateway, tests) is
// passed on at once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "rpc/io/loop.h"
#include "server/apply/read_task.h"
#include "server/replica/drive/proposal.h"

namespace kvorum::mvcc {
class ReadBatch;
}

namespace kvorum::server {

class Replica;

class RequestBatcher {
 public:
  RequestBatcher(Replica& replica, std::size_t loops);
  ~RequestBatcher();

  void Propose(rpc::Loop* loop, Proposal proposal);
  // The task runs on the loop's thread. `key`: one whose newest value it reads there, valid until
  // it runs; empty: none is known.
  void Read(rpc::Loop* loop, ReadTask task, std::string_view key = {});

  // The loop's batch hook.
  void Flush(rpc::Loop& loop);

 private:
  struct WaitingRead {
    ReadTask task;
    std::string_view key;
  };
  struct PerLoop {
    std::vector<Proposal> proposals;
    std::vector<WaitingRead> reads;
  };

  static void Run(std::span<WaitingRead> reads, const Result<void>& confirmed);
  static void LookAhead(std::span<const WaitingRead> reads, mvcc::ReadBatch& batch);

  Replica& replica_;
  std::vector<PerLoop> loops_;  // each used by its loop's thread only
};

}  // namespace kvorum::server
