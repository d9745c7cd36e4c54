#include "archive/store/retrying_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/digest/sha256.h"

namespace kvorum::archive {
namespace {

std::string DigestOf(std::string_view bytes) {
  Sha256 digest;
  digest.Add(bytes);
  return digest.Finish();
}

}  // namespace

bool MayPass(StoreErrorKind kind) {
  switch (kind) {
    case StoreErrorKind::kThrottled:
    case StoreErrorKind::kUnavailable:
    case StoreErrorKind::kConflict:
      return true;
    case StoreErrorKind::kAbsent:
    case StoreErrorKind::kExists:
    case StoreErrorKind::kDenied:
    case StoreErrorKind::kClockSkew:
    case StoreErrorKind::kLocked:
    case StoreErrorKind::kFull:
    case StoreErrorKind::kDamaged:
    case StoreErrorKind::kInvalid:
    case StoreErrorKind::kStopped:
      return false;
  }
  return false;
}

// The pauses of one call.
class RetryingStore::Tries {
 public:
  explicit Tries(RetryingStore& owner) : owner_(owner), since_(owner.clock_.Now()) {}

  bool is_first() const { return count_ == 0; }
  // The pauses begin anew: something was achieved.
  void Progress() {
    pause_ = {};
    since_ = owner_.clock_.Now();
  }
  // Waits before the next try; the error if there is none.
  StoreResult<void> Again(const StoreError& error) {
    if (!MayPass(error.kind)) return std::unexpected(error);
    const RetryOptions& options = owner_.options_;
    const Duration first = error.kind == StoreErrorKind::kThrottled ? options.first_pause_throttled
                                                                    : options.first_pause;
    pause_ = std::min(std::max(pause_ * 2, first), options.longest_pause);
    // Between a half and all of it, so that members that failed together come apart.
    const Duration half = pause_ / 2;
    const Duration pause = half + Duration(static_cast<std::int64_t>(owner_.rng_.Below(
                                      static_cast<std::uint64_t>(half.count()) + 1)));
    if (owner_.clock_.Now() + pause - since_ > options.give_up_after) {
      return std::unexpected(error);
    }
    if (options.on_retry) options.on_retry(error, pause);
    ++count_;
    if (owner_.stop_.WaitFor(pause)) {
      return StoreFail(StoreErrorKind::kStopped, "stopped after: " + error.text);
    }
    owner_.store_->RenewConnection();
    return {};
  }

 private:
  RetryingStore& owner_;
  TimePoint since_;
  Duration pause_{};
  std::uint64_t count_ = 0;
};

RetryingStore::RetryingStore(std::unique_ptr<ObjectStore> store, const Clock& clock,
                             StopSignal& stop, RetryOptions options)
    : store_(std::move(store)),
      clock_(clock),
      stop_(stop),
      options_(std::move(options)),
      rng_(options_.seed) {}

StoreResult<void> RetryingStore::Put(const std::string& key, std::string_view bytes,
                                     const PutOptions& options) {
  Tries tries(*this);
  while (true) {
    auto put = store_->Put(key, bytes, options);
    if (put.has_value()) return {};
    if (put.error().kind == StoreErrorKind::kExists && !tries.is_first()) {
      const auto holds = Holds(key, bytes, tries);
      if (!holds.has_value() && holds.error().kind == StoreErrorKind::kAbsent) {
        // It was deleted meanwhile: the put is tried again as after a conflict.
        KV_RETURN_IF_ERROR(tries.Again({StoreErrorKind::kConflict, put.error().text}));
        continue;
      }
      KV_TRY(const bool is_own, holds);
      if (is_own) return {};
      return put;
    }
    KV_RETURN_IF_ERROR(tries.Again(put.error()));
  }
}

StoreResult<bool> RetryingStore::Holds(const std::string& key, std::string_view bytes,
                                       Tries& tries) {
  while (true) {
    const auto head = store_->Head(key);
    if (head.has_value() && head->size_bytes != bytes.size()) return false;
    if (head.has_value() && !head->sha256.empty()) return head->sha256 == DigestOf(bytes);
    if (head.has_value()) break;
    KV_RETURN_IF_ERROR(tries.Again(head.error()));
  }
  Sha256 digest;
  KV_RETURN_IF_ERROR(Get(key, {}, [&](std::string_view piece) -> StoreResult<void> {
    digest.Add(piece);
    return {};
  }));
  return digest.Finish() == DigestOf(bytes);
}

StoreResult<ObjectInfo> RetryingStore::Get(const std::string& key, const GetOptions& options,
                                           const PieceSink& sink) {
  Tries tries(*this);
  GetOptions rest = options;
  std::optional<ObjectInfo> info;
  std::optional<StoreError> refused;
  rest.on_begin = [&](const ObjectInfo& begun) {
    if (!info.has_value() && options.on_begin) options.on_begin(begun);
    if (!info.has_value()) rest.version = begun.version;
    info = begun;
  };
  const PieceSink counted = [&](std::string_view piece) -> StoreResult<void> {
    auto taken = sink(piece);
    if (!taken.has_value()) {
      refused = taken.error();
      return taken;
    }
    rest.offset += piece.size();
    if (rest.length.has_value())
      *rest.length -= std::min<std::uint64_t>(*rest.length, piece.size());
    tries.Progress();
    return taken;
  };
  while (true) {
    // A copy: the options change while the store uses them.
    auto got = store_->Get(key, GetOptions(rest), counted);
    if (got.has_value() || refused.has_value()) return got;
    // The end of the object, cut off behind its last byte.
    const bool is_whole =
        info.has_value() && (rest.length == 0U || rest.offset == info->size_bytes);
    if (is_whole) return *info;
    // Another version than the one of which a part is already given: the caller begins anew.
    if (got.error().kind == StoreErrorKind::kConflict) return got;
    KV_RETURN_IF_ERROR(tries.Again(got.error()));
  }
}

StoreResult<ObjectInfo> RetryingStore::Head(const std::string& key) {
  Tries tries(*this);
  while (true) {
    auto head = store_->Head(key);
    if (head.has_value()) return head;
    KV_RETURN_IF_ERROR(tries.Again(head.error()));
  }
}

StoreResult<void> RetryingStore::List(const ListOptions& options, const ListSink& sink) {
  Tries tries(*this);
  ListOptions rest = options;
  const ListSink counted = [&](std::string_view key, std::uint64_t size_bytes) {
    rest.after = key;
    tries.Progress();
    return sink(key, size_bytes);
  };
  while (true) {
    const auto listed = store_->List(ListOptions(rest), counted);
    if (listed.has_value()) return {};
    KV_RETURN_IF_ERROR(tries.Again(listed.error()));
  }
}

StoreResult<std::vector<DeleteFailure>> RetryingStore::Delete(std::span<const std::string> keys) {
  Tries tries(*this);
  std::vector<std::string> left(keys.begin(), keys.end());
  std::vector<DeleteFailure> failures;
  while (!left.empty()) {
    auto failed = store_->Delete(left);
    if (!failed.has_value()) {
      KV_RETURN_IF_ERROR(tries.Again(failed.error()));
      continue;
    }
    if (failed->size() < left.size()) tries.Progress();
    left.clear();
    std::vector<DeleteFailure> passing;
    for (DeleteFailure& failure : *failed) {
      (MayPass(failure.error.kind) ? passing : failures).push_back(std::move(failure));
    }
    if (passing.empty()) break;
    const auto again = tries.Again(passing.front().error);
    if (!again.has_value()) {
      if (again.error().kind == StoreErrorKind::kStopped) return std::unexpected(again.error());
      std::ranges::move(passing, std::back_inserter(failures));
      break;
    }
    for (DeleteFailure& failure : passing) left.push_back(std::move(failure.key));
  }
  return failures;
}

}  // namespace kvorum::archive
