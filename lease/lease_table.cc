#include "lease/lease_table.h"

#include <algorithm>

#include "base/check.h"

namespace kvorum::lease {

const Lease* LeaseTable::Find(LeaseId id) const {
  const Leases& part = leases_[PartOf(static_cast<std::uint64_t>(id))];
  const auto found = part.find(id);
  return found == part.end() ? nullptr : &found->second;
}

Lease* LeaseTable::Find(LeaseId id) {
  return const_cast<Lease*>(static_cast<const LeaseTable&>(*this).Find(id));
}

Lease* LeaseTable::Add(const LeaseRecord& record) {
  const auto [place, added] = Part(record.id).try_emplace(record.id, Lease{.record = record});
  if (!added) return nullptr;
  ++size_;
  return &place->second;
}

void LeaseTable::Remove(LeaseId id) {
  Leases& part = Part(id);
  const auto found = part.find(id);
  KV_CHECK(found != part.end(), "a lease is removed that is not there");
  for (AttachedKey* attached = found->second.first_key; attached != nullptr;) {
    const std::string_view key = *attached->key;
    attached = attached->next;
    Keys& keys = Part(key);
    keys.erase(keys.find(key));
    --attached_keys_;
  }
  part.erase(found);
  --size_;
}

void LeaseTable::Unlink(AttachedKey& attached) {
  Lease& lease = *attached.lease;
  if (attached.previous != nullptr) attached.previous->next = attached.next;
  if (attached.next != nullptr) attached.next->previous = attached.previous;
  if (lease.first_key == &attached) lease.first_key = attached.next;
  --lease.keys;
}

void LeaseTable::Link(AttachedKey& attached, Lease& lease) {
  attached.lease = &lease;
  attached.previous = nullptr;
  attached.next = lease.first_key;
  if (lease.first_key != nullptr) lease.first_key->previous = &attached;
  lease.first_key = &attached;
  ++lease.keys;
}

void LeaseTable::Attach(std::string_view key, LeaseId id) {
  Lease* lease = id == kNoLease ? nullptr : Find(id);
  if (lease == nullptr && attached_keys_ == 0) return;
  Keys& part = Part(key);
  auto found = part.find(key);
  if (found != part.end()) {
    AttachedKey& attached = found->second;
    if (attached.lease == lease) return;
    Unlink(attached);
    if (lease != nullptr) return Link(attached, *lease);
    part.erase(found);
    --attached_keys_;
    return;
  }
  if (lease == nullptr) return;
  found = part.try_emplace(std::string(key)).first;
  found->second.key = &found->first;
  Link(found->second, *lease);
  ++attached_keys_;
}

const AttachedKey* LeaseTable::FindKey(std::string_view key) const {
  const Keys& part = keys_[PartOf(HashKey{}(key))];
  const auto found = part.find(key);
  return found == part.end() ? nullptr : &found->second;
}

LeaseId LeaseTable::LeaseOf(std::string_view key) const {
  const AttachedKey* const attached = FindKey(key);
  return attached == nullptr ? kNoLease : attached->lease->record.id;
}

std::vector<std::string> LeaseTable::KeysOf(const Lease& lease) {
  std::vector<std::string> keys = CopyKeys(lease);
  std::ranges::sort(keys);
  return keys;
}

bool LeaseTable::VisitKeys(const Lease& lease, const std::function<bool(std::string_view)>& visit) {
  for (const AttachedKey* attached = lease.first_key; attached != nullptr;
       attached = attached->next) {
    if (!visit(*attached->key)) return false;
  }
  return true;
}

std::vector<std::string> LeaseTable::CopyKeys(const Lease& lease) {
  std::vector<std::string> keys;
  keys.reserve(lease.keys);
  for (const AttachedKey* attached = lease.first_key; attached != nullptr;
       attached = attached->next) {
    keys.push_back(*attached->key);
  }
  return keys;
}

void LeaseTable::ForEach(const std::function<void(Lease& lease)>& visit) {
  for (Leases& part : leases_)
    for (auto& [id, lease] : part) visit(lease);
}

void LeaseTable::ForEach(const std::function<void(const Lease& lease)>& visit) const {
  for (std::size_t part = 0; part < kParts; ++part) ForEachIn(part, visit);
}

void LeaseTable::ForEachIn(std::size_t part,
                           const std::function<void(const Lease& lease)>& visit) const {
  for (const auto& [id, lease] : leases_[part]) visit(lease);
}

void LeaseTable::ForEachKeyIn(
    std::size_t part, const std::function<void(std::string_view key, LeaseId id)>& visit) const {
  for (const auto& [key, attached] : keys_[part]) visit(key, attached.lease->record.id);
}

void LeaseTable::CheckInvariants() const {
  std::size_t leases = 0;
  std::size_t in_lists = 0;
  ForEach([&](const Lease& lease) {
    ++leases;
    std::size_t keys = 0;
    const AttachedKey* previous = nullptr;
    for (const AttachedKey* attached = lease.first_key; attached != nullptr;
         attached = attached->next) {
      KV_CHECK(attached->lease == &lease, "a key hangs in another lease's list");
      KV_CHECK(attached->previous == previous, "a list of keys that does not lead back");
      previous = attached;
      ++keys;
    }
    KV_CHECK(keys == lease.keys, "a lease miscounts its keys");
    in_lists += keys;
  });
  std::size_t keys = 0;
  for (const Keys& part : keys_) {
    for (const auto& [key, attached] : part) {
      KV_CHECK(attached.key == &key, "an attachment of another key");
      ++keys;
    }
  }
  KV_CHECK(leases == size_, "the leases are miscounted");
  KV_CHECK(keys == attached_keys_ && in_lists == keys, "the attached keys are miscounted");
}

}  // namespace kvorum::lease
