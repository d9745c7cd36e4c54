#include "tests/sim/judges/history.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tests/linearizability/checker.h"
#include "tests/sim/judges/catalog_judge.h"
#include "tests/sim/judges/queue_history.h"
#include "tests/sim/spoiler.h"

namespace kvorum::sim {

void StateHistory::Observe(const std::string& who, std::int64_t revision,
                           std::vector<std::string> rows) {
  const auto [known, is_new] = states_.try_emplace(revision, std::move(rows));
  if (is_new) return;
  // try_emplace moves only what it inserts.
  if (known->second != rows)  // NOLINT(bugprone-use-after-move)
    world_.Fail("{} holds another state at revision {} than others did", who, revision);
}

namespace {

// An operation without a client that made this revision.
linearizability::Operation OperationAt(const EventHistory& events, std::int64_t revision) {
  linearizability::Operation made;
  made.client = "leases, locks, agents, the spoiled record";
  made.acknowledged = true;
  made.is_txn = true;
  made.revision = revision;
  made.returned = events.PublishedAt(revision).ns;
  using Kind = linearizability::Request::Kind;
  for (const PublishedEvent& event : events.At(revision)) {
    if (event.is_delete) {
      made.success.push_back({.kind = Kind::kDelete, .key = event.key});
      made.answers.push_back({.kvs = {}, .deleted = 1});
    } else {
      made.success.push_back(
          {.kind = Kind::kPut, .key = event.key, .value = KeyValueOf(event.record).value});
      made.answers.emplace_back();
    }
  }
  return made;
}

}  // namespace

void Judge(World& world, const std::vector<Request>& requests, const StateHistory& states,
           const EventHistory& events, const LeaseLedger& leases) {
  linearizability::History history;
  std::set<std::int64_t> acknowledged;
  for (const Request& request : requests) {
    if (request.is_compaction() || request.refused) continue;
    const linearizability::Operation& operation = request.operation;
    if (!operation.acknowledged && request.is_read()) continue;  // says nothing
    history.operations.push_back(operation);
    if (operation.acknowledged && linearizability::Wrote(operation))
      acknowledged.insert(operation.revision);
    if (operation.acknowledged && operation.revision > states.last_revision()) {
      return world.Fail("an acknowledged answer has revision {}, and no replica has more than {}",
                        operation.revision, states.last_revision());
    }
  }
  for (const auto& [revision, lease] : events.ends_of_leases()) {
    if (leases.IsGone(lease) && acknowledged.insert(revision).second)
      history.operations.push_back(OperationAt(events, revision));
  }
  const bool has_others = world.has_locks || world.has_copies || world.has_spoils;
  for (std::int64_t revision = 2; has_others && revision <= events.last_revision(); ++revision) {
    const auto is_no_clients = [](const PublishedEvent& event) {
      return IsInQueue(event.key) || IsInCatalog(event.key) || event.key == kSpoiledKey;
    };
    if (std::ranges::all_of(events.At(revision), is_no_clients) &&
        acknowledged.insert(revision).second)
      history.operations.push_back(OperationAt(events, revision));
  }
  for (const auto& [revision, rows] : states.states()) {
    linearizability::Operation seen = ReadOfAll(true).operation;
    seen.client = "replicas";
    seen.acknowledged = true;
    seen.revision = revision;
    seen.call = world.scheduler.Now().ns;
    seen.returned = seen.call + 1;
    linearizability::Answer& answer = seen.answers.emplace_back();
    for (const std::string& row : rows) answer.kvs.push_back(KeyValueOf(row));
    history.operations.push_back(std::move(seen));
  }
  const linearizability::Verdict verdict = linearizability::CheckHistory(history);
  if (!verdict.ok()) {
    world.Fail("not linearizable ({}): {}", linearizability::Name(verdict.flaw),
               verdict.explanation);
  }
}

}  // namespace kvorum::sim
