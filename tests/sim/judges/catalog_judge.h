// The catalog that the agents write, as the published events make it, and its fence: what is
// written of a node hangs on the lease of the session that holds the node's name at that revision,
// and tells what that session's agent would have there; a session begins only where there is none.
// So the values of two agents of one name never alternate.
//
// An agent's name is the value of its node's key, and begins the value of each of its entries.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "lease/lease_record.h"
#include "sync/agent/catalog.h"
#include "sync/store/store.h"
#include "tests/sim/judges/event_history.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

// Before all keys of the other clients, whose deletions reach up to kEndOfKeys.
inline constexpr std::string_view kCatalogRoot = "k#";
inline bool IsInCatalog(std::string_view key) { return key.starts_with(kCatalogRoot); }
// The value of what somebody else writes there.
inline constexpr std::string_view kScribble = "scribble";

class CatalogJudge {
 public:
  CatalogJudge(World& world, const EventHistory& events) : world_(world), events_(events) {}

  // Takes what was published since the last time.
  void CheckAll();
  // An agent hears that its transaction was done at this revision.
  void Wrote(const std::string& agent, const std::string& node, std::int64_t revision);

  // The keys of the catalog now.
  const std::map<std::string, sync::KeyValue>& rows() const { return rows_; }

 private:
  struct Session {
    std::string agent = {};  // empty: none
    std::int64_t created = 0;
    lease::LeaseId lease = lease::kNoLease;
  };

  void Take(std::int64_t revision);
  void TakeNode(std::int64_t revision, const std::string& node, const PublishedEvent& event);
  void CheckFence(std::int64_t revision, const PublishedEvent& event);
  Session SessionAt(const std::string& node, std::int64_t revision) const;

  World& world_;
  const EventHistory& events_;
  const sync::CatalogKeys keys_{std::string(kCatalogRoot)};
  std::int64_t read_ = 1;
  std::map<std::string, sync::KeyValue> rows_;
  // Each node's, from the revisions on at which they changed.
  std::map<std::string, std::map<std::int64_t, Session>> sessions_;
};

}  // namespace kvorum::sim
