// Raft's own cost per entry: from Propose to the committed entry given out, with a disk and a
// network that take no time, for batches of several sizes. `sent_bytes` and `copied_bytes` are, per
// entry, the bytes sent to the followers, and those of them not in the proposal's own block.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/shared_bytes.h"
#include "raft/bootstrap.h"
#include "raft/conf_change.h"
#include "raft/node.h"

namespace kvorum::raft {
namespace {

// Members wired to each other directly.
class Cluster {
 public:
  explicit Cluster(std::size_t size) {
    std::vector<FirstMember> members(size);
    for (std::size_t i = 0; i < size; ++i) members[i] = {.id = MemberId{i + 1}, .context = {}};
    const Bootstrap bootstrap = MakeBootstrap(members);
    for (const FirstMember& member : members) {
      nodes_.push_back(
          Node::Create({.id = member.id, .seed = member.id.value()},
                       {.hard_state = bootstrap.hard_state, .entries = bootstrap.entries})
              .value());
    }
    Run();
    leader().Campaign();
    Run();
  }

  Node& leader() { return *nodes_.front(); }

  // The block shared by all proposals.
  void Watch(const SharedBytes& data) { watched_ = data; }
  std::size_t sent_bytes() const { return sent_bytes_; }
  std::size_t copied_bytes() const { return copied_bytes_; }

  // Runs until nothing is left to do.
  void Run() {
    for (bool is_busy = true; is_busy;) {
      is_busy = false;
      for (const std::unique_ptr<Node>& node : nodes_) {
        if (!node->HasReady()) continue;
        is_busy = true;
        Ready ready = node->TakeReady();
        for (Message& message : ready.messages) {
          Count(message);
          (void)nodes_[message.to.value() - 1]->Step(std::move(message));
        }
        if (ready.must_sync) node->Persisted(ready.number);
        for (const Entry& entry : ready.committed) {
          if (entry.type == EntryType::kConfChange)
            (void)node->ApplyConfChange(DecodeConfChangeEntry(entry.type, entry.data).value());
        }
        if (ready.committed.empty()) continue;
        node->Applied(ready.committed.back().index);
        node->Compact(ready.committed.back().index);
      }
    }
  }

 private:
  void Count(const Message& message) {
    if (message.type != MessageType::kApp) return;
    for (const Entry& entry : message.entries) {
      sent_bytes_ += entry.data.size();
      if (entry.data.data() != watched_.data()) copied_bytes_ += entry.data.size();
    }
  }

  std::vector<std::unique_ptr<Node>> nodes_;
  SharedBytes watched_;
  std::size_t sent_bytes_ = 0;
  std::size_t copied_bytes_ = 0;
};

void BM_ProposeToCommitted(benchmark::State& state) {
  Cluster cluster(static_cast<std::size_t>(state.range(0)));
  const SharedBytes data = SharedBytes::Own(std::string(300, 'd'));
  cluster.Watch(data);
  const auto batch_size = static_cast<std::size_t>(state.range(1));
  for (auto _ : state) {
    std::vector<SharedBytes> batch(batch_size, data);
    cluster.leader().Propose(batch);
    cluster.Run();
  }
  const auto entries = static_cast<double>(state.iterations() * state.range(1));
  state.SetItemsProcessed(state.iterations() * state.range(1));
  state.counters["sent_bytes"] = static_cast<double>(cluster.sent_bytes()) / entries;
  state.counters["copied_bytes"] = static_cast<double>(cluster.copied_bytes()) / entries;
}
BENCHMARK(BM_ProposeToCommitted)
    ->ArgNames({"members", "batch"})
    ->Args({1, 1})
    ->Args({1, 16})
    ->Args({1, 256})
    ->Args({3, 1})
    ->Args({3, 16})
    ->Args({3, 256})
    ->Args({5, 1})
    ->Args({5, 16})
    ->Args({5, 256});

void BM_ReadIndex(benchmark::State& state) {
  Cluster cluster(static_cast<std::size_t>(state.range(0)));
  std::uint64_t context = 0;
  for (auto _ : state) {
    cluster.leader().ReadIndex(++context);
    cluster.Run();
  }
}
BENCHMARK(BM_ReadIndex)->ArgName("members")->Arg(1)->Arg(3)->Arg(5);

}  // namespace
}  // namespace kvorum::raft
