// Anti-entropy: keeps the store's copy of what runs on a node equal to the agent's own list, which
// wins every difference (catalog.h tells where the copy is). A full sync now and then compares
// everything, a partial one after a change writes what changed. All keys hang on one lease, so that
// a dead agent vanishes; if it keeps records (catalog.h), these stay until somebody removes them,
// and only its life key vanishes.
//
// Threading: thread-safe; the syncer's own work runs on the executor, as do its callbacks, which
// must not block and, like all callbacks of the library, must not throw (docs/sync.md). Store and
// executor outlive it. Errors of the store are retried and reported, none
// ends the syncer. While another agent holds the node's name nothing is written.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/executor.h"
#include "base/rng.h"
#include "sync/agent/agent_session.h"
#include "sync/agent/agent_state.h"
#include "sync/agent/catalog_pass.h"
#include "sync/agent/registry.h"
#include "sync/agent/write_permission.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/metrics.h"
#include "sync/kernel/pause.h"
#include "sync/kernel/sync_schedule.h"
#include "sync/kernel/timer.h"
#include "sync/kernel/trigger.h"
#include "sync/store/answer.h"
#include "sync/store/store.h"

namespace kvorum::sync {

struct SyncerOptions {
  std::string root = "/kvorum";
  std::string node;
  std::string node_value = {};  // of the node's key, for readers of the catalog
  std::int64_t ttl_s = 30;
  SyncScheduleOptions schedule = {};
  RegistryOptions registry = {};  // what is the node's in it comes from here:
  bool keeps_records = false;
  std::string node_details = {};
  std::size_t max_txn_operations = 128;  // the server's --max-txn-ops, or less
  std::uint64_t seed = 0;                // of the jitter; 0: from the operating system
  Metrics* metrics = nullptr;            // outlives the syncer
  // Makes the encoded state durable; one at a time, the newest last, but that Stop may hand over
  // another while one is under way. Writes to the store wait for
  // it, a second at most, so that a life that is cut off in between tells nothing older in its
  // next.
  using OnSaved = std::move_only_function<void(Result<void>)>;
  std::function<void(std::string state, OnSaved on_saved)> save = {};
  // The store as the owner of a token sees it, for the entries that have one. Answered on any
  // thread, with an error if the token is refused or the store does not answer; the store lives as
  // long as the reference. Null: such entries are written like all others.
  std::function<void(const std::string& token, CatalogPassOptions::OnStore on_store)> store_of = {};
  // A full sync has succeeded: the store was as the list said.
  std::function<void()> on_full_sync = {};
  // Something failed; it is tried again.
  std::function<void(const Error& error)> on_error = {};
};

struct SyncerStatus {
  SyncSchedule::State state = SyncSchedule::State::kFull;
  std::int64_t lease = 0;
  std::int64_t session_revision = 0;
  bool is_held_by_another = false;
  std::uint64_t full_syncs = 0;  // that succeeded
  std::uint64_t nodes = 0;       // in the store, at the last of them
  std::size_t dirty = 0;
  std::size_t blocked = 0;
  std::uint64_t times_blocked = 0;
  std::string last_error = {};  // of the last pass; empty if it succeeded
  TimePoint next_full = {};     // by the executor's clock; kNever: as soon as it can run
};

class Syncer {
 public:
  // A state of another node is ignored.
  Syncer(Store& store, Executor& executor, SyncerOptions options, const AgentState& restored = {});
  // Leaves the keys to the lease.
  ~Syncer();
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  // Begins. kInvalidArgument: the node's name or details are invalid (ValidateName,
  // ValidateDetails), or the time to live is below a second or above kMaxTtl_s; nothing ever runs
  // then.
  Result<void> Start();
  // Nothing runs any more once this has returned; the keys stay until the lease expires.
  void Stop();
  // Removes the keys now, those too that somebody has written over without our lease, and does
  // nothing afterwards. Kept records and strangers' keys in the node's folder go as well. The
  // answer comes on the
  // executor, or as kCanceled from the Stop that overtakes it; an error leaves the keys to the
  // lease.
  using OnLeft = std::move_only_function<void(Result<void>)>;
  void Leave(OnLeft on_left);

  // Asks the store whether the owner of the token (empty: the agent) may write entries at these
  // places; nothing changes. What was blocked and is allowed by this is tried again with the next
  // change. Answers on the executor, or as kCanceled from Stop.
  void AskToWrite(const std::vector<EntryPlace>& places, const std::string& token,
                  WritePermission::OnAnswer on_answer);
  Result<void> Register(Entry entry);
  // A token replaces the entry's for its removal from the store.
  Result<void> Deregister(const std::string& id, const std::string& token = {});
  Result<void> UpdateCheck(const std::string& id, const std::string& check, Health health,
                           std::string_view output);
  // A report about a ttl check: its time is remembered too, also in the saved state, within a
  // second or by Stop.
  Result<void> ReportCheck(const std::string& id, const std::string& check, Health health,
                           std::string_view output);
  std::vector<Registry::Listed> List(Registry::Which which) const;

  // Changes made while this is held become visible together, as far as one transaction holds them.
  Pause& pause() { return pause_; }
  // A full sync as soon as it can run.
  void SyncNow() { triggers_.full_now.Fire(); }
  // A full sync soon, for a program that knows better than this class that the store can be reached
  // again, or that its client got other credentials.
  void SyncSoon() { triggers_.full_soon.Fire(); }

  SyncerStatus status() const;
  // Counts the full passes that have begun; the newest may be under way. One ends before the next
  // begins, and its callback comes in between.
  std::uint64_t full_passes() const { return results_.full_passes; }

 private:
  TimePoint Step(TimePoint now);
  void TakeTriggers(TimePoint now);
  TimePoint TakePass(TimePoint now);
  void BeginPass(Pass kind);
  void Ended(Pass kind, CatalogPass::Outcome outcome);
  void MarkAllDirty();
  void BeginLeaving();
  void RevokeAndEnd(const CatalogPass::Outcome& removal);
  TimePoint Save(TimePoint now);
  void SaveReportsAtStop();
  void Publish(TimePoint now);
  void Report(const Error& error);
  TimePoint Now() const { return executor_.clock().Now(); }

  struct Triggers {
    Trigger full_now;
    Trigger full_soon;
    Trigger changed;
  };
  struct Leaving {
    std::atomic<bool> is_cancelled = false;  // by a stop
    bool is_over = false;
    Result<void> outcome = {};
    std::vector<Answer<void>> waiting = {};
  };
  // The state file's writes.
  struct Saving {
    bool is_under_way = false;
    TimePoint begun = {};
    Timer again = {};
    Backoff backoff;
    AgentState state = {};  // that was saved last, without its entries
    std::uint64_t version = 0;
    std::uint64_t reports = 0;
  };
  struct Results {
    std::atomic<std::uint64_t> full_passes = 0;  // begun; read by any thread
    std::uint64_t full_syncs = 0;
    std::uint64_t nodes = 0;
    std::string last_error = {};
  };
  struct Cells {
    std::shared_ptr<Counter> full_ok = {};
    std::shared_ptr<Counter> full_failed = {};
    std::shared_ptr<Gauge> dirty = {};
    std::shared_ptr<Gauge> blocked = {};
    std::shared_ptr<Gauge> next_full = {};
  };

  Executor& executor_;
  const SyncerOptions options_;
  Rng rng_;         // the loop's
  Rng output_rng_;  // under the registry's lock
  mutable SharedRegistry shared_;
  Loop loop_;
  Triggers triggers_;
  Pause pause_;
  AgentSession session_;
  CatalogPass pass_;
  const WritePermission permission_;
  SyncSchedule schedule_;

  std::atomic<bool> is_started_ = false;
  bool is_passing_ = false;
  bool is_lease_lost_ = false;
  Leaving leaving_;
  Saving saving_;
  Results results_;
  Cells cells_;

  mutable std::mutex status_mutex_;
  SyncerStatus status_;
};

}  // namespace kvorum::sync
