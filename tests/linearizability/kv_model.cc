#include "tests/linearizability/kv_model.h"

#include <compare>
#include <functional>
#include <utility>

#include "tests/linearizability/history_text.h"

namespace kvorum::linearizability {
namespace {

std::uint64_t Mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t Digest(const KeyValue& kv) {
  std::uint64_t digest = Mixed(std::hash<std::string>()(kv.key));
  digest = Mixed(digest + std::hash<std::string>()(kv.value));
  for (const std::int64_t number : {kv.mod_revision, kv.create_revision, kv.version}) {
    digest = Mixed(digest + static_cast<std::uint64_t>(number) + 1);
  }
  return digest;
}

bool Related(std::strong_ordering order, Compare::Relation relation) {
  switch (relation) {
    case Compare::Relation::kEqual:
      return order == std::strong_ordering::equal;
    case Compare::Relation::kNotEqual:
      return order != std::strong_ordering::equal;
    case Compare::Relation::kGreater:
      return order == std::strong_ordering::greater;
    case Compare::Relation::kLess:
      return order == std::strong_ordering::less;
  }
  return false;
}

bool Agree(const KeyValue& seen, const KeyValue& expected) {
  const auto same = [](std::int64_t a, std::int64_t b) { return a == 0 || a == b; };
  return seen.key == expected.key && seen.value == expected.value &&
         same(seen.mod_revision, expected.mod_revision) &&
         same(seen.create_revision, expected.create_revision) &&
         same(seen.version, expected.version);
}

std::optional<Difference> ComparedKvs(const Answer& seen, const Answer& expected) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < seen.kvs.size() || j < expected.kvs.size()) {
    const KeyValue* left = i < seen.kvs.size() ? &seen.kvs[i] : nullptr;
    const KeyValue* right = j < expected.kvs.size() ? &expected.kvs[j] : nullptr;
    if (left != nullptr && right != nullptr && left->key == right->key) {
      if (!Agree(*left, *right)) {
        return Difference{"it found " + ToText(*left) + ", but there was " + ToText(*right), *left,
                          *right};
      }
      ++i;
      ++j;
    } else if (right == nullptr || (left != nullptr && left->key < right->key)) {
      return Difference{"it found " + ToText(*left) + ", but there was no such key", *left, {}};
    } else {
      return Difference{"it did not find " + ToText(*right), {}, *right};
    }
  }
  return std::nullopt;
}

}  // namespace

KvModel::KvModel(const History& history) : revision_(history.start_revision) {
  for (const KeyValue& kv : history.start) Set(kv.key, kv);
  changes_.clear();
}

const KeyValue* KvModel::Find(const std::string& key) const {
  const auto found = kvs_.find(key);
  return found == kvs_.end() ? nullptr : &found->second;
}

void KvModel::Set(const std::string& key, std::optional<KeyValue> kv) {
  const auto found = kvs_.find(key);
  std::optional<KeyValue> before;
  if (found != kvs_.end()) {
    fingerprint_ -= Digest(found->second);
    before = std::move(found->second);
  }
  if (kv.has_value()) {
    fingerprint_ += Digest(*kv);
    if (found != kvs_.end()) {
      found->second = *std::move(kv);
    } else {
      kvs_.emplace(key, *std::move(kv));
    }
  } else if (found != kvs_.end()) {
    kvs_.erase(found);
  }
  changes_.push_back({key, std::move(before)});
}

void KvModel::GoBack(Mark mark) {
  while (changes_.size() > mark.changes) {
    Change change = std::move(changes_.back());
    changes_.pop_back();
    Set(change.key, std::move(change.before));
    changes_.pop_back();
  }
  revision_ = mark.revision;
}

bool KvModel::Holds(const Compare& compare) const {
  const KeyValue* kv = Find(compare.key);
  switch (compare.target) {
    case Compare::Target::kValue:
      // The API's rule: a value compare of an absent key never holds.
      return kv != nullptr && Related(kv->value <=> compare.value, compare.relation);
    case Compare::Target::kVersion:
      return Related((kv == nullptr ? 0 : kv->version) <=> compare.number, compare.relation);
    case Compare::Target::kCreate:
      return Related((kv == nullptr ? 0 : kv->create_revision) <=> compare.number,
                     compare.relation);
    case Compare::Target::kMod:
      return Related((kv == nullptr ? 0 : kv->mod_revision) <=> compare.number, compare.relation);
  }
  return false;
}

Answer KvModel::Run(const Request& request, std::int64_t revision, bool& wrote) {
  Answer answer;
  switch (request.kind) {
    case Request::Kind::kPut: {
      const KeyValue* old = Find(request.key);
      Set(request.key, KeyValue{.key = request.key,
                                .value = request.value,
                                .mod_revision = revision,
                                .create_revision = old == nullptr ? revision : old->create_revision,
                                .version = old == nullptr ? 1 : old->version + 1});
      wrote = true;
      break;
    }
    case Request::Kind::kDelete:
    case Request::Kind::kRead:
      for (auto at = kvs_.lower_bound(request.key);
           at != kvs_.end() && InRange(at->first, request.key, request.range_end); ++at) {
        answer.kvs.push_back(at->second);
      }
      if (request.kind == Request::Kind::kRead) break;
      for (const KeyValue& kv : answer.kvs) Set(kv.key, std::nullopt);
      answer.deleted = static_cast<std::int64_t>(answer.kvs.size());
      answer.kvs.clear();
      wrote = wrote || answer.deleted > 0;
      break;
  }
  return answer;
}

KvModel::Outcome KvModel::Apply(const Operation& operation) {
  Outcome outcome;
  for (const Compare& compare : operation.compares) {
    outcome.succeeded = outcome.succeeded && Holds(compare);
  }
  for (const Request& request : outcome.succeeded ? operation.success : operation.failure) {
    outcome.answers.push_back(Run(request, revision_ + 1, outcome.wrote));
  }
  if (outcome.wrote) ++revision_;
  outcome.revision = revision_;
  return outcome;
}

std::optional<Difference> Compared(const Operation& operation, const KvModel::Outcome& model) {
  if (operation.succeeded != model.succeeded) {
    return Difference{model.succeeded ? "its compares held, but it says no"
                                      : "its compares did not hold, but it says yes",
                      {},
                      {}};
  }
  const std::vector<Request>& requests = operation.Taken();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Answer& seen = operation.answers[i];
    const Answer& expected = model.answers[i];
    if (seen.deleted != expected.deleted) {
      return Difference{"it says it deleted " + std::to_string(seen.deleted) + " keys, but " +
                            std::to_string(expected.deleted) + " were there",
                        {},
                        {}};
    }
    if (auto difference = ComparedKvs(seen, expected)) return difference;
  }
  if (operation.revision != kNoRevision && operation.revision != model.revision) {
    return Difference{"its revision is " + std::to_string(operation.revision) + ", not " +
                          std::to_string(model.revision),
                      {},
                      {}};
  }
  return std::nullopt;
}

}  // namespace kvorum::linearizability
