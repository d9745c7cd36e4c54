// One type of one stream: what the subscriber asked for, what it holds, and what comes next. At
// most one response waits for its answer; what changes meanwhile is in the one after it.
//
// A pure class for one executor. An answer, a refusal too, means that the resources of the response
// are not sent again before they change. Cost of a Next that has work: a look-up for each resource
// of the type, and for each that the subscriber holds.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "base/error.h"
#include "sync/delta/delta_message.h"
#include "sync/delta/held_versions.h"
#include "sync/delta/names_budget.h"

namespace kvorum::sync {

struct DeltaLimits {
  // A larger set of changes is cut into several responses. A resource beyond it goes alone.
  std::size_t max_message_bytes = 10 * 1024 * 1024;
  // The names of one type that a subscriber asks for one by one, or presents, take no more memory:
  // each counts its length and kNameOverheadBytes.
  std::size_t max_names_bytes = 32 * 1024 * 1024;
  std::size_t max_refusal_bytes = 4096;  // of the text that is kept
  // The bound of all streams together; outlives them. Null: none.
  NamesBudget* all_names = nullptr;
};

// A name's places in the subscription, beside its characters.
inline constexpr std::size_t kNameOverheadBytes = 100;

// A subscription, as a status page shows it.
struct SubscriptionState {
  std::string type = {};
  std::string version = {};       // of the set that the last response brought, or began to bring
  std::string nonce = {};         // of the last response
  std::string acknowledged = {};  // the nonce of the last response that was accepted
  std::string refused = {};       // the nonce of the last response, if it was refused
  std::string refusal = {};       // with this text
};

enum class DeltaAnswer : std::uint8_t { kNone, kAccepted, kRefused };

class DeltaSubscription {
 public:
  DeltaSubscription(std::string type, const DeltaLimits& limits);

  // kResourceExhausted: more names than the limit lets it ask for.
  Result<DeltaAnswer> Receive(const DeltaRequest& request);
  // The newest state of the type.
  void Offer(TypeSnapshotPtr snapshot);
  // The response to send now, if there is one.
  std::optional<DeltaResponse> Next(const std::string& nonce);
  const SubscriptionState& state() const { return state_; }

 private:
  struct InFlight {
    TypeSnapshotPtr snapshot;
    bool completes = false;         // with it the subscriber holds the snapshot, and nothing else
    HeldVersions::Changes changes;  // otherwise, these are different
  };

  Result<void> Present(const DeltaRequest& request);
  Result<void> TakeNames(const DeltaRequest& request);
  void ForgetUnwanted();
  void BecomeEqual(TypeSnapshotPtr snapshot);
  void Compare(DeltaResponse& response, InFlight& flight);
  std::unexpected<Error> TooManyNames() const;
  // Counts the names among those of all streams.
  Result<void> CountNames();
  DeltaAnswer TakeAnswer(const DeltaRequest& request);
  bool Wants(const std::string& name) const { return wants_all_ || names_.contains(name); }

  const DeltaLimits limits_;
  bool has_begun_ = false;   // its first request has come
  bool owes_first_ = false;  // a response is due even if it is empty
  bool wants_all_ = false;
  std::set<std::string> names_;  // asked for by name
  std::size_t names_bytes_ = 0;
  std::size_t presented_bytes_ = 0;  // of names that it holds as it has presented them
  NamesBudget::Share share_;
  std::set<std::string> asked_;  // names that are to be answered, changed or not
  HeldVersions held_;
  TypeSnapshotPtr newest_;
  bool is_due_ = false;  // something may differ
  std::optional<InFlight> in_flight_;
  SubscriptionState state_;
};

}  // namespace kvorum::sync
