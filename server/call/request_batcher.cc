#include "server/call/request_batcher.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "mvcc/records/look_ahead.h"
#include "mvcc/store/read_batch.h"
#include "server/replica/drive/replica.h"

namespace kvorum::server {
namespace {

// Fewer keys are not worth a look-up of their own.
constexpr std::size_t kLeastAhead = 2;

}  // namespace

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

void RequestBatcher::Read(rpc::Loop* loop, ReadTask task, std::string_view key) {
  if (loop != nullptr) {
    loops_[loop->index()].reads.push_back({std::move(task), key});
    return;
  }
  replica_.ReadIndex(std::move(task));
}

void RequestBatcher::Flush(rpc::Loop& loop) {
  PerLoop& batch = loops_[loop.index()];
  if (!batch.proposals.empty()) replica_.Propose(std::exchange(batch.proposals, {}));
  if (batch.reads.empty()) return;
  replica_.ReadIndex(
      [&loop, reads = std::exchange(batch.reads, {})](const Result<void>& confirmed) mutable {
        loop.Post([reads = std::move(reads), confirmed]() mutable { Run(reads, confirmed); });
      });
}

// The keys of the reads that come next are looked up together, so that each of these finds in the
// processor's cache what it needs. The first read takes the view for that.
void RequestBatcher::Run(std::span<WaitingRead> reads, const Result<void>& confirmed) {
  mvcc::ReadBatch batch;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (i % mvcc::kMostAhead == 1) LookAhead(reads.subspan(i), batch);
    reads[i].task(confirmed);
    batch.EndRead();
  }
}

void RequestBatcher::LookAhead(std::span<const WaitingRead> reads, mvcc::ReadBatch& batch) {
  std::array<std::string_view, mvcc::kMostAhead> keys;
  std::size_t count = 0;
  for (const WaitingRead& read : reads.first(std::min(keys.size(), reads.size()))) {
    if (!read.key.empty()) keys[count++] = read.key;
  }
  if (count >= kLeastAhead) batch.LookAhead(std::span(keys).first(count));
}

}  // namespace kvorum::server
