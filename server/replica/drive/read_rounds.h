// Linearizable reads waiting for a confirmed index: all reads that arrive while one request to the
// leader is outstanding share the next one, so that a member asks once per round trip, however many
// reads it serves.
//
// Threading: used by the raft executor only. Each request has a unique id: one without an answer,
// because there was no leader or a message was lost, is repeated under another id, and an answer to
// an old id confirms nothing. Bounded by its owner.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/metric.h"
#include "server/apply/read_task.h"

namespace kvorum::server {

class ReadRounds {
 public:
  struct Read {
    ReadTask task;
    TimePoint deadline;
  };
  // Asks for the commit index under a new id, which it returns.
  using Ask = std::function<std::uint64_t()>;

  ReadRounds(Ask ask, Duration timeout) : ask_(std::move(ask)), timeout_(timeout) {}

  void Add(std::vector<ReadTask> tasks, TimePoint now);
  // The reads that this answer confirms, if it belongs to the outstanding request.
  std::vector<Read> TakeConfirmed(std::uint64_t context);
  // Asks for the reads that arrived meanwhile.
  void AskNext(TimePoint now);
  // There is a leader, perhaps a different one from the one that was asked.
  void LeaderFound(TimePoint now);
  // Fails reads past their deadline, and repeats a request without an answer for long.
  void Tick(TimePoint now);
  void FailAll(const Error& error);

  // For the metrics; any thread.
  struct Counts {
    Counter rounds;    // asked for
    Counter repeated;  // of them, for want of an answer
    Counter expired;   // reads
  };
  const Counts& counts() const { return counts_; }

 private:
  void AskAgain(TimePoint now);

  const Ask ask_;
  const Duration timeout_;
  Counts counts_;
  std::vector<Read> asked_;  // waiting for the outstanding request; there is none if empty
  std::uint64_t context_ = 0;
  TimePoint asked_at_;
  std::vector<Read> next_;
};

}  // namespace kvorum::server
