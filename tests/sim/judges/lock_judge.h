// Judges the answers of the Lock and Election services by the history of their queues.
//
// - A lock that was granted, or an election that was won, was at the front at a revision between
//   request and answer, with the key of its lease. A key is at the front until it is deleted, so no
//   two holders can have a lock at the same revision.
// - An answer's header is not older than what was published when the request was sent, and the
//   queue at its revision is as the answer says: an unlocked key and a resigned leader are gone, a
//   proclaimed value was put by that very revision, a leader is the one at the front.
// - A caller hears that its place is lost only if its key was deleted meanwhile, and that there
// is
//   no leader only if the queue was empty.
// - An observer hears of leaders in the order of their creation, of each one's values in theirs,
//   and misses only values that may be compacted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "lease/lease_record.h"
#include "tests/sim/judges/event_history.h"
#include "tests/sim/judges/lease_ledger.h"
#include "tests/sim/judges/queue_history.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class LockJudge {
 public:
  // A client's request for a place, or one for any holder.
  struct Asked {
    std::string name;
    lease::LeaseId lease = lease::kNoLease;
    std::string value = {};     // campaigned with, or proclaimed
    std::int64_t created = 0;   // of its place; 0: it is not known
    std::int64_t revision = 0;  // the last one that was published when it was sent
    std::string key() const { return QueueHistory::KeyOf(name, lease); }
  };
  // The last message of an observer's call.
  struct Observed {
    std::int64_t revision = 0;
    std::int64_t created = 0;
    std::int64_t mod = 0;
  };
  using Answer = Result<std::string>;

  LockJudge(World& world, const EventHistory& events, const LeaseLedger& ledger)
      : world_(world), events_(events), ledger_(ledger), queues_(events) {}

  Asked Ask(std::string name, lease::LeaseId lease, std::string value = {},
            std::int64_t created = 0) const {
    return {.name = std::move(name),
            .lease = lease,
            .value = std::move(value),
            .created = created,
            .revision = events_.last_revision()};
  }
  void Locked(const Asked& asked, const Answer& answer);
  void Unlocked(const Asked& asked, const Answer& answer);
  // Returns the creation revision of the leader's key; 0 if it was not elected.
  std::int64_t Elected(const Asked& asked, const Answer& answer);
  void Proclaimed(const Asked& asked, const Answer& answer);
  void Resigned(const Asked& asked, const Answer& answer);
  void LeaderTold(const Asked& asked, const Answer& answer);
  void LeaderSeen(const std::string& name, Observed& before, std::string_view message);

  QueueHistory& queues() { return queues_; }
  // The time from which the place at the front of a queue is there.
  TimePoint FrontSince(const std::string& name) {
    return events_.PublishedAt(queues_.FrontSince(name, events_.last_revision()));
  }

 private:
  using Places = QueueHistory::Places;

  // False, and the run fails, if the revision of an answer is not one between request and now.
  bool IsTimely(const Asked& asked, std::int64_t revision);
  // Null if the key is not in the queue behind that revision.
  const QueueHistory::Place* PlaceAt(const Asked& asked, std::int64_t revision);
  void Granted(const Asked& asked, std::int64_t since);
  void CheckRefusal(const Asked& asked, const Error& error);

  World& world_;
  const EventHistory& events_;
  const LeaseLedger& ledger_;
  QueueHistory queues_;
};

}  // namespace kvorum::sim
