#include "server/call/request_batcher.h"

#include <utility>

#include "mvcc/read_batch.h"
#include "server/replica/replica.h"

namespace kvorum::server {

RequestBatcher::RequestBatcher(Replica& replica, std::size_t loops)
    : replica_(replica), loops_(loops) {}
RequestBatcher::~RequestBatcher() = default;

void RequestBatcher::Propose(rpc::Loop* loop, Proposal proposal) {
  if (loop != nullptr) {
    loops_[loop->index()].proposals.push_back(std::move(proposal));
    return;
  }
  std::vector<Proposal> one;
  one.push_back(std::move(proposal));
  replica_.Propose(std::move(one));
}

void RequestBatcher::Read(rpc::Loop* loop, ReadTask task) {
  if (loop != nullptr) {
    loops_[loop->index()].reads.push_back(std::move(task));
    return;
  }
  replica_.ReadIndex(std::move(task));
}

void RequestBatcher::Flush(rpc::Loop& loop) {
  PerLoop& batch = loops_[loop.index()];
  if (!batch.proposals.empty()) replica_.Propose(std::exchange(batch.proposals, {}));
  if (batch.reads.empty()) return;
  replica_.ReadIndex(
      [&loop, tasks = std::exchange(batch.reads, {})](const Result<void>& confirmed) mutable {
        loop.Post([tasks = std::move(tasks), confirmed]() mutable {
          mvcc::ReadBatch batch;
          for (ReadTask& task : tasks) {
            task(confirmed);
            batch.EndRead();
          }
        });
      });
}

}  // namespace kvorum::server
