#include "tests/linearizability/checker.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/linearizability/history_text.h"
#include "tests/linearizability/kv_model.h"
#include "tests/linearizability/revision_order.h"
#include "tests/linearizability/search.h"

namespace kvorum::linearizability {
namespace {

using Operations = std::vector<const Operation*>;

// The one key of an operation that knows no revision and touches no other; null else.
const std::string* OnlyKey(const Operation& operation) {
  if (operation.revision != kNoRevision || operation.is_txn) return nullptr;
  const Request& request = operation.success.front();
  return request.range_end.empty() ? &request.key : nullptr;
}

// Groups of independent operations: linearizability is local (Herlihy and Wing), so each is checked
// separately.
std::vector<Operations> Independent(const History& history) {
  std::map<std::string, Operations> by_key;
  Operations all;
  bool local = true;
  for (const Operation& operation : history.operations) {
    if (operation.serializable) continue;
    all.push_back(&operation);
    const std::string* key = OnlyKey(operation);
    local = local && key != nullptr;
    if (local) by_key[*key].push_back(&operation);
  }
  if (!local) return {all};
  std::vector<Operations> groups;
  for (auto& [key, operations] : by_key) groups.push_back(std::move(operations));
  return groups;
}

std::string Explained(const SearchResult& result, const Operations& operations) {
  constexpr std::size_t kShown = 5;
  std::vector<bool> ordered(operations.size());
  std::string text = "the longest order that gives these answers ends with\n";
  const std::size_t length = result.longest.size();
  for (std::size_t i = 0; i < length; ++i) {
    ordered[result.longest[i]] = true;
    if (i + kShown >= length) text += "  " + ToText(*operations[result.longest[i]]) + "\n";
  }
  // The operations that may come next: called before any of the rest returned.
  std::int64_t first_return = kNeverReturned;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (!ordered[i]) first_return = std::min(first_return, operations[i]->returned);
  }
  text += "and none of these can follow\n";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < operations.size() && shown < kShown; ++i) {
    if (ordered[i] || !operations[i]->acknowledged || operations[i]->call > first_return) continue;
    text += "  " + ToText(*operations[i]) + "\n";
    ++shown;
  }
  return text;
}

Verdict CheckBySearch(const History& history, std::size_t max_steps) {
  Verdict verdict;
  for (const Operation& operation : history.operations) {
    ++(operation.acknowledged ? verdict.acknowledged : verdict.unknown);
  }
  for (const Operations& group : Independent(history)) {
    const SearchResult result = Search(KvModel(history), group, max_steps);
    switch (result.kind) {
      case SearchResult::Kind::kOrdered:
        break;
      case SearchResult::Kind::kImpossible:
        verdict.kind = Verdict::Kind::kViolation;
        verdict.flaw = Flaw::kNoOrder;
        verdict.explanation = Explained(result, group);
        return verdict;
      case SearchResult::Kind::kGaveUp:
        verdict.kind = Verdict::Kind::kUndecided;
        verdict.explanation = "gave up, " + Explained(result, group);
        break;
    }
  }
  return verdict;
}

}  // namespace

std::string_view Name(Flaw flaw) {
  switch (flaw) {
    case Flaw::kNone:
      return "none";
    case Flaw::kStaleRead:
      return "stale read";
    case Flaw::kReadFromTheFuture:
      return "read from the future";
    case Flaw::kRevisionWentBack:
      return "revision went back";
    case Flaw::kRevisionReused:
      return "revision reused";
    case Flaw::kRevisionOfNobody:
      return "revision of nobody";
    case Flaw::kAppliedTwice:
      return "applied twice";
    case Flaw::kLostWrite:
      return "lost write";
    case Flaw::kWrongAnswer:
      return "wrong answer";
    case Flaw::kNoOrder:
      return "no order";
  }
  return "unknown";
}

Verdict CheckHistory(const History& history, const CheckOptions& options) {
  const bool by_revision = std::ranges::all_of(history.operations, [](const Operation& operation) {
    return !operation.acknowledged || operation.revision != kNoRevision;
  });
  return by_revision ? RevisionOrder(history, options.max_steps).Check()
                     : CheckBySearch(history, options.max_steps);
}

}  // namespace kvorum::linearizability
