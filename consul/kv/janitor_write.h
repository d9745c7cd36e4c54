// The transactions of the janitor. Each compares what makes it right. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "consul/kv/session_body.h"
#include "consul/model/records.h"
#include "sync/store/store.h"

namespace kvorum::consul {

// The keys of dead nodes. Immutable.
class DeadKeys {
 public:
  explicit DeadKeys(std::string_view root) : prefix_(std::string(root) + "/registry-dead/") {}
  const std::string& prefix() const { return prefix_; }
  std::string Key(std::string_view node) const;
  std::string NodeOf(std::string_view key) const;

 private:
  std::string prefix_;
};

// Ends a session that has lost its ground, as the copy was at the revision. Nothing: it stands.
std::optional<sync::TxnRequest> EndOfSession(const SessionRecord& session,
                                             const SessionGround& ground,
                                             std::int64_t copy_revision, const RegistryKeys& keys);

// The node has been dead since then.
sync::TxnRequest MarkDead(const std::string& node, std::int64_t since_s, const RegistryKeys& keys,
                          const DeadKeys& dead);
// The node lives, or has no record any more.
sync::TxnRequest Unmark(const std::string& node, bool is_alive, const RegistryKeys& keys,
                        const DeadKeys& dead);
// Removes a dead node whose record has that revision.
sync::TxnRequest Reap(const std::string& node, std::int64_t mod_revision, const RegistryKeys& keys,
                      const DeadKeys& dead);
// Removes a node that is dead, and sessions of it.
sync::TxnRequest Remove(const std::string& node, const std::vector<SessionRef>& sessions,
                        const RegistryKeys& keys, const DeadKeys& dead);

}  // namespace kvorum::consul
