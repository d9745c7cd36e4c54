// One stream of the control plane, with the node that it serves: the snapshot, what is being sent,
// the time by which something has to happen. Internal to sync/.
//
// For the plane's executor.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "sync/delta/control_plane.h"
#include "sync/delta/delta_stream.h"
#include "sync/delta/sending_turns.h"

namespace kvorum::sync {

class DeltaSession {
 public:
  DeltaSession(ControlPlane::StreamId id, std::shared_ptr<DeltaCarrier> carrier,
               const ControlPlaneOptions& options, SendingTurns& turns, Metrics& metrics,
               const Clock& clock);
  ~DeltaSession();
  DeltaSession(const DeltaSession&) = delete;
  DeltaSession& operator=(const DeltaSession&) = delete;

  // A request of its node; the first one names it.
  Result<void> Receive(const DeltaRequest& request);
  // Makes the snapshot anew from these types and sends what differs.
  Result<void> Generate(const Reconciler& reconciler, const std::set<std::string>& types,
                        PassReason reason);
  void Sent();
  // It is its turn.
  void SendNext();
  void Close(const Error& error) { carrier_->Close(error); }
  void Proceed() { carrier_->Proceed(); }

  const std::string& node() const { return node_; }
  // When it has waited too long, for its first request or for a response to be sent; or kNever.
  TimePoint deadline() const { return deadline_; }
  Error Overdue() const;
  NodeState State() const;

 private:
  Result<void> Begin(const DeltaRequest& request);

  const ControlPlane::StreamId id_;
  const std::shared_ptr<DeltaCarrier> carrier_;
  const ControlPlaneOptions& options_;
  SendingTurns& turns_;
  Metrics& metrics_;
  const Clock& clock_;
  std::string node_;
  View view_;
  Snapshot snapshot_;
  DeltaStream stream_;
  bool is_sending_ = false;
  std::size_t sending_bytes_ = 0;
  TimePoint deadline_;
  std::string last_reason_;
  // The cells of this node, which are on the page while the stream lasts.
  std::shared_ptr<Gauge> open_;
  std::map<std::pair<PassReason, bool>, std::shared_ptr<Histogram>> generations_;
  std::map<std::string, std::shared_ptr<Counter>> refusals_;  // by type
};

}  // namespace kvorum::sync
