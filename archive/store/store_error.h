// Errors of an archive's store: a kind to act by, and a text for people. No text has a credential
// in it. Plain values.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace kvorum::archive {

enum class StoreErrorKind : std::uint8_t {
  kAbsent,       // there is no such object
  kExists,       // a Put with if_absent found one
  kConflict,     // another write or deletion of the key ran at the same time, or it has another
                 // version
  kDenied,       // credentials or permissions do not suffice
  kThrottled,    // too many requests
  kUnavailable,  // not reached, cut off, too slow, an internal error there: another try may succeed
  kClockSkew,  // this machine's clock and the store's differ too much, and correcting did not help
  kLocked,     // a lock or a retention period protects the object
  kFull,       // there is no space left
  kDamaged,    // the store could not read its own bytes, or answered what is not of the protocol
  kInvalid,    // a wrong key, size, setting or URL: the same call will never succeed
  kStopped,    // the StopSignal was given
};

// "denied", "throttled" ...: for texts and labels of metrics.
std::string_view StoreErrorName(StoreErrorKind kind);

struct StoreError {
  StoreErrorKind kind = StoreErrorKind::kUnavailable;
  std::string text;

  friend bool operator==(const StoreError&, const StoreError&) = default;
};

template <class T = void>
using StoreResult = std::expected<T, StoreError>;

inline std::unexpected<StoreError> StoreFail(StoreErrorKind kind, std::string text) {
  return std::unexpected(StoreError{kind, std::move(text)});
}

// For callers whose errors are of base/.
Error ToError(const StoreError& error);

}  // namespace kvorum::archive
