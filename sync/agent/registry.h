// The authoritative list of what runs on one node: what the store is to have, and what of it the
// store is known to have. Pure: time and randomness are passed in, nothing is called.
//
// An entry is dirty until a write of its newest version has been confirmed. A deregistered entry is
// hidden and stays until its removal has been confirmed; registering the id again cancels that. An
// entry whose write was refused for want of permission is blocked until Unblock.
//
// With kept records (catalog.h) the checks of the node are written together, in the node's record,
// which is there without any too; without them nothing of these checks is written. For one thread
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "sync/agent/catalog.h"
#include "sync/agent/entry.h"
#include "sync/kernel/loop.h"

namespace kvorum::sync {

struct RegistryOptions {
  // A check's new output is written after half of this and up to this much more, its new status at
  // once.
  Duration output_interval = std::chrono::minutes(5);
  bool keeps_records = false;
  std::string node_details = {};  // of the node's kept record; empty or a JSON object
  // The details with which an entry goes on when others have written over its kept record, made of
  // its own details and that record's bytes, by a full sync before it compares; nothing: the
  // entry's own. Null: always these. Called under a lock; valid details (entry.h) come out of it.
  std::function<std::optional<std::string>(const std::string& details, const std::string& kept)>
      take_over = {};
};

class Registry {
 public:
  explicit Registry(RegistryOptions options = {}) : options_(std::move(options)) {}

  // Adds the entry or replaces that of its id. A check that was there with an equal definition
  // keeps its result. kInvalidArgument: entry.h, or there are too many checks of the node.
  Result<void> Register(Entry entry);
  // kNotFound if there is no such entry, or it is already deregistered.
  // With a token, the removal is the token's.
  Result<void> Deregister(const std::string& id, const std::string& token = {});
  // A check's result. True if the store is to know it now. kNotFound if there is no such check.
  Result<bool> UpdateCheck(const std::string& id, const std::string& check, Health health,
                           std::string_view output, TimePoint now, Rng& rng);
  // A report about a ttl check has come; it is not sent to the store.
  void NoteReport(const std::string& id, const std::string& check, std::int64_t unix_ns);

  struct Listed {
    Entry entry;
    bool in_sync = false;
    bool deleted = false;
    bool blocked = false;
    std::uint64_t version = 0;
  };
  // The deregistered ones too, on demand.
  enum class Which : std::uint8_t { kVisible, kAll };
  std::vector<Listed> List(Which which) const;
  // The visible entries as the store is to have them: outputs that wait are left out.
  std::vector<Entry> Shown() const;
  std::size_t dirty() const;
  std::size_t blocked() const;
  // Grows with every change of what the store is to have.
  std::uint64_t last_version() const { return last_version_; }

  // Grows with every report that was noted.
  std::uint64_t reports() const { return reports_; }

  // An entry to be written to the store or, if it has no record, to be deleted there.
  struct Change {
    std::string id;  // kNodeRecord: the node's kept record alone
    std::uint64_t version = 0;
    std::string name;
    std::optional<std::string> record;
    std::set<std::string> stale_names;  // services under which the store may have it
    std::optional<std::string> kept;    // nothing: the store has it so, or has none
    std::string token;
  };
  // No id of an entry.
  static constexpr std::string_view kNodeRecord = ".";
  // Returns what is dirty and not blocked. The names of these changes are remembered as written.
  std::vector<Change> TakeChanges();
  // The store has this version; a newer one stays dirty.
  void Confirm(const std::string& id, std::uint64_t version);
  // TakeChanges leaves this entry out, however it changes, until Unblock or Allow, or until it is
  // registered with another token.
  void Block(const std::string& id);
  void Unblock();
  // The store lets the token write this entry.
  void Allow(const std::string& id, const std::string& token);
  // The store may have lost everything.
  void MarkAllDirty();

  // The store's records under an id of this node.
  struct Remote {
    std::optional<std::string> record;          // in the catalog
    std::optional<std::string> service_record;  // under the name that the entry has here
    bool is_ours = false;                       // both hang on our lease
    std::optional<std::string> kept;            // on no lease
  };
  // Lists the places where copies of the services are to be looked for, in the order of List.
  std::vector<std::pair<std::string, std::string>> IdsAndNames() const;
  // All services under which the store may have an id.
  std::vector<std::pair<std::string, std::set<std::string>>> Places() const;
  // Compares the entry with what was read under this name. An entry that changed meanwhile is dirty
  // and stays so.
  void Compare(const std::string& id, const std::string& name, const Remote& remote);
  // The same of the node's kept record.
  void CompareNode(const std::optional<std::string>& kept);
  // True for services, the deregistered ones too.
  bool Has(const std::string& id) const;

  // Marks the entries whose outputs are due to be written; true if there are any.
  bool TakeDueOutputs(TimePoint now);
  TimePoint next_output() const;  // kNever: none waits

 private:
  struct Item {
    Entry entry;
    std::vector<std::string> shown_outputs;  // of the checks, as the store is to have them
    TimePoint output_due = kNever;
    std::set<std::string> names;  // services under which the store may have it
    // The kept record as the store is known to have it.
    std::optional<std::string> kept = {};
    bool has_new_details = false;  // registered over others, and not written yet
    bool in_sync = false;
    bool deleted = false;
    bool blocked = false;
    std::uint64_t version = 0;
  };
  // The node's kept record, with which the entries of its checks are in sync, or blocked.
  struct NodeItem {
    std::optional<std::string> kept = {};  // as of an item
    bool in_sync = false;
    bool blocked = false;
    std::uint64_t version = 0;
  };
  static bool IsOfNode(const Item& item) { return item.entry.kind == EntryKind::kNode; }
  Result<void> CheckNodeRoom(const Entry& entry) const;
  void MarkDirty(Item& item);
  void TakeOver(Item& item);
  void ConfirmNode();
  std::optional<Change> TakeNodeChange();
  KeptService RecordOf(const Item& item) const;
  std::string NodeRecord() const;
  Item* Visible(const std::string& id);

  const RegistryOptions options_;
  std::map<std::string, Item> items_;
  NodeItem node_;
  std::uint64_t last_version_ = 0;
  std::uint64_t reports_ = 0;
};

}  // namespace kvorum::sync
