#include "consul/kv/janitor_write.h"

#include <algorithm>
#include <utility>

#include "base/key_range.h"
#include "consul/model/ids.h"

namespace kvorum::consul {
namespace {

using sync::Compare;
using sync::Operation;
using sync::TxnRequest;

// Sessions that are ended in the transaction that removes their node; the rest follow.
constexpr std::size_t kSessionsAtOnce = 100;

void IsMissing(TxnRequest& request, std::string key) {
  request.compares.push_back({.key = std::move(key), .target = Compare::Target::kCreateRevision});
}
void Exists(TxnRequest& request, std::string key) {
  request.compares.push_back({.key = std::move(key),
                              .target = Compare::Target::kCreateRevision,
                              .result = Compare::Result::kGreater});
}
void IsAt(TxnRequest& request, std::string key, std::int64_t mod_revision) {
  request.compares.push_back({.key = std::move(key), .number = mod_revision});
}
void Delete(TxnRequest& request, std::string key, std::string end = {}) {
  request.then.push_back(
      {.kind = Operation::Kind::kDelete, .key = std::move(key), .end = std::move(end)});
}

void DeleteNode(TxnRequest& request, const std::string& node, const RegistryKeys& keys,
                const DeadKeys& dead) {
  const std::string services = keys.ServicesOf(node);
  Delete(request, keys.Node(node));
  Delete(request, services, PrefixEnd(services));
  Delete(request, dead.Key(node));
}

}  // namespace

std::string DeadKeys::Key(std::string_view node) const {
  return prefix_ + EncodeName(node).value_or(std::string());
}
std::string DeadKeys::NodeOf(std::string_view key) const {
  return DecodePart(key.substr(prefix_.size()));
}

std::optional<TxnRequest> EndOfSession(const SessionRecord& session, const SessionGround& ground,
                                       std::int64_t copy_revision, const RegistryKeys& keys) {
  TxnRequest request;
  IsAt(request, keys.Session(session.id), session.mod_revision);
  Delete(request, keys.Session(session.id));
  if (ground.node.node == nullptr) {
    IsMissing(request, keys.Node(session.node));
    return request;
  }
  for (const std::string& check : ChecksOf(session)) {
    const CheckFound found = FindCheck(ground, check);
    if (found.exists && !found.is_critical) continue;
    if (found.is_life) {
      IsMissing(request, keys.Life(session.node));
    } else if (found.service != nullptr) {
      IsAt(request, keys.Service(session.node, found.service->id), found.service->mod_revision);
    } else {
      // The node's check, or one that neither the node nor any of its services has.
      IsAt(request, keys.Node(session.node), ground.node.node->mod_revision);
      if (found.exists) return request;
      const std::string services = keys.ServicesOf(session.node);
      request.compares.push_back({.key = services,
                                  .result = Compare::Result::kLess,
                                  .number = copy_revision + 1,
                                  .end = PrefixEnd(services)});
    }
    return request;
  }
  return std::nullopt;
}

TxnRequest MarkDead(const std::string& node, std::int64_t since_s, const RegistryKeys& keys,
                    const DeadKeys& dead) {
  TxnRequest request;
  Exists(request, keys.Node(node));
  IsMissing(request, keys.Life(node));
  IsMissing(request, dead.Key(node));
  request.then.push_back(
      {.kind = Operation::Kind::kPut, .key = dead.Key(node), .value = std::to_string(since_s)});
  return request;
}

TxnRequest Unmark(const std::string& node, bool is_alive, const RegistryKeys& keys,
                  const DeadKeys& dead) {
  TxnRequest request;
  if (is_alive)
    Exists(request, keys.Life(node));
  else
    IsMissing(request, keys.Node(node));
  Delete(request, dead.Key(node));
  return request;
}

TxnRequest Reap(const std::string& node, std::int64_t mod_revision, const RegistryKeys& keys,
                const DeadKeys& dead) {
  TxnRequest request;
  IsMissing(request, keys.Life(node));
  IsAt(request, keys.Node(node), mod_revision);
  Exists(request, dead.Key(node));
  DeleteNode(request, node, keys, dead);
  return request;
}

TxnRequest Remove(const std::string& node, const std::vector<SessionRef>& sessions,
                  const RegistryKeys& keys, const DeadKeys& dead) {
  TxnRequest request;
  IsMissing(request, keys.Life(node));
  DeleteNode(request, node, keys, dead);
  for (const SessionRef& session : sessions) {
    if (session->node != node || request.then.size() == kSessionsAtOnce) continue;
    Delete(request, keys.Session(session->id));
  }
  return request;
}

}  // namespace kvorum::consul
