// Linearizable reads on their way to a confirmed index: all that come in while one question to the
// leader is out share the next one, so that a member asks once a round trip, however many reads it
// serves.
//
// Threading: used by the raft executor only. Each question has an id of its own: one that gets no
// answer, for want of a leader or because a message was lost, is asked again under another, and an
// answer to an old id confirms nothing. Bounded by its owner.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
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
  // The reads that this answer confirms, if it is one to the question that is out.
  std::vector<Read> TakeConfirmed(std::uint64_t context);
  // Asks for those that came in meanwhile.
  void AskNext(TimePoint now);
  // There is a leader, maybe another one than the one that was asked.
  void LeaderFound(TimePoint now);
  // Fails what is past its deadline, and asks again what was not answered for long.
  void Tick(TimePoint now);
  void FailAll(const Error& error);

 private:
  void AskAgain(TimePoint now);

  const Ask ask_;
  const Duration timeout_;
  std::vector<Read> asked_;  // with the question that is out; none if empty
  std::uint64_t context_ = 0;
  TimePoint asked_at_;
  std::vector<Read> next_;
};

}  // namespace kvorum::server
