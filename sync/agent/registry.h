// The authoritative list of what runs on one node: what the store is to have, and what of it the
// store is known to have. Pure: time and randomness are passed in, nothing is called.
//
// An entry is dirty until a write of its newest version has been confirmed. A deregistered entry is
// hidden and stays until its removal has been confirmed; registering the id again cancels that. An
// entry whose write was refused for want of permission is blocked until Unblock. For one thread at
// a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "sync/agent/entry.h"
#include "sync/kernel/loop.h"

namespace kvorum::sync {

struct RegistryOptions {
  // A check's new output is written after half of this and up to this much more, its new status at
  // once.
  Duration output_interval = std::chrono::minutes(5);
};

class Registry {
 public:
  explicit Registry(RegistryOptions options = {}) : options_(options) {}

  // Adds the entry or replaces that of its id. A check that was there with an equal definition
  // keeps its result. kInvalidArgument: entry.h.
  Result<void> Register(Entry entry);
  // kNotFound if there is no such entry, or it is already deregistered.
  Result<void> Deregister(const std::string& id);
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
    std::string id;
    std::uint64_t version = 0;
    std::string name;
    std::optional<std::string> record;
    std::set<std::string> stale_names;  // services under which the store may have it
  };
  // Returns what is dirty and not blocked. The names of these changes are remembered as written.
  std::vector<Change> TakeChanges();
  // The store has this version; a newer one stays dirty.
  void Confirm(const std::string& id, std::uint64_t version);
  // TakeChanges leaves this entry out, however it changes, until Unblock.
  void Block(const std::string& id);
  void Unblock();
  // The store may have lost everything.
  void MarkAllDirty();

  // The store's records under an id of this node.
  struct Remote {
    std::optional<std::string> record;          // in the catalog
    std::optional<std::string> service_record;  // under the name that the entry has here
    bool is_ours = false;                       // both hang on our lease
  };
  // Lists the places where copies of the entries are to be looked for, in the order of List.
  std::vector<std::pair<std::string, std::string>> IdsAndNames() const;
  // All services under which the store may have an id.
  std::vector<std::pair<std::string, std::set<std::string>>> Places() const;
  // Compares the entry with what was read under this name. An entry that changed meanwhile is dirty
  // and stays so.
  void Compare(const std::string& id, const std::string& name, const Remote& remote);
  bool Has(const std::string& id) const { return items_.contains(id); }

  // Marks the entries whose outputs are due to be written; true if there are any.
  bool TakeDueOutputs(TimePoint now);
  TimePoint next_output() const;  // kNever: none waits

 private:
  struct Item {
    Entry entry;
    std::vector<std::string> shown_outputs;  // of the checks, as the store is to have them
    TimePoint output_due = kNever;
    std::set<std::string> names;  // services under which the store may have it
    bool in_sync = false;
    bool deleted = false;
    bool blocked = false;
    std::uint64_t version = 0;
  };
  void MarkDirty(Item& item);
  std::string RecordOf(const Item& item) const;
  Item* Visible(const std::string& id);

  RegistryOptions options_;
  std::map<std::string, Item> items_;
  std::uint64_t last_version_ = 0;
  std::uint64_t reports_ = 0;
};

}  // namespace kvorum::sync
