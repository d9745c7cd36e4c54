// One stream of the delta discovery protocol, seen from the server: its subscriptions, one for each
// type asked for, and the order of its responses.
//
// A pure class for one executor: requests and snapshots in, responses out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sync/delta/delta_subscription.h"

namespace kvorum::sync {

class DeltaStream {
 public:
  explicit DeltaStream(const DeltaLimits& limits) : limits_(limits) {}

  Result<DeltaAnswer> Receive(const DeltaRequest& request);
  void Offer(const Snapshot& snapshot);
  // The next response to send; the types take turns. Nonces count through the stream's responses.
  std::optional<DeltaResponse> Next();
  std::vector<SubscriptionState> States() const;
  // The type has been asked for.
  const SubscriptionState& State(const std::string& type) const {
    return subscriptions_.at(type).state();
  }

 private:
  const DeltaLimits limits_;
  Snapshot newest_;
  std::map<std::string, DeltaSubscription> subscriptions_;
  std::string sent_last_;  // the type
  std::uint64_t responses_ = 0;
};

}  // namespace kvorum::sync
