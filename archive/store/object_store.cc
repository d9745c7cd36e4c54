#include "archive/store/object_store.h"

#include <algorithm>

#include "base/words.h"

namespace kvorum::archive {
namespace {

bool IsKeyCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

StoreResult<void> CheckKey(std::string_view key) {
  if (key.size() > kMaxKeyBytes) {
    return StoreFail(StoreErrorKind::kInvalid,
                     "a key of " + std::to_string(key.size()) + " bytes, more than the " +
                         std::to_string(kMaxKeyBytes) + " that one may have");
  }
  for (const std::string_view part : Split(key, '/')) {
    if (part.empty() || part.front() == '.' || !std::ranges::all_of(part, IsKeyCharacter)) {
      return StoreFail(StoreErrorKind::kInvalid,
                       "a key that is not names of letters, digits, '.', '_' and '-' with slashes "
                       "between them");
    }
  }
  return {};
}

StoreResult<void> CheckObjectSize(const std::string& key, std::string_view bytes) {
  if (bytes.size() <= kMaxObjectBytes) return {};
  return StoreFail(StoreErrorKind::kInvalid,
                   key + ": " + std::to_string(bytes.size()) + " bytes, more than the " +
                       std::to_string(kMaxObjectBytes) + " that an object may have");
}

StoreResult<std::string> ReadObject(ObjectStore& store, const std::string& key,
                                    std::size_t limit_bytes) {
  std::string content;
  KV_TRY(
      const ObjectInfo info, store.Get(key, {}, [&](std::string_view piece) -> StoreResult<void> {
        if (piece.size() > limit_bytes - content.size()) {
          return StoreFail(
              StoreErrorKind::kDamaged,
              key + ": more than the " + std::to_string(limit_bytes) + " bytes that it may have");
        }
        content.append(piece);
        return {};
      }));
  if (info.size_bytes != content.size()) {
    return StoreFail(StoreErrorKind::kUnavailable, key + ": it changed while it was read");
  }
  return content;
}

}  // namespace kvorum::archive
