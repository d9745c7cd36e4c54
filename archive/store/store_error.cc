#include "archive/store/store_error.h"

namespace kvorum::archive {
namespace {

Code CodeOf(StoreErrorKind kind) {
  switch (kind) {
    case StoreErrorKind::kAbsent:
      return Code::kNotFound;
    case StoreErrorKind::kExists:
      return Code::kAlreadyExists;
    case StoreErrorKind::kConflict:
      return Code::kAborted;
    case StoreErrorKind::kDenied:
      return Code::kPermissionDenied;
    case StoreErrorKind::kThrottled:
    case StoreErrorKind::kFull:
      return Code::kResourceExhausted;
    case StoreErrorKind::kUnavailable:
    case StoreErrorKind::kClockSkew:
      return Code::kUnavailable;
    case StoreErrorKind::kLocked:
      return Code::kFailedPrecondition;
    case StoreErrorKind::kDamaged:
      return Code::kDataLoss;
    case StoreErrorKind::kInvalid:
      return Code::kInvalidArgument;
    case StoreErrorKind::kStopped:
      return Code::kCanceled;
  }
  return Code::kUnknown;
}

}  // namespace

std::string_view StoreErrorName(StoreErrorKind kind) {
  switch (kind) {
    case StoreErrorKind::kAbsent:
      return "absent";
    case StoreErrorKind::kExists:
      return "exists";
    case StoreErrorKind::kConflict:
      return "conflict";
    case StoreErrorKind::kDenied:
      return "denied";
    case StoreErrorKind::kThrottled:
      return "throttled";
    case StoreErrorKind::kUnavailable:
      return "unavailable";
    case StoreErrorKind::kClockSkew:
      return "clock skew";
    case StoreErrorKind::kLocked:
      return "locked";
    case StoreErrorKind::kFull:
      return "full";
    case StoreErrorKind::kDamaged:
      return "damaged";
    case StoreErrorKind::kInvalid:
      return "invalid";
    case StoreErrorKind::kStopped:
      return "stopped";
  }
  return "unknown";
}

Error ToError(const StoreError& error) { return {CodeOf(error.kind), error.text}; }

}  // namespace kvorum::archive
