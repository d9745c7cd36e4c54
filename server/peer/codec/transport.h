// Carries Raft's messages and snapshots between members; with the interface of the member that
// receives them. Implemented by HTTP streams between processes in production (PeerTransport), by a
// network with faults in the simulation.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/member.h"
#include "base/clock.h"
#include "base/error.h"
#include "mvcc/transfer/snapshot_stream.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// A member, as seen by its transport. Thread-safe; no call waits, except those of a sink, which
// write to the disk.
class TransportReceiver {
 public:
  virtual ~TransportReceiver() = default;
  // A peer's message for this member. It may be dropped when too many wait.
  virtual void Receive(raft::Message message) = 0;
  // All messages of one read, in order: costs one hand-off.
  virtual void ReceiveAll(std::vector<raft::Message> messages) {
    for (raft::Message& message : messages) Receive(std::move(message));
  }
  // Messages to this peer were lost.
  virtual void Unreachable(raft::MemberId peer) = 0;
  // The outcome of Transport::SendSnapshot: called once for each.
  virtual void SnapshotSent(raft::MemberId peer, bool succeeded) = 0;
  // A peer starts to send a snapshot; `message` is its kSnap. The bytes given to the returned sink
  // become a file, which Raft learns of when Finish returns (the sink of this call delivers the
  // message then). Refused (kUnavailable) while another one is being received or installed,
  // (kFailedPrecondition) if this member has all of it, which is reported to its leader,
  // (kInvalidArgument) if it is not a kSnap for this member.
  virtual Result<std::unique_ptr<mvcc::SnapshotSink>> ReceiveSnapshot(raft::Message message) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Called by the raft executor; never waits. Messages to one peer arrive in order or not at all
  // (large ones may be overtaken); those to an unknown peer, or one whose queue is full, are
  // dropped and reported as Unreachable. No kSnap.
  virtual void Send(std::vector<raft::Message> messages) = 0;
  // Sends a snapshot: the message, which is a kSnap with metadata only, and the content. Any
  // thread; the source is read on one of the transport's threads.
  virtual void SendSnapshot(raft::Message message,
                            std::unique_ptr<mvcc::SnapshotSource> content) = 0;
  // Sets the members: connections to those that left are closed, to new ones opened. Any thread.
  virtual void SetMembers(std::shared_ptr<const MembershipView> view) = 0;
  // The time since which messages of this peer have come without a break; nullopt if they do not.
  // Any thread.
  virtual std::optional<TimePoint> ActiveSince(raft::MemberId peer) const = 0;
};

}  // namespace kvorum::server
