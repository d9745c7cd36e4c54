#include "archive/check/object_read.h"

#include <utility>

namespace kvorum::archive {

ObjectReader::ObjectReader(ObjectStore& store, OnProgress on_progress)
    : store_(store), on_progress_(std::move(on_progress)) {}

StoreResult<ObjectRead> ObjectReader::Read(const std::string& key, std::size_t limit_bytes) {
  auto bytes = ReadObject(store_, key, limit_bytes);
  if (bytes.has_value()) {
    ++objects_;
    size_bytes_ += bytes->size();
    if (on_progress_) on_progress_(objects_, size_bytes_);
    return ObjectRead{.state = ObjectRead::State::kRead, .bytes = *std::move(bytes), .problem = {}};
  }
  StoreError& error = bytes.error();
  if (error.kind == StoreErrorKind::kAbsent)
    return ObjectRead{.state = ObjectRead::State::kAbsent, .bytes = {}, .problem = {}};
  // A wrong key is a name that the store itself listed: a link in a folder, for one.
  if (error.kind == StoreErrorKind::kDamaged || error.kind == StoreErrorKind::kInvalid) {
    return ObjectRead{
        .state = ObjectRead::State::kUnreadable, .bytes = {}, .problem = std::move(error.text)};
  }
  return std::unexpected(std::move(error));
}

}  // namespace kvorum::archive
