// State shared by all parts of one run: its options, its time and choices, its trace, the counters,
// and the first violation.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "base/rng.h"
#include "tests/sim/fault_counters.h"
#include "tests/sim/trace.h"
#include "tests/sim/world/drifting_clock.h"
#include "tests/sim/world/scheduler.h"

namespace kvorum::sim {

// A deliberate flaw that needs no change of the code, so that the tests show with each build that
// the checks find something (docs/simulation.md has more of them).
enum class Flaw : std::uint8_t {
  kNone,
  kUnsyncedLog,          // acknowledges before the sync (--unsafe-no-fsync)
  kLeaseReads,           // trusts the clocks instead of asking a quorum
  kUncommittedArchived,  // a leader archives entries that may still be replaced
  kObjectSkipped,        // the bucket acknowledges an object that it does not keep
};

struct Options {
  std::uint64_t seed = 1;
  std::size_t members = 3;
  std::uint64_t seconds = 60;  // of the safety phase
  Flaw flaw = Flaw::kNone;
  std::FILE* trace_file = nullptr;
  bool keep_trace = false;
  // For any seed, not only for those that have them anyway.
  bool posts = false;
  bool repeated_proposals = false;
  bool replica_checks = false;
  bool spoils = false;
  bool copies = false;
  bool replaced_disks = false;
  bool archive = false;
};

// One run in three has users and roles.
inline bool HasAuth(std::uint64_t seed) { return seed % 3 == 1; }
// In two of thirteen there are no streams between members: each message is a separate post.
inline bool HasPosts(std::uint64_t seed) { return seed % 13 == 5 || seed % 13 == 12; }
// In two of thirteen there are defragmentations and CORRUPT alarms.
inline bool HasUpkeep(std::uint64_t seed) { return seed % 13 == 3 || seed % 13 == 9; }
// In two of thirteen what is between the members repeats proposals and questions, too.
inline bool HasRepeatedProposals(std::uint64_t seed) { return seed % 13 == 7 || seed % 13 == 12; }
// In two of thirteen somebody forges joint configuration changes.
inline bool HasForgedChanges(std::uint64_t seed) { return seed % 13 == 2 || seed % 13 == 8; }
// In three of seventeen some clients lock, campaign and observe.
inline bool HasLocks(std::uint64_t seed) {
  return seed % 17 == 5 || seed % 17 == 7 || seed % 17 == 14;
}

// In three of seventeen agents keep a catalog there, and caches follow it.
inline bool HasCopies(std::uint64_t seed) {
  return seed % 17 == 0 || seed % 17 == 6 || seed % 17 == 16;
}

// In one of 97 members check their copies of the keys, and no other fault is missing.
inline bool HasReplicaChecks(std::uint64_t seed) { return seed % 97 == 61; }
// In another one records are spoiled, and members found out and re-seeded.
inline bool HasSpoils(std::uint64_t seed) { return seed % 97 == 44; }

// In one of five apply is lent to raft's thread, as it is in production.
inline bool HasLentApply(std::uint64_t seed) { return seed % 5 == 3; }
// In one of nineteen, and in half of those with spoiled records, a database is on its way for
// longer than 20 s, after which a member that is to be re-seeded asks again.
inline bool HasLongTransfers(std::uint64_t seed) { return seed % 19 == 11; }
// In another one members' disks are replaced, and no member comes or goes.
inline bool HasReplacedDisks(std::uint64_t seed) { return seed % 97 == 23; }

// One run in five archives, and is restored at its end.
inline bool HasArchive(std::uint64_t seed) { return seed % 5 == 2; }

struct World {
  explicit World(const Options& run)
      : options(run),
        has_spoils(run.spoils || HasSpoils(run.seed)),
        has_replica_checks(run.replica_checks || HasReplicaChecks(run.seed) || has_spoils),
        has_auth(HasAuth(run.seed) && !has_spoils),
        has_posts(run.posts || HasPosts(run.seed)),
        has_locks(HasLocks(run.seed)),
        has_copies((run.copies || HasCopies(run.seed)) && !has_spoils),
        has_forged_changes(HasForgedChanges(run.seed)),
        has_replaced_disks((run.replaced_disks || HasReplacedDisks(run.seed)) && !has_spoils),
        has_archive(run.archive || HasArchive(run.seed)),
        has_lent_apply(HasLentApply(run.seed)),
        has_long_transfers(has_spoils ? run.seed % 2 == 0 : HasLongTransfers(run.seed)),
        has_repeated_proposals(run.repeated_proposals || HasRepeatedProposals(run.seed)),
        scheduler(run.seed),
        auth_rng(run.seed ^ 0x617574685f736565),
        trace(run.trace_file, run.keep_trace),
        fastest_clock(scheduler) {}

  template <class... Args>
  void Note(fmt::format_string<Args...> format, Args&&... args) {
    trace.Add(scheduler.Now(), format, std::forward<Args>(args)...);
  }
  // The first thing that is wrong ends the run.
  template <class... Args>
  void Fail(fmt::format_string<Args...> format, Args&&... args) {
    if (failure.has_value()) return;
    failure = fmt::format(format, std::forward<Args>(args)...);
    Note("FAILED: {}", *failure);
  }
  bool failed() const { return failure.has_value(); }
  // Runs until the condition holds; false when that time has come, or the run failed, before.
  template <class Condition>
  bool RunUntil(TimePoint end, Condition&& condition) {
    while (!failed() && scheduler.Now() < end) {
      if (condition()) return true;
      if (!scheduler.Step()) break;
    }
    return condition();
  }

  const Options options;
  const bool has_spoils;
  const bool has_replica_checks;
  const bool has_auth;
  const bool has_posts;
  const bool has_locks;
  const bool has_copies;
  const bool has_forged_changes;
  const bool has_replaced_disks;
  const bool has_archive;
  const bool has_lent_apply;
  const bool has_long_transfers;
  const bool has_repeated_proposals;
  Scheduler scheduler;
  // Choices of runs with auth only, so that runs without stay the same.
  Rng auth_rng;
  Trace trace;
  FaultCounters faults;
  FastestClock fastest_clock;
  // The machine one of whose records is spoiled.
  std::optional<std::size_t> spoiled;
  std::optional<std::string> failure;
};

}  // namespace kvorum::sim
