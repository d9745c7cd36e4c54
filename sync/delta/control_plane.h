// Keeps every subscriber's resources equal to the store: reads the types that changed, makes the
// subscribers' snapshots anew and sends each what differs from what it holds. Knows nothing of how
// its streams are carried; sync/delta/delta_service.h carries them over gRPC.
//
// Threading: one loop on the executor, on which everything below happens; the public calls are
// thread-safe and return at once. The executor, the reader and the metrics outlive the plane. A
// stream costs what DeltaSubscription says, and a response at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/executor.h"
#include "sync/delta/delta_message.h"
#include "sync/delta/delta_subscription.h"
#include "sync/delta/reconciler.h"
#include "sync/informer/watchdog.h"
#include "sync/kernel/bus.h"
#include "sync/kernel/metrics.h"

namespace kvorum::sync {

// The carrier of one stream. Called on the plane's executor; must not block. No call comes after
// Close, or after the plane has stopped.
class DeltaCarrier {
 public:
  virtual ~DeltaCarrier() = default;
  // Begins to send; ControlPlane::Sent says that it is done. One at a time.
  virtual void Send(const DeltaResponse& response) = 0;
  // The last request is dealt with: the next may come.
  virtual void Proceed() = 0;
  // Ends the stream with this error, even if something is being sent.
  virtual void Close(const Error& error) = 0;
};

struct ControlPlaneOptions {
  std::vector<std::string> types = {};
  WatchdogOptions watchdog = {};
  DeltaLimits limits = {};
  // A stream is ended with kDeadlineExceeded if sending one response, or its first request, takes
  // longer.
  Duration send_timeout = std::chrono::seconds(60);
  std::size_t max_streams = 16'384;  // beyond it a stream is refused with kResourceExhausted
  // The names of all streams together, as DeltaLimits::max_names_bytes counts them for one type of
  // one: a stream that needs more is ended with kResourceExhausted.
  std::size_t max_names_bytes = std::size_t{256} << 20U;
  // While so much is being sent, other streams wait for their turn; a response beyond it may begin.
  std::size_t max_sending_bytes = std::size_t{256} << 20U;
  // Chooses what a node gets; null: everything. Asked once for each stream.
  std::function<View(const std::string& node)> view_of = nullptr;
  // Hears of types that could not be read, of views that failed, and of streams that the plane
  // ends. Called on the executor.
  std::function<void(const Error&)> on_error = nullptr;
  // A node has refused a response. Called on the executor.
  std::function<void(const std::string& node, const SubscriptionState&)> on_refusal = nullptr;
  std::uint64_t seed = 1;
};

// A node with all its subscriptions, as a status page shows it.
struct NodeState {
  std::string node;
  std::string last_reason;  // of the last pass that made its snapshot
  std::vector<SubscriptionState> subscriptions;
};

class ControlPlane {
 public:
  using StreamId = std::uint64_t;

  ControlPlane(Executor& executor, TypeReader& reader, Metrics& metrics,
               ControlPlaneOptions options);
  // Stops: nothing is called any more.
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // Resources of the type changed in the store.
  void Changed(const std::string& type);
  // The events of this bus are names of types; an overflow means all of them. The bus outlives the
  // plane, which follows one bus.
  void Follow(Bus<std::string>& bus);

  // A stream begins; its first request names the node. A second stream of a node ends the first
  // with kAborted.
  StreamId Open(std::shared_ptr<DeltaCarrier> carrier);
  void Receive(StreamId stream, DeltaRequest request);
  void Sent(StreamId stream);
  // The stream has ended, from either side; the plane lets go of its carrier.
  void Closed(StreamId stream);

  // Calls back on the executor, unless the plane is stopped first.
  void Ask(std::move_only_function<void(std::vector<NodeState>)> answer);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::sync
