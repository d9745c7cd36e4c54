// Reads objects for a check: the store's trouble is an error, the object's own is a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "archive/format/names.h"
#include "archive/store/object_store.h"

namespace kvorum::archive {

struct ObjectRead {
  enum class State : std::uint8_t { kRead, kAbsent, kUnreadable };
  State state = State::kRead;
  std::string bytes;
  std::string problem;  // why it is unreadable
};

// Used by one thread at a time, as its store is.
class ObjectReader {
 public:
  using OnProgress = std::function<void(std::uint64_t objects, std::uint64_t size_bytes)>;

  ObjectReader(ObjectStore& store, OnProgress on_progress);

  ObjectStore& store() { return store_; }
  StoreResult<ObjectRead> Read(const std::string& key, std::size_t limit_bytes);

  std::uint64_t objects() const { return objects_; }
  std::uint64_t size_bytes() const { return size_bytes_; }

 private:
  ObjectStore& store_;
  const OnProgress on_progress_;
  std::uint64_t objects_ = 0;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace kvorum::archive
