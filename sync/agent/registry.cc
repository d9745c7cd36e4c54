#include "sync/agent/registry.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sync/kernel/jitter.h"
#include "sync/kernel/json_bytes.h"

namespace kvorum::sync {
namespace {

// Results outlive a new registration of the same check.
void KeepResults(const Entry& old, Entry& entry) {
  for (Check& check : entry.checks) {
    const auto kept = std::ranges::find(old.checks, check.definition, &Check::definition);
    if (kept != old.checks.end()) check = *kept;
  }
}

// One spelling of equal details, so that equal definitions are equal.
void Normalize(std::string& details) {
  if (details.empty()) return;
  if (const auto json = ParseObject("the details", details)) details = json->dump();
}

}  // namespace

// A node's checks share a record, and so its bounds.
Result<void> Registry::CheckNodeRoom(const Entry& entry) const {
  if (entry.kind != EntryKind::kNode) return {};
  std::size_t checks = 1;
  std::size_t size_bytes = options_.node_details.size() + entry.id.size() +
                           entry.checks.front().definition.details.size();
  for (const auto& [id, item] : items_) {
    if (!IsOfNode(item) || item.deleted || id == entry.id) continue;
    ++checks;
    size_bytes += id.size() + item.entry.checks.front().definition.details.size();
  }
  if (checks > kMaxChecks) return Fail(Code::kInvalidArgument, "the node has more than 64 checks");
  if (size_bytes > kMaxRecordBytes)
    return Fail(Code::kInvalidArgument, "the node's record is larger than 262144 bytes");
  return {};
}

Result<void> Registry::Register(Entry entry) {
  KV_RETURN_IF_ERROR(ValidateEntry(entry));
  KV_RETURN_IF_ERROR(CheckNodeRoom(entry));
  Normalize(entry.details);
  for (Check& check : entry.checks) {
    Normalize(check.definition.details);
    check.output = CleanOutput(check.output, kMaxCutOutputBytes);
  }
  Item& item = items_[entry.id];
  // The refusal was the other token's.
  if (item.entry.token != entry.token) item.blocked = false;
  KeepResults(item.entry, entry);
  // An entry that was not here may have been in an earlier life: the catalog may know better.
  item.has_new_details = !item.entry.id.empty() && !item.deleted &&
                         (item.has_new_details || item.entry.details != entry.details);
  item.entry = std::move(entry);
  item.deleted = false;
  MarkDirty(item);
  return {};
}

Result<void> Registry::Deregister(const std::string& id, const std::string& token) {
  Item* item = Visible(id);
  if (item == nullptr) return Fail(Code::kNotFound, "there is no entry " + CleanOutput(id));
  item->deleted = true;
  if (!token.empty() && item->entry.token != token) {
    item->entry.token = token;
    item->blocked = false;
  }
  MarkDirty(*item);
  // There is nothing to be removed first.
  if (IsOfNode(*item) && !options_.keeps_records) items_.erase(id);
  return {};
}

Result<bool> Registry::UpdateCheck(const std::string& id, const std::string& check_id,
                                   Health health, std::string_view output, TimePoint now,
                                   Rng& rng) {
  Item* item = Visible(id);
  if (item == nullptr) return Fail(Code::kNotFound, "there is no entry " + CleanOutput(id));
  const auto check = std::ranges::find(item->entry.checks, check_id,
                                       [](const Check& c) { return c.definition.id; });
  if (check == item->entry.checks.end())
    return Fail(Code::kNotFound, "entry " + id + " has no check " + CleanOutput(check_id));
  // Other results have been cut to the check's size by the prober or the API.
  const CheckDefinition& definition = check->definition;
  const bool is_plain = definition.kind == CheckKind::kTtl && definition.details.empty();
  std::string clean =
      CleanOutput(output, is_plain ? definition.output_max_bytes : kMaxCutOutputBytes);
  if (check->health == health && check->output == clean) return false;
  check->output = std::move(clean);
  if (std::exchange(check->health, health) != health ||
      options_.output_interval <= Duration::zero()) {
    MarkDirty(*item);
    return true;
  }
  if (item->output_due == kNever) {
    item->output_due = now + options_.output_interval / 2 + Stagger(rng, options_.output_interval);
  }
  return false;
}

void Registry::NoteReport(const std::string& id, const std::string& check_id,
                          std::int64_t unix_ns) {
  Item* item = Visible(id);
  if (item == nullptr) return;
  for (Check& check : item->entry.checks) {
    if (check.definition.id == check_id) check.reported_unix_ns = unix_ns;
  }
  ++reports_;
}

std::vector<Registry::Listed> Registry::List(Which which) const {
  std::vector<Listed> list;
  for (const auto& [id, item] : items_) {
    if (item.deleted && which == Which::kVisible) continue;
    list.push_back({.entry = item.entry,
                    .in_sync = item.in_sync,
                    .deleted = item.deleted,
                    .blocked = item.blocked,
                    .version = item.version});
  }
  return list;
}

std::vector<Entry> Registry::Shown() const {
  std::vector<Entry> entries;
  for (const auto& [id, item] : items_) {
    if (item.deleted) continue;
    Entry& entry = entries.emplace_back(item.entry);
    for (std::size_t i = 0; i < entry.checks.size(); ++i)
      entry.checks[i].output = item.shown_outputs[i];
  }
  return entries;
}

// The node's record counts by itself only if no entry of a check of the node tells of it.
std::size_t Registry::dirty() const {
  const auto is_dirty = [](const auto& item) { return !item.second.in_sync; };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(items_, is_dirty));
  const bool is_alone = options_.keeps_records && !node_.in_sync &&
                        std::ranges::none_of(items_, [&](const auto& item) {
                          return IsOfNode(item.second) && is_dirty(item);
                        });
  return count + (is_alone ? 1 : 0);
}

std::size_t Registry::blocked() const {
  const auto is_blocked = [](const auto& item) { return item.second.blocked; };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(items_, is_blocked));
  const bool is_alone = node_.blocked && std::ranges::none_of(items_, [&](const auto& item) {
                          return IsOfNode(item.second) && is_blocked(item);
                        });
  return count + (is_alone ? 1 : 0);
}

std::vector<Registry::Change> Registry::TakeChanges() {
  std::vector<Change> changes;
  if (auto change = TakeNodeChange()) changes.push_back(*std::move(change));
  for (auto& [id, item] : items_) {
    if (item.in_sync || item.blocked || IsOfNode(item)) continue;
    Change change{.id = id,
                  .version = item.version,
                  .name = item.entry.name,
                  .record = {},
                  .stale_names = item.names,
                  .kept = {},
                  .token = item.entry.token};
    item.names.insert(item.entry.name);
    if (item.deleted) {
      change.stale_names = item.names;
    } else {
      const KeptService record = RecordOf(item);
      change.record = EncodeRecord(LeasedOf(record));
      change.stale_names.erase(item.entry.name);
      if (options_.keeps_records) {
        std::string kept = EncodeKeptService(record);
        if (item.kept != kept) change.kept = std::move(kept);
      }
    }
    // Unknown until the write has succeeded.
    if (change.kept || item.deleted) item.kept.reset();
    changes.push_back(std::move(change));
  }
  return changes;
}

// A record that the store has already is not written.
std::optional<Registry::Change> Registry::TakeNodeChange() {
  if (!options_.keeps_records || node_.in_sync || node_.blocked) return std::nullopt;
  std::string kept = NodeRecord();
  if (node_.kept == kept) {
    ConfirmNode();
    return std::nullopt;
  }
  node_.kept.reset();
  return Change{.id = std::string(kNodeRecord),
                .version = node_.version,
                .name = {},
                .record = {},
                .stale_names = {},
                .kept = std::move(kept),
                .token = {}};
}

// The node's record says what the entries say now.
void Registry::ConfirmNode() {
  node_.in_sync = true;
  node_.blocked = false;
  node_.kept = NodeRecord();
  std::erase_if(items_,
                [](const auto& item) { return IsOfNode(item.second) && item.second.deleted; });
  for (auto& [id, item] : items_) {
    if (!IsOfNode(item)) continue;
    item.in_sync = true;
    item.blocked = false;
  }
}

void Registry::Confirm(const std::string& id, std::uint64_t version) {
  if (id == kNodeRecord) {
    if (version == node_.version) ConfirmNode();
    return;
  }
  const auto found = items_.find(id);
  if (found == items_.end() || found->second.version != version) return;
  Item& item = found->second;
  if (item.deleted) {
    items_.erase(found);
    return;
  }
  item.in_sync = true;
  item.blocked = false;
  item.has_new_details = false;
  item.names = {item.entry.name};
  if (options_.keeps_records) item.kept = EncodeKeptService(RecordOf(item));
}

void Registry::Block(const std::string& id) {
  if (id == kNodeRecord) {
    node_.blocked = true;
    for (auto& [each, item] : items_) item.blocked = item.blocked || IsOfNode(item);
    return;
  }
  const auto found = items_.find(id);
  if (found != items_.end()) found->second.blocked = true;
}

void Registry::Unblock() {
  for (auto& [id, item] : items_) item.blocked = false;
  node_.blocked = false;
}

void Registry::Allow(const std::string& id, const std::string& token) {
  const auto found = items_.find(id);
  if (found != items_.end() && !IsOfNode(found->second)) {
    if (found->second.entry.token == token) found->second.blocked = false;
  } else if (id.starts_with(kNodeRecord) && token.empty()) {
    // The node's record is the agent's own to write.
    node_.blocked = false;
    for (auto& [each, item] : items_) item.blocked = item.blocked && !IsOfNode(item);
  }
}

void Registry::MarkAllDirty() {
  for (auto& [id, item] : items_) {
    MarkDirty(item);
    item.kept.reset();
  }
  node_.kept.reset();
  if (!options_.keeps_records) return;
  node_.in_sync = false;
  node_.version = ++last_version_;
}

std::vector<std::pair<std::string, std::string>> Registry::IdsAndNames() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [id, item] : items_) {
    if (!IsOfNode(item)) all.emplace_back(id, item.entry.name);
  }
  return all;
}

std::vector<std::pair<std::string, std::set<std::string>>> Registry::Places() const {
  std::vector<std::pair<std::string, std::set<std::string>>> all;
  for (const auto& [id, item] : items_) {
    if (IsOfNode(item)) continue;
    all.emplace_back(id, item.names);
    all.back().second.insert(item.entry.name);
  }
  return all;
}

void Registry::Compare(const std::string& id, const std::string& name, const Remote& remote) {
  const auto found = items_.find(id);
  if (found == items_.end()) return;
  Item& item = found->second;
  if (remote.record) {
    if (const auto record = DecodeRecord(*remote.record)) item.names.insert(record->name);
  }
  if (remote.service_record) item.names.insert(name);
  item.kept = remote.kept;
  if (item.deleted || item.entry.name != name) return;
  TakeOver(item);
  const KeptService ours = RecordOf(item);
  const std::string record = EncodeRecord(LeasedOf(ours));
  const bool is_equal = remote.is_ours && remote.record == record &&
                        remote.service_record == record &&
                        (!options_.keeps_records || remote.kept == EncodeKeptService(ours));
  if (is_equal) {
    Confirm(id, item.version);
  } else if (item.in_sync) {
    MarkDirty(item);
  }
}

// Details that were registered here and not written yet are newer than the store's.
void Registry::TakeOver(Item& item) {
  if (!options_.take_over || !item.kept || item.has_new_details) return;
  auto details = options_.take_over(item.entry.details, *item.kept);
  if (!details) return;
  Normalize(*details);
  if (*details == item.entry.details) return;
  Entry changed = item.entry;
  changed.details = *std::move(details);
  // They may not fit beside what else the entry has.
  if (!ValidateEntry(changed)) return;
  item.entry = std::move(changed);
  // The state file is to have them too.
  item.version = ++last_version_;
}

void Registry::CompareNode(const std::optional<std::string>& kept) {
  node_.kept = kept;
  if (kept == NodeRecord()) return ConfirmNode();
  if (!node_.in_sync) return;
  node_.in_sync = false;
  node_.version = ++last_version_;
}

bool Registry::Has(const std::string& id) const {
  const auto found = items_.find(id);
  return found != items_.end() && !IsOfNode(found->second);
}

bool Registry::TakeDueOutputs(TimePoint now) {
  bool is_any = false;
  for (auto& [id, item] : items_) {
    if (item.output_due > now) continue;
    item.output_due = kNever;
    if (std::ranges::equal(item.entry.checks, item.shown_outputs, {}, &Check::output)) continue;
    MarkDirty(item);
    is_any = true;
  }
  return is_any;
}

TimePoint Registry::next_output() const {
  TimePoint next = kNever;
  for (const auto& [id, item] : items_) next = std::min(next, item.output_due);
  return next;
}

// An entry that is written for another reason takes the newest outputs along.
void Registry::MarkDirty(Item& item) {
  item.in_sync = IsOfNode(item) && !options_.keeps_records;
  item.version = ++last_version_;
  item.output_due = kNever;
  item.shown_outputs.clear();
  for (const Check& check : item.entry.checks) item.shown_outputs.push_back(check.output);
  if (!IsOfNode(item)) return;
  node_.in_sync = false;
  node_.version = item.version;
}

KeptService Registry::RecordOf(const Item& item) const {
  KeptService record{.id = item.entry.id,
                     .name = item.entry.name,
                     .value = item.entry.value,
                     .details = item.entry.details};
  const std::size_t room = OutputRoom(item.entry.checks.size());
  for (std::size_t i = 0; i < item.entry.checks.size(); ++i) {
    const Check& check = item.entry.checks[i];
    record.checks.push_back({.status = {.id = check.definition.id,
                                        .health = check.health,
                                        .output = CleanOutput(item.shown_outputs[i], room)},
                             .details = check.definition.details});
  }
  return record;
}

std::string Registry::NodeRecord() const {
  KeptNode record{.details = options_.node_details};
  const auto checks = static_cast<std::size_t>(std::ranges::count_if(
      items_, [](const auto& item) { return IsOfNode(item.second) && !item.second.deleted; }));
  for (const auto& [id, item] : items_) {
    if (!IsOfNode(item) || item.deleted) continue;
    KeptCheck check = RecordOf(item).checks.front();
    check.status.output = CleanOutput(check.status.output, OutputRoom(checks));
    record.checks.push_back(std::move(check));
  }
  return EncodeKeptNode(record);
}

Registry::Item* Registry::Visible(const std::string& id) {
  const auto found = items_.find(id);
  return found == items_.end() || found->second.deleted ? nullptr : &found->second;
}

}  // namespace kvorum::sync
