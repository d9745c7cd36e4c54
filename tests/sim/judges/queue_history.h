// The queues behind locks and elections, revision by revision, as the published events make them:
// the keys under each name, of which the oldest is the owner (of a lock) or the leader (of an
// election).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lease/lease_record.h"
#include "tests/sim/judges/event_history.h"

namespace kvorum::sim {

// Before all keys of the other clients, whose deletions reach up to kEndOfKeys.
inline constexpr std::string_view kQueueSpace = "k!";
inline bool IsInQueue(std::string_view key) { return key.starts_with(kQueueSpace); }

class QueueHistory {
 public:
  struct Place {
    std::int64_t created = 0;
    std::int64_t mod = 0;
    lease::LeaseId lease = lease::kNoLease;
    std::string value = {};
    std::string record = {};  // the encoded KeyValue
  };
  using Places = std::map<std::string, Place>;  // by key

  explicit QueueHistory(const EventHistory& events) : events_(events) {}

  // The key of a lease's place.
  static std::string KeyOf(const std::string& name, lease::LeaseId lease);
  // Null: the queue is empty.
  static const Places::value_type* FrontOf(const Places& places);

  // The places behind a revision.
  const Places& At(const std::string& name, std::int64_t revision);
  const Places& Now(const std::string& name) { return At(name, events_.last_revision()); }
  // True if the condition holds at some revision of [from, to].
  bool Was(const std::string& name, std::int64_t from, std::int64_t to,
           const std::function<bool(const Places&)>& holds);
  // The revision that brought the place at the front there.
  std::int64_t FrontSince(const std::string& name, std::int64_t revision);

 private:
  using Changes = std::vector<std::pair<std::int64_t, Places>>;

  // Reads the events up to the last revision.
  Changes& Read(const std::string& name);

  const EventHistory& events_;
  std::int64_t read_ = 1;
  std::map<std::string, Changes> queues_;  // each begins with no places at revision 0
};

}  // namespace kvorum::sim
