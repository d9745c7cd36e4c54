#include "sync/agent/registry.h"

#include <algorithm>
#include <utility>

#include "sync/agent/catalog.h"
#include "sync/kernel/jitter.h"

namespace kvorum::sync {
namespace {

// Results outlive a new registration of the same check.
void KeepResults(const Entry& old, Entry& entry) {
  for (Check& check : entry.checks) {
    const auto kept = std::ranges::find(old.checks, check.definition, &Check::definition);
    if (kept != old.checks.end()) check = *kept;
  }
}

}  // namespace

Result<void> Registry::Register(Entry entry) {
  KV_RETURN_IF_ERROR(ValidateEntry(entry));
  for (Check& check : entry.checks) check.output = CleanOutput(check.output);
  Item& item = items_[entry.id];
  KeepResults(item.entry, entry);
  item.entry = std::move(entry);
  item.deleted = false;
  MarkDirty(item);
  return {};
}

Result<void> Registry::Deregister(const std::string& id) {
  Item* item = Visible(id);
  if (item == nullptr) return Fail(Code::kNotFound, "there is no entry " + CleanOutput(id));
  item->deleted = true;
  MarkDirty(*item);
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
  std::string clean = CleanOutput(output);
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

std::size_t Registry::dirty() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(items_, [](const auto& item) { return !item.second.in_sync; }));
}

std::size_t Registry::blocked() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(items_, [](const auto& item) { return item.second.blocked; }));
}

std::vector<Registry::Change> Registry::TakeChanges() {
  std::vector<Change> changes;
  for (auto& [id, item] : items_) {
    if (item.in_sync || item.blocked) continue;
    Change change{.id = id,
                  .version = item.version,
                  .name = item.entry.name,
                  .record = {},
                  .stale_names = item.names};
    item.names.insert(item.entry.name);
    if (item.deleted) {
      change.stale_names = item.names;
    } else {
      change.record = RecordOf(item);
      change.stale_names.erase(item.entry.name);
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

void Registry::Confirm(const std::string& id, std::uint64_t version) {
  const auto found = items_.find(id);
  if (found == items_.end() || found->second.version != version) return;
  Item& item = found->second;
  if (item.deleted) {
    items_.erase(found);
    return;
  }
  item.in_sync = true;
  item.blocked = false;
  item.names = {item.entry.name};
}

void Registry::Block(const std::string& id) {
  const auto found = items_.find(id);
  if (found != items_.end()) found->second.blocked = true;
}

void Registry::Unblock() {
  for (auto& [id, item] : items_) item.blocked = false;
}

void Registry::MarkAllDirty() {
  for (auto& [id, item] : items_) MarkDirty(item);
}

std::vector<std::pair<std::string, std::string>> Registry::IdsAndNames() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [id, item] : items_) all.emplace_back(id, item.entry.name);
  return all;
}

std::vector<std::pair<std::string, std::set<std::string>>> Registry::Places() const {
  std::vector<std::pair<std::string, std::set<std::string>>> all;
  for (const auto& [id, item] : items_) {
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
  if (item.deleted || item.entry.name != name) return;
  const std::string record = RecordOf(item);
  const bool is_equal =
      remote.is_ours && remote.record == record && remote.service_record == record;
  if (is_equal) {
    Confirm(id, item.version);
  } else if (item.in_sync) {
    MarkDirty(item);
  }
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
  item.in_sync = false;
  item.version = ++last_version_;
  item.output_due = kNever;
  item.shown_outputs.clear();
  for (const Check& check : item.entry.checks) item.shown_outputs.push_back(check.output);
}

std::string Registry::RecordOf(const Item& item) const {
  CatalogRecord record{.id = item.entry.id, .name = item.entry.name, .value = item.entry.value};
  for (std::size_t i = 0; i < item.entry.checks.size(); ++i) {
    const Check& check = item.entry.checks[i];
    record.checks.push_back(
        {.id = check.definition.id, .health = check.health, .output = item.shown_outputs[i]});
  }
  return EncodeRecord(record);
}

Registry::Item* Registry::Visible(const std::string& id) {
  const auto found = items_.find(id);
  return found == items_.end() || found->second.deleted ? nullptr : &found->second;
}

}  // namespace kvorum::sync
