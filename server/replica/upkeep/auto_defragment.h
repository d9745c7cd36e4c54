// Defragments this member's database by itself once too much of its file is free pages. It asks for
// the cluster's turn first (defragment_turns.h), renews it while it is at it, and gives it back.
//
// Runs on one executor, which `ask` may block. The owner stops the executor before it destroys
// this.
#pragma once

#include <cstdint>
#include <functional>

#include "base/error.h"
#include "base/task.h"
#include "server/replica/upkeep/defragment_turns.h"

namespace kvorum::server {

class AutoDefragment {
 public:
  struct Options {
    std::uint64_t threshold_percent = 0;  // of the file's size; 0: never
    // A small file is not worth it.
    std::uint64_t least_free_bytes = std::uint64_t{16} << 20;
    Duration look_every = std::chrono::seconds(10);
    // The pause after a run: one that failed would fail again, and pages that readers still hold
    // are not free yet.
    Duration rest = std::chrono::minutes(5);
  };
  struct Hooks {
    std::function<std::uint64_t()> size_bytes;
    std::function<std::uint64_t()> in_use_bytes;
    // Asks the leader: true if this member has the turn.
    std::function<bool(DefragmentTurns::Request request)> ask;
    // `done` runs once, on any thread.
    std::function<void(std::move_only_function<void(Result<void>)> done)> defragment;
  };

  AutoDefragment(Executor& executor, const Options& options, Hooks hooks)
      : executor_(executor), options_(options), hooks_(std::move(hooks)) {}

  void Start();

 private:
  bool IsWorthIt() const;
  void Look();
  void LookAfter(Duration pause);
  void Begin();
  void Renew();
  void End(TimePoint started, const Result<void>& outcome);

  Executor& executor_;
  const Options options_;
  const Hooks hooks_;
  bool is_running_ = false;
};

}  // namespace kvorum::server
