#include "tests/linearizability/revision_order.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "tests/linearizability/history_text.h"

namespace kvorum::linearizability {
namespace {

Verdict Violation(Flaw flaw, std::string explanation) {
  Verdict verdict;
  verdict.kind = Verdict::Kind::kViolation;
  verdict.flaw = flaw;
  verdict.explanation = std::move(explanation);
  return verdict;
}

std::string Line(const Operation& operation) { return "  " + ToText(operation) + "\n"; }

bool Puts(const std::vector<Request>& requests, const std::string& key, const std::string& value) {
  return std::ranges::any_of(requests, [&](const Request& request) {
    return request.kind == Request::Kind::kPut && request.key == key && request.value == value;
  });
}

bool MayPut(const Operation& operation, const std::string& key, const std::string& value) {
  return Puts(operation.success, key, value) || Puts(operation.failure, key, value);
}

}  // namespace

RevisionOrder::RevisionOrder(const History& history, std::size_t max_steps)
    : history_(history),
      max_steps_(max_steps),
      model_(history),
      observations_(history),
      last_revision_(history.start_revision) {}

Verdict RevisionOrder::Check() {
  Finding finding = Sort();
  if (!finding.has_value()) finding = CheckTimes();
  Verdict verdict = finding.has_value() ? *std::move(finding) : Replay();
  for (const Operation& operation : history_.operations) {
    ++(operation.acknowledged ? verdict.acknowledged : verdict.unknown);
  }
  verdict.unknown_applied = chosen_.size();
  verdict.last_revision = last_revision_;
  return verdict;
}

RevisionOrder::Finding RevisionOrder::Sort() {
  for (const Operation& operation : history_.operations) {
    if (!operation.acknowledged) continue;
    KV_CHECK(operation.revision != kNoRevision, "an operation without a revision has no place");
    last_revision_ = std::max(last_revision_, operation.revision);
    const bool wrote = Wrote(operation);
    if (operation.revision < history_.start_revision + (wrote ? 1 : 0)) {
      return Violation(Flaw::kRevisionWentBack,
                       "revision " + std::to_string(history_.start_revision) +
                           " was there before the history begins, and then this was answered:\n" +
                           Line(operation));
    }
    if (!wrote) {
      reads_[operation.revision].push_back(&operation);
      continue;
    }
    const auto [at, is_new] = writes_.emplace(operation.revision, &operation);
    if (!is_new) {
      return Violation(Flaw::kRevisionReused, "two writes were acknowledged with one revision:\n" +
                                                  Line(*at->second) + Line(operation));
    }
  }
  return std::nullopt;
}

// An operation comes after all that were acknowledged before it was called.
RevisionOrder::Finding RevisionOrder::CheckTimes() {
  std::vector<const Operation*> by_return;
  std::vector<const Operation*> by_call;
  for (const Operation& operation : history_.operations) {
    if (operation.acknowledged) by_return.push_back(&operation);
    if (operation.acknowledged || MayWrite(operation)) by_call.push_back(&operation);
  }
  std::ranges::stable_sort(by_return, {}, &Operation::returned);
  std::ranges::stable_sort(by_call, {}, &Operation::call);
  const Operation* newest = nullptr;  // of those that returned before the call at hand
  std::size_t returned = 0;
  for (const Operation* operation : by_call) {
    for (; returned < by_return.size() && by_return[returned]->returned < operation->call;
         ++returned) {
      if (newest == nullptr || by_return[returned]->revision > newest->revision) {
        newest = by_return[returned];
      }
    }
    const std::int64_t known = newest == nullptr ? history_.start_revision : newest->revision;
    if (!operation->acknowledged) {
      unknown_.push_back({operation, known + 1});
      continue;
    }
    const bool wrote = Wrote(*operation);
    if (newest == nullptr || (wrote ? operation->revision > known : operation->revision >= known) ||
        (!wrote && operation->serializable)) {
      continue;
    }
    if (!wrote) {
      return Violation(Flaw::kStaleRead,
                       "revision " + std::to_string(known) + " had been acknowledged:\n" +
                           Line(*newest) + "and then a read that was called later saw revision " +
                           std::to_string(operation->revision) + ":\n" + Line(*operation));
    }
    return Violation(Wrote(*newest) ? Flaw::kRevisionWentBack : Flaw::kReadFromTheFuture,
                     "revision " + std::to_string(known) + " had been answered:\n" + Line(*newest) +
                         "and then a write that was called later was given revision " +
                         std::to_string(operation->revision) + ":\n" + Line(*operation));
  }
  for (Unknown& unknown : unknown_) {
    for (const auto* requests : {&unknown.operation->success, &unknown.operation->failure}) {
      for (const Request& request : *requests) {
        if (request.kind != Request::Kind::kPut) continue;
        unknown.claimed = unknown.claimed || observations_.WasSeen(request.key, request.value);
      }
    }
  }
  return std::nullopt;
}

Verdict RevisionOrder::Replay() {
  bool possible = CheckReads();
  while (steps_ <= max_steps_) {
    if (possible) {
      if (model_.revision() == last_revision_) return {};
      possible = Advance();
    } else {
      if (choices_.empty()) return furthest_;
      Release(choices_.back());
      possible = TryNext();
    }
  }
  furthest_.kind = Verdict::Kind::kUndecided;
  furthest_.explanation.insert(0, "too many operations without an answer; the furthest try:\n");
  return furthest_;
}

bool RevisionOrder::Advance() {
  const auto write = writes_.find(model_.revision() + 1);
  return write != writes_.end() ? ApplyAcknowledged(*write->second) : BeginChoice();
}

bool RevisionOrder::ApplyAcknowledged(const Operation& operation) {
  const KvModel::Outcome outcome = model_.Apply(operation);
  const auto difference = Compared(operation, outcome);
  return difference.has_value() ? WrongAnswer(operation, *difference) : CheckReads();
}

// The reads of the revision that was just reached.
bool RevisionOrder::CheckReads() {
  const auto reads = reads_.find(model_.revision());
  if (reads == reads_.end()) return true;
  for (const Operation* operation : reads->second) {
    const KvModel::Mark before = model_.Here();
    const auto difference = Compared(*operation, model_.Apply(*operation));
    model_.GoBack(before);
    if (difference.has_value()) return WrongAnswer(*operation, *difference);
  }
  return true;
}

bool RevisionOrder::BeginChoice() {
  const std::int64_t revision = model_.revision() + 1;
  Choice choice{.before = model_.Here(), .candidates = {}, .current = {}};
  std::vector<std::pair<int, std::size_t>> ranked;
  const auto* seen = observations_.WrittenBy(revision);
  std::uint64_t state = model_.fingerprint();
  for (std::size_t i = 0; i < unknown_.size(); ++i) {
    const Unknown& unknown = unknown_[i];
    if (unknown.used) state = (state ^ i) * 0x9e3779b97f4a7c15U;
    if (unknown.used || unknown.first_revision > revision) continue;
    if (seen != nullptr && !std::ranges::all_of(*seen, [&](const auto& kv) {
          return MayPut(*unknown.operation, kv.first, kv.second);
        })) {
      continue;
    }
    ranked.emplace_back(Rank(unknown, revision), i);
  }
  // A choice refuted in this state, with these left to choose from, is not tried again.
  if (!refuted_.insert(state).second) return Unexplained(revision);
  std::ranges::sort(ranked);
  for (const auto& [rank, i] : ranked) choice.candidates.push_back(i);
  choices_.push_back(std::move(choice));
  return TryNext();
}

// Lower is tried sooner: first operations that later answers require, then unobserved ones, then
// observed ones.
int RevisionOrder::Rank(const Unknown& unknown, std::int64_t revision) const {
  for (const Request& request : unknown.operation->success) {
    if (request.kind == Request::Kind::kPut &&
        observations_.OfChange(request.key, revision, model_.Find(request.key)) ==
            Observations::Hint::kNeeded) {
      return unknown.claimed ? 1 : 0;
    }
  }
  return unknown.claimed ? 3 : 2;
}

bool RevisionOrder::TryNext() {
  Choice& choice = choices_.back();
  const std::int64_t revision = choice.before.revision + 1;
  while (choice.next < choice.candidates.size() && ++steps_ <= max_steps_) {
    const std::size_t i = choice.candidates[choice.next++];
    Unknown& unknown = unknown_[i];
    const KvModel::Outcome outcome = model_.Apply(*unknown.operation);
    if (!outcome.wrote || !Fits(choice.before)) {
      model_.GoBack(choice.before);
      continue;
    }
    unknown.used = true;
    choice.current = i;
    chosen_[revision] = unknown.operation;
    if (CheckReads()) return true;
    Release(choice);
  }
  choices_.pop_back();
  return Unexplained(revision);
}

// True if the answers about this revision agree with the model's result.
bool RevisionOrder::Fits(KvModel::Mark before) const {
  const std::int64_t revision = before.revision + 1;
  if (const auto* seen = observations_.WrittenBy(revision)) {
    for (const auto& [key, value] : *seen) {
      const KeyValue* kv = model_.Find(key);
      if (kv == nullptr || kv->mod_revision != revision || kv->value != value) return false;
    }
  }
  return std::ranges::all_of(model_.ChangesSince(before), [&](const KvModel::Change& change) {
    return observations_.OfChange(change.key, revision,
                                  change.before.has_value() ? &*change.before : nullptr) !=
           Observations::Hint::kContradicted;
  });
}

void RevisionOrder::Release(Choice& choice) {
  model_.GoBack(choice.before);
  if (!choice.current.has_value()) return;
  unknown_[*choice.current].used = false;
  choice.current.reset();
  chosen_.erase(choice.before.revision + 1);
}

bool RevisionOrder::WrongAnswer(const Operation& operation, const Difference& difference) {
  if (model_.revision() <= furthest_revision_) return false;
  furthest_revision_ = model_.revision();
  const std::int64_t seen = difference.seen.has_value() ? difference.seen->mod_revision : 0;
  const std::int64_t expected =
      difference.expected.has_value() ? difference.expected->mod_revision : 0;
  const bool lost = difference.expected.has_value() && seen < expected;
  std::string text = "at revision " + std::to_string(operation.revision) + " " + difference.text +
                     ":\n" + Line(operation);
  if (expected > 0) AppendMaker(text, expected);
  if (seen > 0 && seen != expected) AppendMaker(text, seen);
  furthest_ = Violation(lost ? Flaw::kLostWrite : Flaw::kWrongAnswer, std::move(text));
  return false;
}

void RevisionOrder::AppendMaker(std::string& text, std::int64_t revision) const {
  const auto write = writes_.find(revision);
  const auto guess = chosen_.find(revision);
  if (write != writes_.end()) {
    text += "revision " + std::to_string(revision) + " was made by\n" + Line(*write->second);
  } else if (guess != chosen_.end()) {
    text += "revision " + std::to_string(revision) +
            " can only have been made by one without an answer, such as\n" + Line(*guess->second);
  }
}

bool RevisionOrder::Unexplained(std::int64_t revision) {
  if (model_.revision() <= furthest_revision_) return false;
  furthest_revision_ = model_.revision();
  std::string text = "revision " + std::to_string(revision) + " was made by no operation that ";
  text += "was acknowledged, and by none without an answer that could have made it\n";
  const auto* seen = observations_.WrittenBy(revision);
  Flaw flaw = Flaw::kRevisionOfNobody;
  std::set<const Operation*> shown;
  if (seen != nullptr) {
    for (const Operation& operation : history_.operations) {
      for (const Answer& answer : operation.answers) {
        for (const KeyValue& kv : answer.kvs) {
          if (kv.mod_revision != revision || !shown.empty()) continue;
          shown.insert(&operation);
          text += "it was seen by\n" + Line(operation);
        }
      }
    }
    // A value that another revision was acknowledged for: the same write, once more.
    const auto& [key, value] = *seen->begin();
    for (const auto* writes : {&writes_, &chosen_}) {
      for (const auto& [made, operation] : *writes) {
        if (made == revision || flaw == Flaw::kAppliedTwice || !MayPut(*operation, key, value)) {
          continue;
        }
        flaw = Flaw::kAppliedTwice;
        text += "its value is that of revision " + std::to_string(made) + ":\n" + Line(*operation);
      }
    }
  }
  for (const auto& [kind, at] : {std::pair{"before", writes_.lower_bound(revision)},
                                 std::pair{"after", writes_.upper_bound(revision)}}) {
    const bool before = std::string_view(kind) == "before";
    if (before ? at == writes_.begin() : at == writes_.end()) continue;
    text += std::string("the acknowledged write ") + kind + " it is\n" +
            Line(*(before ? std::prev(at) : at)->second);
  }
  furthest_ = Violation(flaw, std::move(text));
  return false;
}

}  // namespace kvorum::linearizability
