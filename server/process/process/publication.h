// A member publishes itself: it proposes its name and client URLs, again and again until they are
// applied, and then waits for the cluster's version, which the leader decides as soon as it leads,
// and a moment for its streams to the others: who adds a member next needs peers that count as up.
// From then on it is part of the cluster, and may serve.
//
// A member that joins may get its own publication within a snapshot. The entry is never applied
// here then, and no waiter is called: the state counts, once it is past the log that the member
// started with, whose entries may hold the publication of an earlier start.
//
// Works on the control executor. The proposer and the executor outlive it.
#pragma once

#include <functional>
#include <memory>

#include "api/maintenance_encode.h"
#include "base/clock.h"
#include "base/task.h"

namespace kvorum::server {

struct Options;
class Proposer;

class Publication {
 public:
  // `done` runs on the executor, once.
  Publication(const Options& options, Proposer& proposer, Executor& control,
              std::function<void()> done);

  void Start();

 private:
  // One proposal, which is decided by the first event that reports it.
  struct Attempt {
    MemberAttributes attributes;
    bool was_known = false;  // the state had them before
    bool is_over = false;
  };
  void Publish();
  void Decided(const std::shared_ptr<Attempt>& attempt, bool applied);
  void LookForIt(const std::shared_ptr<Attempt>& attempt);
  bool IsKnown(const MemberAttributes& attributes) const;
  void WaitForClusterVersion();
  void WaitForPeers(TimePoint until);
  bool ArePeersConnected() const;

  const Options& options_;
  Proposer& proposer_;
  Executor& control_;
  const std::function<void()> done_;
};

}  // namespace kvorum::server
