#include "tests/sim/judges/event_history.h"

#include <algorithm>

#include "base/check.h"
#include "mvcc/records/key_value.h"

namespace kvorum::sim {
namespace {

mvcc::KeyValue Decode(std::string_view record) {
  const auto kv = mvcc::DecodeKeyValue(record);
  KV_CHECK(kv.has_value(), "the store published a record that is not a key-value pair");
  return *kv;
}

}  // namespace

void EventHistory::Take(const std::string& who, std::int64_t first, std::int64_t last,
                        const mvcc::WriteBuffer::View& records) {
  std::int64_t revision = first - 1;
  std::vector<PublishedEvent> events;
  const auto finish = [&] {
    if (events.empty()) return;
    if (revision > last_revision() + 1) {
      world_.Fail("{} publishes revision {}, and nobody has published {}", who, revision,
                  last_revision() + 1);
      return;
    }
    if (revision == last_revision() + 1) return Add(revision, std::exchange(events, {}));
    const auto& known = At(revision);
    const bool same =
        std::ranges::equal(events, known, [](const PublishedEvent& a, const PublishedEvent& b) {
          return a.is_delete == b.is_delete && a.key == b.key && a.record == b.record;
        });
    if (!same) world_.Fail("{} publishes other events of revision {} than others", who, revision);
    events.clear();
  };
  records.Scan({.main = first, .sub = 0}, [&](const mvcc::RevisionRecord& record) {
    if (record.revision.main > last || world_.failed()) return false;
    if (record.revision.main != revision) {
      finish();
      if (record.revision.main != revision + 1)
        world_.Fail("{} publishes nothing of revision {}", who, revision + 1);
      revision = record.revision.main;
    }
    events.push_back({.is_delete = record.tombstone,
                      .key = std::string(Decode(record.value).key),
                      .record = std::string(record.value),
                      .previous = {}});
    return true;
  });
  finish();
  if (revision != last && !world_.failed())
    world_.Fail("{} publishes nothing of revision {}", who, revision + 1);
}

void EventHistory::Add(std::int64_t revision, std::vector<PublishedEvent> events) {
  std::set<lease::LeaseId> deleted_of;
  for (PublishedEvent& event : events) {
    const auto before = rows_.find(event.key);
    lease::LeaseId lease_before = lease::kNoLease;
    if (before != rows_.end()) {
      event.previous = before->second.record;
      lease_before = before->second.lease;
    }
    const lease::LeaseId lease_after =
        event.is_delete ? lease::kNoLease : Decode(event.record).lease;
    deleted_of.insert(event.is_delete ? lease_before : lease::kNoLease);
    if (event.is_delete) {
      rows_.erase(event.key);
    } else {
      rows_[event.key] = {.record = event.record, .lease = lease_after};
    }
    Attach(revision, event.key, lease_before, lease_after);
  }
  if (deleted_of.size() == 1 && !deleted_of.contains(lease::kNoLease) &&
      KeysOf(*deleted_of.begin()).empty()) {
    ends_of_leases_.emplace(revision, *deleted_of.begin());
    if (events.size() > 1) world_.faults.Add(Fault::kLeaseKeysGone);
  }
  revisions_.push_back({.events = std::move(events), .when = world_.scheduler.Now()});
}

void EventHistory::Attach(std::int64_t revision, const std::string& key, lease::LeaseId from,
                          lease::LeaseId to) {
  if (from == to) return;
  const auto change = [&](lease::LeaseId lease, auto&& apply) {
    if (lease == lease::kNoLease) return;
    auto& changes = keys_[lease];
    if (changes.empty()) changes.emplace_back(0, std::set<std::string>());
    if (changes.back().first != revision) changes.emplace_back(revision, changes.back().second);
    apply(changes.back().second);
  };
  change(from, [&](std::set<std::string>& keys) { keys.erase(key); });
  change(to, [&](std::set<std::string>& keys) { keys.insert(key); });
}

std::set<std::string> EventHistory::KeysOf(lease::LeaseId lease) const {
  const auto found = keys_.find(lease);
  return found == keys_.end() ? std::set<std::string>() : found->second.back().second;
}

bool EventHistory::HadKeys(lease::LeaseId lease, const std::set<std::string>& keys,
                           std::int64_t from, std::int64_t to) const {
  const auto found = keys_.find(lease);
  if (found == keys_.end()) return keys.empty();
  const auto& changes = found->second;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const bool ends_before = i + 1 < changes.size() && changes[i + 1].first <= from;
    if (!ends_before && changes[i].first <= to && changes[i].second == keys) return true;
  }
  return false;
}

}  // namespace kvorum::sim
