// Requests that change the agent's list, while the store is asked whether it would let those who
// change it write the outcome (Syncer::AskToWrite): what it refuses changes nothing.
//
// Thread-safe; requests go on on the executor. Bounds: kMost requests that wait, past which they
// are refused. A request that has waited for kPatience goes on unasked, as one does when the store
// cannot be reached: the next sync finds out. Its end drops requests that wait. Syncer and executor
// outlive it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "consul/http/exchange.h"
#include "sync/agent/syncer.h"
#include "sync/kernel/loop.h"

namespace kvorum::consul {

inline constexpr std::string_view kMayNotWrite =
    "Permission denied: the token may not write this entry to the catalog";

// May the owner of the token (empty: the agent) write entries there?
struct WriteQuestion {
  std::vector<sync::EntryPlace> places;
  std::string token = {};
};

class WriteQuestions {
 public:
  WriteQuestions(sync::Syncer& syncer, Executor& executor);
  ~WriteQuestions() { Stop(); }
  WriteQuestions(const WriteQuestions&) = delete;
  WriteQuestions& operator=(const WriteQuestions&) = delete;
  // Drops the requests that wait; none goes on any more.
  void Stop() { loop_.Stop(); }

  // Goes on if none of the questions is answered with no; else the exchange is answered with 403.
  using GoOn = std::move_only_function<void(Exchange exchange)>;
  void Ask(Exchange exchange, std::vector<WriteQuestion> questions, GoOn go_on);

  static constexpr std::size_t kMost = 4096;
  static constexpr Duration kPatience = std::chrono::seconds(2);

 private:
  struct Waiting {
    Exchange exchange;
    std::vector<WriteQuestion> questions;
    GoOn go_on;
    TimePoint end;
  };
  // On the loop.
  void Begin(Waiting waiting);
  void AskNext(std::uint64_t number);
  void Answered(std::uint64_t number, const Result<void>& answer);
  void End(std::map<std::uint64_t, Waiting>::iterator at);
  TimePoint Step(TimePoint now);

  sync::Syncer& syncer_;
  Executor& executor_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Waiting> waiting_;  // in the order of their ends
  sync::Loop loop_;
};

}  // namespace kvorum::consul
