// The threads of a server process, except the I/O loops and those of the peers' connections: each
// kind of work and its thread. docs/architecture.md has the whole list.
//
// Ownership: declared after everything that their tasks use, so that they end before it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/password_workers.h"
#include "base/background/aside.h"
#include "base/executor.h"
#include "base/failpoint/failpoint.h"

namespace kvorum::server {

// Runs its tasks on no thread but its own: a failpoint that sleeps in one blocks no other.
class UnlentThread final : public ThreadExecutor {
 public:
  using ThreadExecutor::ThreadExecutor;
  void Lend(Task task) override { Post(std::move(task)); }
};

// `Shared`, whose tasks also run on the threads that post them, unless a failpoint may sleep there.
template <class Shared>
std::unique_ptr<OwnThread> MakeSharedThread(std::string_view name) {
  if (failpoint::IsControlled()) return std::make_unique<UnlentThread>(name);
  return std::make_unique<Shared>(name);
}

struct ProcessThreads {
  std::unique_ptr<OwnThread> raft = MakeSharedThread<CombiningExecutor>("raft");
  std::unique_ptr<OwnThread> apply = MakeSharedThread<ThreadExecutor>("apply");
  ThreadExecutor wal{"wal"};
  BackgroundExecutor wal_spares{"wal-spares"};
  ThreadExecutor backend{"backend"};
  BackgroundExecutor copier{"copier"};
  ThreadExecutor readers{"readers"};
  std::vector<std::unique_ptr<ThreadExecutor>> pages;  // one for two I/O loops
  BackgroundExecutor hasher{"hasher"};
  BackgroundExecutor digester{"digester"};
  ThreadExecutor watch{"watch"};
  ThreadExecutor members{"members"};          // asks peers, and waits for them
  BackgroundExecutor integrity{"integrity"};  // hashes, and asks peers for theirs
  ThreadExecutor control{"control"};
  ThreadExecutor metrics{"metrics"};
  auth::PasswordWorkers passwords{auth::PasswordWorkers::Options{}};

  void StartPages(std::size_t io_loops) {
    for (std::size_t i = 0; i < (io_loops + 1) / 2; ++i)
      pages.push_back(std::make_unique<ThreadExecutor>("pages-" + std::to_string(i)));
  }

  // Stops those that work for the member, once it has stopped.
  void StopMember() {
    metrics.Stop();
    readers.Stop();
    for (auto& executor : pages) executor->Stop();
    hasher.Stop();
    digester.Stop();
    watch.Stop();
    raft->Stop();
    wal.Stop();
    wal_spares.Stop();
    apply->Stop();
    backend.Stop();
    copier.Stop();
  }
};

}  // namespace kvorum::server
