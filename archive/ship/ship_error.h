// Errors of shipping: a kind that says what comes next, and a text for people. Plain values.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

#include "archive/store/store_error.h"
#include "base/error.h"

namespace kvorum::archive {

enum class ShipErrorKind : std::uint8_t {
  kStore,    // the store failed: it is opened again after a pause
  kMember,   // the member could not read its own log or image
  kRefused,  // this member's data does not go on with the archive
  kStopped,  // the StopSignal was given
};

struct ShipError {
  ShipErrorKind kind = ShipErrorKind::kStore;
  std::string text;

  ShipError(ShipErrorKind k, std::string t) : kind(k), text(std::move(t)) {}
  // Implicit, so that KV_TRY takes the errors of both.
  ShipError(StoreError error)  // NOLINT(google-explicit-constructor)
      : kind(error.kind == StoreErrorKind::kStopped ? ShipErrorKind::kStopped
                                                    : ShipErrorKind::kStore),
        text(std::move(error.text)) {}
  ShipError(Error error)  // NOLINT(google-explicit-constructor)
      : kind(ShipErrorKind::kMember), text(std::move(error.message)) {}

  friend bool operator==(const ShipError&, const ShipError&) = default;
};

template <class T = void>
using ShipResult = std::expected<T, ShipError>;

inline std::unexpected<ShipError> ShipFail(ShipErrorKind kind, std::string text) {
  return std::unexpected(ShipError(kind, std::move(text)));
}

}  // namespace kvorum::archive
