// The log, replayed entry by entry as the members commit it, by a model that is as plain as
// possible: the entries that the permissions at their place allow, the keys and leases after them,
// and the revision. Members apply in batches and report no single entry; but their published events
// and their revision must be the model's.
//
// O(keys + grants) per entry.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/raft_types.h"
#include "tests/sim/judges/auth_model.h"
#include "tests/sim/judges/event_history.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace etcdserverpb {
class DeleteRangeRequest;
class PutRequest;
}  // namespace etcdserverpb

namespace kvorum::sim {

class LogModel {
 public:
  LogModel(World& world, const EventHistory& events) : world_(world), events_(events) {}

  // An entry that is committed, each once, in their order.
  void Take(const raft::Entry& entry);
  // Checks that the member's state and published events are those that the log makes.
  void AfterApply(Machine& machine);

  // Everything that is committed, as far as anybody knows.
  raft::Index last() const { return raft::Index{points_.size()}; }
  // After the entry of an index; 0: before the first.
  std::int64_t RevisionAt(raft::Index index) const { return At(index).revision; }
  const AuthModel& AuthAt(raft::Index index) const { return *At(index).auth; }
  const AuthModel& newest() const { return AuthAt(last()); }
  // The keys attached to a lease after the entry.
  std::set<std::string> KeysOf(std::int64_t lease, raft::Index index) const;
  // True if a simple token that a member issued is valid after the entry.
  bool IsTokenGood(const std::string& token, const std::string& user, raft::Index index) const;
  // The index of the login that made it; 0: none did.
  raft::Index LoginOf(const std::string& token) const;
  // The machine's process has applied every login behind this entry, and so knows its token.
  raft::Index HeardSince(const Machine& machine) const;

 private:
  struct Point {
    std::int64_t revision = 1;
    std::shared_ptr<const AuthModel> auth = std::make_shared<const AuthModel>();
  };
  struct Row {
    std::string value;
    std::int64_t create = 0;
    std::int64_t mod = 0;
    std::int64_t version = 0;
    std::int64_t lease = 0;
  };
  struct Token {
    std::string user;
    raft::Index from = 0;
    raft::Index until = 0;  // it has ended behind this entry; 0: it counts
  };
  // The keys changed by one revision, with their values; deleted ones have none.
  struct Event {
    bool is_delete = false;
    std::string value;
  };
  // The last comparison with a machine's process.
  struct View {
    std::uint64_t life = 0;
    raft::Index applied = 0;
    raft::Index heard_since = 0;
    std::uint64_t installs = 0;
    std::shared_ptr<const auth::AuthState> state{};
    std::shared_ptr<const AuthModel> model{};
  };
  using Rows = std::map<std::string, Row>;
  using Entry = etcdserverpb::InternalRaftRequest;

  const Point& At(raft::Index index) const {
    return index == 0 ? first_ : points_[index.value() - 1];
  }
  void Apply(const Entry& entry);
  bool IsRefusedAsCorrupt(const Entry& entry) const;
  void ApplyAuth(const Entry& entry);
  void LogIn(const Entry& entry);
  // True if the place in the log allows the entry's caller to do it.
  bool IsAllowed(const Entry& entry, const std::vector<KeyNeed>& needs);
  void Put(const Entry& entry);
  void Delete(const Entry& entry);
  void Txn(const Entry& entry);
  void RevokeLease(const Entry& entry);
  std::vector<KeyNeed> NeedsOfLease(std::int64_t lease) const;
  bool Holds(const etcdserverpb::TxnRequest& txn) const;
  bool HasLeases(const etcdserverpb::TxnRequest& txn) const;
  void Run(const etcdserverpb::TxnRequest& txn);
  void PutRow(const etcdserverpb::PutRequest& put);
  void DeleteRows(const std::string& key, const std::string& range_end);
  void Attach(std::int64_t lease, const std::string& key, bool attached);
  void FinishRevision();
  void CheckPublished();
  void CheckAuth(Machine& machine, raft::Index applied);
  View& ViewOf(const Machine& machine);

  World& world_;
  const EventHistory& events_;
  const Point first_;
  std::vector<Point> points_;  // [i] is behind index i + 1
  Point now_;
  Rows rows_;
  std::map<std::string, Event> changed_;                       // by the entry that is applied
  std::map<std::int64_t, std::map<std::string, Event>> made_;  // revisions not published yet
  std::set<std::int64_t> leases_;
  std::map<std::int64_t, std::map<raft::Index, std::set<std::string>>> lease_keys_;
  std::set<std::pair<std::uint64_t, int>> alarms_;
  std::map<std::string, Token> tokens_;
  std::map<std::size_t, View> views_;
};

}  // namespace kvorum::sim
