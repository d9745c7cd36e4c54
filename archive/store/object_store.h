// A place for an archive's objects: a folder or a bucket. Objects have a key and bytes; they are
// written whole, and read whole or in part.
//
// Threading: a store is used by one thread at a time, which its calls block: for the network or the
// disk, never without a limit of time, and until about a second after its StopSignal.
// Durability: an object is durable once Put has returned ok, and so is each that List gives.
// Consistency: each call sees the outcome of every call that ended before it.
// Sizes are in bytes. Nothing is kept of an object but the piece that a sink gets, of at most
// kMaxPieceBytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archive/store/store_error.h"

namespace kvorum::archive {

// So that no object needs an upload in parts.
inline constexpr std::size_t kMaxObjectBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxPieceBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxKeyBytes = 512;

struct ObjectInfo {
  std::uint64_t size_bytes = 0;
  // Changes with the content, where the store has such a thing; else empty.
  std::string version = {};
  // The 32 bytes of the content's SHA-256, if the store keeps it; else empty.
  std::string sha256 = {};
  // Why the object cannot be deleted or replaced now, as "COMPLIANCE until 2027-01-31T00:00:00Z";
  // else empty. Only Head fills it.
  std::string lock = {};
};

struct PutOptions {
  // kExists instead of replacing an object.
  bool if_absent = false;
  std::string_view content_type = "application/octet-stream";
};

struct GetOptions {
  // The part that is wanted. It begins within the object, and may be longer than the object has.
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length = std::nullopt;
  // kConflict if the object has another version, where the store has versions. Empty: any.
  std::string version = {};
  // Called before the first piece, with the whole object's size.
  std::function<void(const ObjectInfo&)> on_begin = {};
};

// Gets one piece after another. An error ends the call, which returns it.
using PieceSink = std::function<StoreResult<void>(std::string_view piece)>;

struct ListOptions {
  // The beginning of the keys that are wanted.
  std::string prefix = {};
  // Only keys behind this one.
  std::string after = {};
};

// Keys come in the order of their bytes. A bucket may hold foreign objects, whose keys have any
// bytes. False ends the list.
using ListSink = std::function<bool(std::string_view key, std::uint64_t size_bytes)>;

struct DeleteFailure {
  std::string key;
  StoreError error;

  friend bool operator==(const DeleteFailure&, const DeleteFailure&) = default;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  virtual StoreResult<void> Put(const std::string& key, std::string_view bytes,
                                const PutOptions& options) = 0;
  // The object's bytes by its store's word; the caller's own checksum is what proves them.
  virtual StoreResult<ObjectInfo> Get(const std::string& key, const GetOptions& options,
                                      const PieceSink& sink) = 0;
  virtual StoreResult<ObjectInfo> Head(const std::string& key) = 0;
  virtual StoreResult<void> List(const ListOptions& options, const ListSink& sink) = 0;
  // The keys that could not be deleted. An absent object counts as deleted. An error means that any
  // of them may be gone.
  virtual StoreResult<std::vector<DeleteFailure>> Delete(std::span<const std::string> keys) = 0;
  // The next call does not use a connection of earlier ones.
  virtual void RenewConnection() = 0;
  // The place as people name it, "s3://bucket/prefix", without credentials.
  virtual const std::string& name() const = 0;
};

// Ok for names of [A-Za-z0-9._-] with slashes between them, none of which is empty or begins with a
// dot: no key leads out of a folder, and none needs an escape in a URL. kInvalid.
StoreResult<void> CheckKey(std::string_view key);

// kInvalid for bytes that are larger than an object may be.
StoreResult<void> CheckObjectSize(const std::string& key, std::string_view bytes);

// A whole object; kDamaged if it is larger than the limit.
StoreResult<std::string> ReadObject(ObjectStore& store, const std::string& key,
                                    std::size_t limit_bytes);

}  // namespace kvorum::archive
