// The check by revisions compared with the general search: on random small histories, most of them
// with a random lie, both must agree. The histories come from an honest store whose operations take
// effect at random moments between call and return.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "tests/linearizability/checker.h"
#include "tests/linearizability/history_text.h"
#include "tests/linearizability/kv_model.h"
#include "tests/linearizability/search.h"

namespace kvorum::linearizability {
namespace {

std::string KeyOf(Rng& rng, std::uint64_t keys) { return "k" + std::to_string(rng.Below(keys)); }

Operation RandomOperation(Rng& rng, std::uint64_t keys, std::uint64_t values) {
  const std::string value = "v" + std::to_string(rng.Below(values));
  switch (rng.Below(6)) {
    case 0:
    case 1:
      return Put("c", 0, KeyOf(rng, keys), value);
    case 2:
      return rng.OneIn(3) ? Delete("c", 0, "k", "l") : Delete("c", 0, KeyOf(rng, keys));
    case 3:
      return rng.OneIn(3) ? Read("c", 0, "k", "l") : Read("c", 0, KeyOf(rng, keys));
    case 4: {
      Operation cas = Put("c", 0, KeyOf(rng, keys), value);
      cas.is_txn = true;
      const std::string& key = cas.success.front().key;
      cas.compares.push_back(rng.OneIn(2)
                                 ? Compare{.target = Compare::Target::kVersion,
                                           .relation = Compare::Relation::kEqual,
                                           .key = key,
                                           .value = {},
                                           .number = static_cast<std::int64_t>(rng.Below(3))}
                                 : Compare{.target = Compare::Target::kValue,
                                           .relation = Compare::Relation::kNotEqual,
                                           .key = key,
                                           .value = "v" + std::to_string(rng.Below(values)),
                                           .number = 0});
      cas.failure.push_back(
          {.kind = Request::Kind::kRead, .key = key, .range_end = {}, .value = {}});
      return cas;
    }
    default:
      return Read("c", 0, KeyOf(rng, keys));
  }
}

struct Shape {
  std::size_t operations = 8;
  std::uint64_t keys = 2;
  std::uint64_t values = 3;
  std::uint64_t spread = 40;  // how far call and return lie from the moment of effect, in moments
  std::uint64_t unknown = 4;  // one in this many has no answer
};

History Honest(Rng& rng, const Shape& shape) {
  History history;
  KvModel model(history);
  for (std::size_t i = 0; i < shape.operations; ++i) {
    Operation operation = RandomOperation(rng, shape.keys, shape.values);
    const auto moment = static_cast<std::int64_t>(i * 10 + 1000);
    operation.call = moment - static_cast<std::int64_t>(rng.Below(shape.spread));
    const bool unknown = rng.OneIn(shape.unknown);
    if (unknown && rng.OneIn(2)) {
      history.operations.push_back(std::move(operation));  // it never took effect
      continue;
    }
    KvModel::Outcome outcome = model.Apply(operation);
    if (!unknown) {
      operation.acknowledged = true;
      operation.returned = moment + static_cast<std::int64_t>(rng.Below(shape.spread));
      operation.revision = outcome.revision;
      operation.succeeded = outcome.succeeded;
      operation.answers = std::move(outcome.answers);
    }
    history.operations.push_back(std::move(operation));
  }
  return history;
}

void Lie(Rng& rng, History& history) {
  Operation& operation = history.operations[rng.Below(history.operations.size())];
  switch (rng.Below(5)) {
    case 0:
      operation.call -= 50;
      operation.returned = std::max(operation.call, operation.returned - 50);
      break;
    case 1:
      if (operation.acknowledged) operation.revision += rng.OneIn(2) ? 1 : -1;
      operation.revision = std::max<std::int64_t>(operation.revision, 0);
      break;
    case 2:
      for (Answer& answer : operation.answers) {
        for (KeyValue& kv : answer.kvs) kv.value = "v" + std::to_string(rng.Below(3));
      }
      break;
    case 3:
      if (!operation.answers.empty()) {
        Answer& answer = operation.answers.front();
        if (!answer.kvs.empty()) answer.kvs.pop_back();
        if (answer.deleted > 0) --answer.deleted;
      }
      break;
    default:
      history.operations.erase(history.operations.begin() +
                               (&operation - history.operations.data()));
  }
}

bool Searched(const History& history) {
  std::vector<const Operation*> operations;
  for (const Operation& operation : history.operations) operations.push_back(&operation);
  const SearchResult result = Search(KvModel(history), operations, 10'000'000);
  EXPECT_NE(result.kind, SearchResult::Kind::kGaveUp);
  return result.kind == SearchResult::Kind::kOrdered;
}

TEST(CheckerPropertyTest, RevisionsAndTheSearchAgree) {
  int good = 0;
  int bad = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    Rng rng(seed);
    Shape shape;
    shape.operations = 3 + rng.Below(9);
    shape.spread = 1 + rng.Below(60);
    History history = Honest(rng, shape);
    const bool lies = rng.OneIn(3);
    if (lies) Lie(rng, history);
    if (history.operations.empty()) continue;
    const Verdict verdict = CheckHistory(history);
    ASSERT_NE(verdict.kind, Verdict::Kind::kUndecided) << "seed " << seed;
    ASSERT_EQ(verdict.ok(), Searched(history)) << "seed " << seed << "\n"
                                               << ToText(history) << verdict.explanation;
    if (!lies) {
      ASSERT_TRUE(verdict.ok()) << "seed " << seed << "\n" << verdict.explanation;
    }
    ++(verdict.ok() ? good : bad);
  }
  EXPECT_GT(good, 3000);
  EXPECT_GT(bad, 500);
}

TEST(CheckerPropertyTest, ManyUnknownOutcomesOverManyOperationsAreDecided) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    const History history = Honest(
        rng, {.operations = 10'000, .keys = 10, .values = 1'000'000, .spread = 80, .unknown = 50});
    const Verdict verdict = CheckHistory(history);
    ASSERT_TRUE(verdict.ok()) << "seed " << seed << ": " << verdict.explanation;
    ASSERT_GT(verdict.unknown_applied, 10U);
  }
}

}  // namespace
}  // namespace kvorum::linearizability
