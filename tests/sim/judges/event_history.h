// Every event that the members have published, revision by revision: the events that watchers must
// get.
//
// A member reports each batch as it publishes it, so that compactions take nothing away; the
// members' reports of a revision must agree, and no revision may be reported before the previous
// one. A member that continues from a snapshot reports nothing in it: others have.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lease/lease_record.h"
#include "mvcc/lmdb/write_buffer.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

struct PublishedEvent {
  bool is_delete = false;
  std::string key;
  std::string record;         // the encoded KeyValue; for a delete its key only
  std::string previous = {};  // the encoded KeyValue before it; empty: there was none

  friend bool operator==(const PublishedEvent&, const PublishedEvent&) = default;
};

class EventHistory {
 public:
  explicit EventHistory(World& world) : world_(world) {}

  void Take(const std::string& who, std::int64_t first, std::int64_t last,
            const mvcc::WriteBuffer::View& records);
  // A member has compacted up to here.
  void Compacted(std::int64_t revision) { compacted_ = std::max(compacted_, revision); }

  std::int64_t last_revision() const { return static_cast<std::int64_t>(revisions_.size()) + 1; }
  // The events of a revision from 2 on.
  const std::vector<PublishedEvent>& At(std::int64_t revision) const {
    return revisions_[static_cast<std::size_t>(revision - 2)].events;
  }
  TimePoint PublishedAt(std::int64_t revision) const {
    return revisions_[static_cast<std::size_t>(revision - 2)].when;
  }
  // The furthest that any member has compacted.
  std::int64_t compacted() const { return compacted_; }

  // The revisions that deleted all keys of one lease, several or one, and nothing else.
  const std::map<std::int64_t, lease::LeaseId>& ends_of_leases() const { return ends_of_leases_; }
  // The keys attached to a lease now.
  std::set<std::string> KeysOf(lease::LeaseId lease) const;
  // True if exactly these keys were attached to the lease at some revision of [from, to].
  bool HadKeys(lease::LeaseId lease, const std::set<std::string>& keys, std::int64_t from,
               std::int64_t to) const;

 private:
  struct Revision {
    std::vector<PublishedEvent> events;
    TimePoint when{};
  };
  struct Row {
    std::string record;
    lease::LeaseId lease = lease::kNoLease;
  };

  void Add(std::int64_t revision, std::vector<PublishedEvent> events);
  void Attach(std::int64_t revision, const std::string& key, lease::LeaseId from,
              lease::LeaseId to);

  World& world_;
  std::vector<Revision> revisions_;  // [i] is revision i + 2
  std::map<std::string, Row> rows_;  // at the last one
  // The keys of each lease, from the revisions on at which they changed.
  std::map<lease::LeaseId, std::vector<std::pair<std::int64_t, std::set<std::string>>>> keys_;
  std::map<std::int64_t, lease::LeaseId> ends_of_leases_;
  std::int64_t compacted_ = 0;
};

}  // namespace kvorum::sim
