#include "sync/delta/delta_stream.h"

#include <utility>

namespace kvorum::sync {

Result<DeltaAnswer> DeltaStream::Receive(const DeltaRequest& request) {
  const auto [place, is_new] = subscriptions_.try_emplace(request.type, request.type, limits_);
  if (const auto newest = newest_.find(request.type); is_new && newest != newest_.end())
    place->second.Offer(newest->second);
  return place->second.Receive(request);
}

void DeltaStream::Offer(const Snapshot& snapshot) {
  newest_ = snapshot;
  for (auto& [type, subscription] : subscriptions_) {
    if (const auto newest = newest_.find(type); newest != newest_.end())
      subscription.Offer(newest->second);
  }
}

std::optional<DeltaResponse> DeltaStream::Next() {
  const std::string nonce = std::to_string(responses_ + 1);
  auto place = subscriptions_.upper_bound(sent_last_);
  for (std::size_t i = 0; i < subscriptions_.size(); ++i, ++place) {
    if (place == subscriptions_.end()) place = subscriptions_.begin();
    auto response = place->second.Next(nonce);
    if (!response) continue;
    ++responses_;
    sent_last_ = place->first;
    return response;
  }
  return std::nullopt;
}

std::vector<SubscriptionState> DeltaStream::States() const {
  std::vector<SubscriptionState> states;
  for (const auto& [type, subscription] : subscriptions_) states.push_back(subscription.state());
  return states;
}

}  // namespace kvorum::sync
