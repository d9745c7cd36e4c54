// The resources that a subscriber is to hold: immutable, and shared by all who are to hold the
// same.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "sync/kernel/content_hash.h"

namespace kvorum::sync {

using Bytes = std::shared_ptr<const std::string>;  // never null, except where a header says so

struct Item {
  ContentHash version;  // of the bytes
  Bytes bytes;
};

// The resources of one type.
struct TypeSnapshot {
  ContentHash version;                // of all names and versions
  std::map<std::string, Item> items;  // by name
};
using TypeSnapshotPtr = std::shared_ptr<const TypeSnapshot>;
using Snapshot = std::map<std::string, TypeSnapshotPtr>;  // by type

// The resources of one type as they stand in the store, by name.
using Objects = std::map<std::string, Bytes>;

// The source of the resources.
class TypeReader {
 public:
  using Done = std::move_only_function<void(Result<Objects>)>;
  virtual ~TypeReader() = default;
  // Begins to read all of a type, and returns. Calls `done` exactly once, on any thread, within
  // this call too. kCanceled: not now, which is not a failure; the caller asks again.
  virtual void Read(const std::string& type, Done done) = 0;
};

}  // namespace kvorum::sync
