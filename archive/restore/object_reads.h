// Objects of an archive read with all their checks. An error tells which object is to blame, so
// that a caller can look for a way around it.
//
// Used by one thread at a time, which the store's calls block.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <utility>

#include "archive/format/names.h"
#include "archive/format/records.h"
#include "archive/store/object_store.h"
#include "base/error.h"

namespace kvorum::archive {

struct ObjectError {
  Error error;
  // The key of the object that is damaged or missing; empty for any other cause: a store that is
  // not reached, a full disk.
  std::string object = {};

  ObjectError(Error cause) : error(std::move(cause)) {}  // implicit, for KV_TRY
  ObjectError(Error cause, std::string key) : error(std::move(cause)), object(std::move(key)) {}
};

template <class T = void>
using Read = std::expected<T, ObjectError>;

// kDataLoss, with the key in front of the reason unless that has it already.
std::unexpected<ObjectError> FailObject(const std::string& key, const std::string& reason);
// Translates a store's answer about this object.
ObjectError ObjectErrorOf(const StoreError& error, const std::string& key);

Read<std::string> ReadBytes(ObjectStore& store, const std::string& key, std::size_t limit_bytes);

// The header in the first bytes of a base's part, checked against the key, which is a part's.
Read<PartHeader> ReadPartHeader(ObjectStore& store, const ObjectKey& key);

struct PartContent {
  PartHeader header;
  std::string content;
};
// Takes a whole part's bytes.
Read<PartContent> UnpackPart(const ObjectKey& key, std::string_view bytes);

}  // namespace kvorum::archive
