#include "tests/sim/judges/catalog_judge.h"

#include <algorithm>
#include <iterator>

#include "tests/sim/judges/state_replay.h"

namespace kvorum::sim {
namespace {

// The first part of the text, which loses it.
std::string TakePart(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  std::string part(text.substr(0, at));
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

// The agent that wrote the record.
std::string AgentOf(const sync::CatalogRecord& record) {
  std::string_view value = record.value;
  return TakePart(value, ' ');
}

}  // namespace

void CatalogJudge::CheckAll() {
  while (read_ < events_.last_revision() && !world_.failed()) Take(++read_);
}

void CatalogJudge::Take(std::int64_t revision) {
  const std::string nodes = keys_.Nodes();
  for (const PublishedEvent& event : events_.At(revision)) {
    if (!IsInCatalog(event.key)) continue;
    if (event.is_delete) {
      rows_.erase(event.key);
    } else {
      rows_[event.key] = RowOf(event.record);
    }
    if (event.key.starts_with(nodes)) TakeNode(revision, event.key.substr(nodes.size()), event);
  }
  for (const PublishedEvent& event : events_.At(revision)) {
    if (IsInCatalog(event.key) && !event.is_delete) CheckFence(revision, event);
  }
}

void CatalogJudge::TakeNode(std::int64_t revision, const std::string& node,
                            const PublishedEvent& event) {
  auto& sessions = sessions_[node];
  if (event.is_delete) {
    sessions[revision] = {};
    return;
  }
  const sync::KeyValue row = RowOf(event.record);
  if (row.version != 1) {
    // An agent may put back a key that it made itself, on the lease of its next life.
    const Session holder = SessionAt(node, revision);
    if (holder.agent != row.value || holder.created != row.create_revision) {
      return world_.Fail("{} takes the name {} at revision {}, and somebody holds it", row.value,
                         node, revision);
    }
    sessions[revision] = {.agent = row.value, .created = holder.created, .lease = row.lease};
    return;
  }
  const auto before =
      std::ranges::find_if(sessions.rbegin(), sessions.rend(),
                           [](const auto& each) { return !each.second.agent.empty(); });
  if (before != sessions.rend()) {
    world_.faults.Add(before->second.agent == row.value ? Fault::kAgentAgain
                                                        : Fault::kAgentInherited);
  }
  sessions[revision] = {.agent = row.value, .created = revision, .lease = row.lease};
}

void CatalogJudge::CheckFence(std::int64_t revision, const PublishedEvent& event) {
  const sync::KeyValue row = RowOf(event.record);
  if (row.value == kScribble) return;
  std::string_view rest = event.key;
  TakePart(rest, '/');
  const std::string kind = TakePart(rest, '/');
  if (kind == "nodes") return;
  if (kind == "services") TakePart(rest, '/');
  const std::string node = TakePart(rest, kind == "services" ? '.' : '/');
  const Session session = SessionAt(node, revision);
  const auto record = sync::DecodeRecord(row.value);
  if (!record.has_value())
    return world_.Fail("{} is no record at revision {}", event.key, revision);
  if (session.agent != AgentOf(*record) || session.lease != row.lease) {
    world_.Fail("{} of {} on lease {:x} is put at revision {}, and {} on lease {:x} holds the name",
                event.key, record->value, row.lease, revision,
                session.agent.empty() ? "nobody" : session.agent, session.lease);
  }
}

CatalogJudge::Session CatalogJudge::SessionAt(const std::string& node,
                                              std::int64_t revision) const {
  const auto sessions = sessions_.find(node);
  if (sessions == sessions_.end()) return {};
  const auto after = sessions->second.upper_bound(revision);
  return after == sessions->second.begin() ? Session{} : std::prev(after)->second;
}

void CatalogJudge::Wrote(const std::string& agent, const std::string& node, std::int64_t revision) {
  CheckAll();
  if (world_.failed()) return;
  if (revision > read_)
    return world_.Fail("{} is told of revision {}, and nothing above {} is published", agent,
                       revision, read_);
  Session session = SessionAt(node, revision);
  // An agent that leaves deletes the name with the last of its keys.
  if (session.agent.empty()) session = SessionAt(node, revision - 1);
  if (session.agent != agent) {
    world_.Fail("{} has written of {} at revision {}, and {} holds the name", agent, node, revision,
                session.agent.empty() ? "nobody" : session.agent);
  }
}

}  // namespace kvorum::sim
