// The transport of a member without peers.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "server/peer/codec/transport.h"

namespace kvorum::server {

class NoTransport final : public Transport {
 public:
  void Send(std::vector<raft::Message>) override {}
  void SendSnapshot(raft::Message, std::unique_ptr<mvcc::SnapshotSource>) override {}
  void SetMembers(std::shared_ptr<const MembershipView>) override {}
  std::optional<TimePoint> ActiveSince(raft::MemberId) const override { return std::nullopt; }
};

}  // namespace kvorum::server
