// A store whose calls are tried again where another try may succeed: what is throttled, not
// reached, cut off or in conflict. Pauses double from one try to the next, with jitter, up to a
// bound; the connection is renewed. Other errors are returned at once.
//
// - A Get goes on where it was cut, of the same version; a List goes on behind the last key.
// - A Put with if_absent that finds the object at a later try compares: its own earlier try may
// have
//   written it. Equal content is a success, other content kExists.
// - A Delete tries again the keys whose failure may pass.
//
// Used by one thread at a time (object_store.h); the pauses end with the StopSignal.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "archive/store/object_store.h"
#include "archive/store/stop_signal.h"
#include "base/clock.h"
#include "base/rng.h"

namespace kvorum::archive {

struct RetryOptions {
  Duration first_pause = std::chrono::milliseconds(200);
  // The first one of a throttled call.
  Duration first_pause_throttled = std::chrono::seconds(1);
  Duration longest_pause = std::chrono::seconds(20);
  // A call gives up, with the last error, once the next try would begin later than this after its
  // start, or after its last progress.
  Duration give_up_after = std::chrono::minutes(2);
  // Called before each pause.
  std::function<void(const StoreError&, Duration pause)> on_retry;
  // For the jitter.
  std::uint64_t seed = EntropySeed();
};

// True for errors after which the same call may succeed.
bool MayPass(StoreErrorKind kind);

class RetryingStore final : public ObjectStore {
 public:
  RetryingStore(std::unique_ptr<ObjectStore> store, const Clock& clock, StopSignal& stop,
                RetryOptions options);

  StoreResult<void> Put(const std::string& key, std::string_view bytes,
                        const PutOptions& options) override;
  StoreResult<ObjectInfo> Get(const std::string& key, const GetOptions& options,
                              const PieceSink& sink) override;
  StoreResult<ObjectInfo> Head(const std::string& key) override;
  StoreResult<void> List(const ListOptions& options, const ListSink& sink) override;
  StoreResult<std::vector<DeleteFailure>> Delete(std::span<const std::string> keys) override;
  void RenewConnection() override { store_->RenewConnection(); }
  const std::string& name() const override { return store_->name(); }

 private:
  class Tries;

  // True if the object has these bytes.
  StoreResult<bool> Holds(const std::string& key, std::string_view bytes, Tries& tries);

  const std::unique_ptr<ObjectStore> store_;
  const Clock& clock_;
  StopSignal& stop_;
  const RetryOptions options_;
  Rng rng_;
};

}  // namespace kvorum::archive
