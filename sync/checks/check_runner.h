// Runs the checks of an agent's entries and tells the syncer what they say.
//
// Threading: thread-safe; its own work runs on the executor. Executor, prober and syncer outlive
// it. At most one probe of a check is under way at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/executor.h"
#include "base/rng.h"
#include "sync/agent/check_machine.h"
#include "sync/agent/syncer.h"
#include "sync/checks/prober.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/trigger.h"

namespace kvorum::sync {

class CheckRunner {
 public:
  // A seed of 0 is taken from the operating system.
  CheckRunner(Executor& executor, Prober& prober, Syncer& syncer, std::uint64_t seed = 0);
  ~CheckRunner();
  CheckRunner(const CheckRunner&) = delete;
  CheckRunner& operator=(const CheckRunner&) = delete;

  // The entries have changed: their checks are begun, changed or ended.
  void Refresh() { changed_.Fire(); }
  // A report about a ttl check. kNotFound if there is no such check, kInvalidArgument if it is
  // probed.
  Result<void> Report(const std::string& id, const std::string& check, Health health,
                      std::string_view output);
  void Stop() { loop_.Stop(); }

 private:
  using Key = std::pair<std::string, std::string>;  // the entry's and the check's id
  struct Running {
    CheckMachine machine;
    std::uint64_t generation;  // tells an answer to a replaced check apart
  };
  bool IsProbed(const std::string& id, const std::string& check) const;
  TimePoint Step(TimePoint now);
  void TakeEntries();
  void StepCheck(const Key& key, Running& running, TimePoint now);
  void Tell(const Key& key, const ProbeResult& says);

  Executor& executor_;
  Prober& prober_;
  Syncer& syncer_;
  Rng rng_;
  Loop loop_;
  Trigger changed_;
  std::map<Key, Running> checks_;
  std::uint64_t last_generation_ = 0;
};

}  // namespace kvorum::sync
