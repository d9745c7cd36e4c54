#include "sync/delta/delta_subscription.h"

#include <algorithm>
#include <utility>

namespace kvorum::sync {
namespace {

// Collects the changes of one response until it is full.
class Filling {
 public:
  Filling(DeltaResponse& response, HeldVersions::Changes& changes, std::size_t max_bytes)
      : response_(response), changes_(changes), left_(max_bytes) {}

  void Add(const std::string& name, const Item& item) {
    // The version, the type in the resource, and the lengths.
    const std::size_t bytes =
        name.size() + item.bytes->size() + response_.type.size() + kItemOverheadBytes;
    if (!Takes(bytes)) return;
    response_.resources.push_back({name, item.version.Hex(), item.bytes});
    changes_[name] = item.version;
  }
  void Remove(const std::string& name) {
    if (!Takes(name.size() + kRemovedOverheadBytes)) return;
    response_.removed.push_back(name);
    changes_[name] = std::nullopt;
  }
  bool is_full() const { return is_full_; }

 private:
  static constexpr std::size_t kItemOverheadBytes = 80;
  static constexpr std::size_t kRemovedOverheadBytes = 8;

  bool Takes(std::size_t bytes) {
    if (bytes > left_ && !changes_.empty()) is_full_ = true;
    if (is_full_) return false;
    left_ -= std::min(bytes, left_);
    return true;
  }

  DeltaResponse& response_;
  HeldVersions::Changes& changes_;
  std::size_t left_;
  bool is_full_ = false;
};

std::size_t CostOf(const std::string& name) { return name.size() + kNameOverheadBytes; }

}  // namespace

DeltaSubscription::DeltaSubscription(std::string type, const DeltaLimits& limits)
    : limits_(limits), share_(limits.all_names) {
  state_.type = std::move(type);
}

Result<DeltaAnswer> DeltaSubscription::Receive(const DeltaRequest& request) {
  if (!has_begun_) KV_RETURN_IF_ERROR(Present(request));
  KV_RETURN_IF_ERROR(TakeNames(request));
  KV_RETURN_IF_ERROR(CountNames());
  has_begun_ = true;
  return TakeAnswer(request);
}

Result<void> DeltaSubscription::CountNames() {
  if (share_.Set(names_bytes_ + presented_bytes_)) return {};
  return Fail(Code::kResourceExhausted, "the names of all streams exceed " +
                                            std::to_string(limits_.all_names->limit_bytes()) +
                                            " bytes");
}

std::unexpected<Error> DeltaSubscription::TooManyNames() const {
  return Fail(Code::kResourceExhausted, "the names of type " + state_.type + " exceed " +
                                            std::to_string(limits_.max_names_bytes) + " bytes");
}

Result<void> DeltaSubscription::Present(const DeltaRequest& request) {
  std::size_t bytes = 0;
  for (const auto& [name, version] : request.initial_versions) {
    bytes += CostOf(name);
    if (bytes > limits_.max_names_bytes) return TooManyNames();
    held_.Set(name, ContentHash::FromHex(version).value_or(kUnknownVersion));
  }
  presented_bytes_ = bytes;
  wants_all_ = request.subscribe.empty();
  owes_first_ = request.initial_versions.empty();
  is_due_ = true;
  return {};
}

Result<void> DeltaSubscription::TakeNames(const DeltaRequest& request) {
  for (const std::string& name : request.subscribe) {
    is_due_ = true;
    if (name == kAllNames) {
      wants_all_ = true;
      continue;
    }
    if (names_.insert(name).second) names_bytes_ += CostOf(name);
    if (names_bytes_ > limits_.max_names_bytes) return TooManyNames();
    // Asking again means that it may have been dropped. What the first request presents is held.
    if (has_begun_ || !held_.Of(name)) asked_.insert(name);
  }
  for (const std::string& name : request.unsubscribe) {
    if (name == kAllNames) wants_all_ = false;
    if (names_.erase(name) != 0) names_bytes_ -= CostOf(name);
    asked_.erase(name);
  }
  if (!request.unsubscribe.empty() && !wants_all_) ForgetUnwanted();
  return {};
}

// The subscriber drops what it no longer asks for.
void DeltaSubscription::ForgetUnwanted() {
  HeldVersions kept;
  for (const std::string& name : names_) {
    if (const auto version = held_.Of(name)) kept.Set(name, version);
  }
  held_ = std::move(kept);
  if (!in_flight_) return;
  if (std::exchange(in_flight_->completes, false)) {
    for (const std::string& name : names_) {
      const auto item = in_flight_->snapshot->items.find(name);
      in_flight_->changes[name] = item == in_flight_->snapshot->items.end()
                                      ? std::nullopt
                                      : std::optional(item->second.version);
    }
  }
  std::erase_if(in_flight_->changes, [&](const auto& change) { return !Wants(change.first); });
}

// A snapshot's versions take no additional names.
void DeltaSubscription::BecomeEqual(TypeSnapshotPtr snapshot) {
  held_.Become(std::move(snapshot));
  presented_bytes_ = 0;
  (void)share_.Set(names_bytes_);
}

DeltaAnswer DeltaSubscription::TakeAnswer(const DeltaRequest& request) {
  if (!in_flight_ || request.nonce != state_.nonce) return DeltaAnswer::kNone;
  if (in_flight_->completes) {
    BecomeEqual(std::move(in_flight_->snapshot));
  } else {
    held_.Set(in_flight_->changes);
  }
  in_flight_.reset();
  if (request.refusal) {
    state_.refused = request.nonce;
    state_.refusal = request.refusal->substr(0, limits_.max_refusal_bytes);
    return DeltaAnswer::kRefused;
  }
  state_.acknowledged = request.nonce;
  state_.refused.clear();
  state_.refusal.clear();
  return DeltaAnswer::kAccepted;
}

void DeltaSubscription::Offer(TypeSnapshotPtr snapshot) {
  if (newest_ == snapshot) return;
  newest_ = std::move(snapshot);
  is_due_ = true;
}

// Fills the response with what differs. Something remains due if not all of it fits.
void DeltaSubscription::Compare(DeltaResponse& response, InFlight& flight) {
  Filling filling(response, flight.changes, limits_.max_message_bytes);
  if (!held_.is(newest_)) {
    held_.ForEach([&](const std::string& name, const ContentHash&) {
      if (Wants(name) && !newest_->items.contains(name)) filling.Remove(name);
    });
  }
  for (const std::string& name : asked_) {
    if (!held_.Of(name) && !newest_->items.contains(name)) filling.Remove(name);
  }
  if (!held_.is(newest_) || !asked_.empty()) {
    for (const auto& [name, item] : newest_->items) {
      if (Wants(name) && (held_.Of(name) != item.version || asked_.contains(name)))
        filling.Add(name, item);
    }
  }
  is_due_ = filling.is_full();
}

std::optional<DeltaResponse> DeltaSubscription::Next(const std::string& nonce) {
  if (!is_due_ || !has_begun_ || in_flight_ || newest_ == nullptr) return std::nullopt;
  DeltaResponse response{.type = state_.type, .nonce = nonce};
  InFlight flight;
  flight.snapshot = newest_;
  Compare(response, flight);
  if (flight.changes.empty() && !owes_first_) {
    if (wants_all_) BecomeEqual(newest_);
    return std::nullopt;
  }
  for (const auto& [name, version] : flight.changes) asked_.erase(name);
  owes_first_ = false;
  state_.version = newest_->version.Hex();
  state_.nonce = nonce;
  response.system_version = state_.version;
  if (is_due_) response.system_version += kPartialMark;
  flight.completes = wants_all_ && !is_due_;
  if (flight.completes) flight.changes.clear();
  in_flight_ = std::move(flight);
  return response;
}

}  // namespace kvorum::sync
