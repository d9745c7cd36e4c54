#include "consul/agent/own_records.h"

#include <utility>

#include "consul/model/ids.h"

namespace kvorum::consul {

OwnRecords::OwnRecords(const AgentParts& parts)
    : parts_(parts), loop_(parts.executor, [this](TimePoint now) { return Step(now); }) {
  if (parts_.copy != nullptr) loop_.Wake();
}

TimePoint OwnRecords::Step(TimePoint now) {
  if (!has_moved_) return sync::kNever;
  if (now < next_) return next_;
  has_moved_ = false;
  next_ = now + kPause;
  const Topic topic{.kind = Topic::Kind::kNode, .name = parts_.node};
  // A change during the look leads to another one.
  const std::uint64_t index = parts_.copy->IndexOf(topic);
  const bool looks_again = Look();
  wait_ = parts_.copy->WaitFor(
      topic, index, [this, loop = loop_.handle()] { loop.Post([this] { has_moved_ = true; }); });
  if (!looks_again) return sync::kNever;
  has_moved_ = true;
  return next_;
}

// A service that the store has just taken is missed when the copy lacks it at the next look too:
// the copy is a moment behind.
bool OwnRecords::Look() {
  if (!parts_.copy->is_listed()) return false;
  const bool has_node = parts_.copy->Node(parts_.node).node != nullptr;
  bool is_unlike = has_node_ && !has_node;
  bool looks_again = false;
  std::set<std::string> expected;
  for (const auto& listed : parts_.syncer.List(sync::Registry::Which::kVisible)) {
    if (!listed.in_sync || listed.entry.kind != sync::EntryKind::kService) continue;
    const std::string id = DecodePart(listed.entry.id);
    const ServiceRef theirs = parts_.copy->Service(parts_.node, id);
    if (theirs == nullptr && expected_.contains(id)) {
      is_unlike = true;
      continue;
    }
    expected.insert(id);
    if (theirs == nullptr) {
      looks_again = true;
      continue;
    }
    const ServiceDetails ours = RecordOf(parts_.node, listed.entry).details;
    is_unlike = is_unlike || (ours.enable_tag_override && ours.tags != theirs->details.tags);
  }
  has_node_ = has_node;
  expected_ = std::move(expected);
  if (is_unlike) parts_.syncer.SyncSoon();
  return looks_again;
}

}  // namespace kvorum::consul
