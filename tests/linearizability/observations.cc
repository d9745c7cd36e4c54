#include "tests/linearizability/observations.h"

#include <algorithm>
#include <cstddef>

namespace kvorum::linearizability {

Observations::Observations(const History& history) {
  for (const Operation& operation : history.operations) {
    if (operation.acknowledged && operation.revision != kNoRevision) See(operation);
  }
  for (auto& [key, of_key] : keys_) {
    std::ranges::sort(of_key.sights, {}, &Sight::at);
    std::ranges::sort(of_key.acknowledged_puts);
  }
}

void Observations::See(const Operation& operation) {
  const bool wrote = Wrote(operation);
  // The compares of a transaction are about the state before it.
  const std::int64_t before = wrote ? operation.revision - 1 : operation.revision;
  if (operation.succeeded) {
    for (const Compare& compare : operation.compares) {
      if (compare.target == Compare::Target::kMod &&
          compare.relation == Compare::Relation::kEqual && compare.number > 0) {
        keys_[compare.key].sights.push_back({before, compare.number, 0, 0});
      }
    }
  }
  const std::vector<Request>& requests = operation.Taken();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].kind == Request::Kind::kPut) {
      keys_[requests[i].key].acknowledged_puts.push_back(operation.revision);
    }
    for (const KeyValue& kv : operation.answers[i].kvs) {
      if (kv.mod_revision == 0) continue;
      seen_.emplace(kv.key, kv.value);
      written_by_[kv.mod_revision].emplace(kv.key, kv.value);
      // A read within a transaction that writes may see its own writes; as a sight it says little.
      if (wrote) continue;
      keys_[kv.key].sights.push_back(
          {operation.revision, kv.mod_revision, kv.create_revision, kv.version});
    }
  }
}

const std::map<std::string, std::string>* Observations::WrittenBy(std::int64_t revision) const {
  const auto found = written_by_.find(revision);
  return found == written_by_.end() ? nullptr : &found->second;
}

bool Observations::WasSeen(const std::string& key, const std::string& value) const {
  return seen_.contains({key, value});
}

Observations::Hint Observations::OfChange(const std::string& key, std::int64_t revision,
                                          const KeyValue* now) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return Hint::kUnknown;
  const OfKey& of_key = found->second;
  const auto sight = std::ranges::lower_bound(of_key.sights, revision, {}, &Sight::at);
  if (sight == of_key.sights.end()) return Hint::kUnknown;
  if (sight->mod_revision < revision) return Hint::kContradicted;
  if (now == nullptr || sight->version == 0 || sight->create_revision != now->create_revision) {
    return Hint::kUnknown;
  }
  // Not deleted in between, so every write of it counts.
  const auto first = std::ranges::lower_bound(of_key.acknowledged_puts, revision);
  const auto last = std::ranges::upper_bound(of_key.acknowledged_puts, sight->mod_revision);
  return sight->version - now->version > last - first ? Hint::kNeeded : Hint::kContradicted;
}

}  // namespace kvorum::linearizability
