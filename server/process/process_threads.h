// The threads of a server process, except the I/O loops and those of the peers' connections: each
// kind of work and its thread. docs/architecture.md has the whole list.
//
// Ownership: declared after everything that their tasks use, so that they end before it.
#pragma once

#include "auth/password_workers.h"
#include "base/executor.h"

namespace kvorum::server {

struct ProcessThreads {
#ifdef KVORUM_FAILPOINTS
  ThreadExecutor raft{"raft"};  // a failpoint that sleeps on it blocks no I/O loop
#else
  CombiningExecutor raft{"raft"};
#endif
  ThreadExecutor wal{"wal"};
  ThreadExecutor wal_spares{"wal-spares"};
  ThreadExecutor apply{"apply"};
  ThreadExecutor backend{"backend"};
  ThreadExecutor copier{"copier"};
  ThreadExecutor readers{"readers"};
  ThreadExecutor hasher{"hasher"};
  ThreadExecutor watch{"watch"};
  ThreadExecutor members{"members"};      // asks peers, and waits for them
  ThreadExecutor integrity{"integrity"};  // hashes, and asks peers for theirs
  ThreadExecutor control{"control"};
  ThreadExecutor metrics{"metrics"};
  auth::PasswordWorkers passwords{auth::PasswordWorkers::Options{}};

  // Stops those that work for the member, once it has stopped.
  void StopMember() {
    metrics.Stop();
    readers.Stop();
    hasher.Stop();
    watch.Stop();
    raft.Stop();
    for (ThreadExecutor* executor : {&wal, &wal_spares, &apply, &backend, &copier})
      executor->Stop();
  }
};

}  // namespace kvorum::server
