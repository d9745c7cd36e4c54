// The changes of KV, from one watch of KVROOT for all who wait: keys and revisions only. They tell
// the index of what has been deleted, and wake those whose key or prefix a change concerns.
//
// Thread-safe; callbacks run on the executor and must not block. Store and executor outlive it.
// Memory: the tombstones, bounded in bytes, and about 400 bytes and the key for each interest. Cost
// of a change: O(log n) look-ups (prefix_table.h), and those whom it concerns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/task.h"
#include "sync/kernel/jitter.h"
#include "sync/store/store.h"

namespace kvorum::consul {

struct KvChangesOptions {
  std::string prefix = {};  // KVROOT
  std::size_t max_tombstone_bytes = std::size_t{16} << 20U;
  // Something failed and is tried again.
  std::function<void(const Error& error)> on_error = {};
  sync::BackoffOptions backoff = {};
  std::uint64_t seed = 0;
};

class KvChanges {
  class State;
  class Entry;

 public:
  KvChanges(sync::Store& store, Executor& executor, KvChangesOptions options);
  // Ends all waits.
  ~KvChanges();
  KvChanges(const KvChanges&) = delete;
  KvChanges& operator=(const KvChanges&) = delete;
  void Start();
  void Stop();

  // Everything up to it has been heard of; 0: not begun.
  std::int64_t revision() const;
  // When a missing key was deleted; at least 1. If that is not known, the revision up to which
  // deletions are not.
  std::uint64_t DeletionOf(std::string_view key) const;
  // The last deletion with the prefix, likewise.
  std::uint64_t DeletionUnder(std::string_view prefix) const;

  // To be called with what a read through the leader says, and what revision() was before it was
  // begun: a lower one means that the store was restored, and everything begins anew.
  void Saw(std::int64_t revision, std::int64_t revision_before);

  // Somebody's interest in a key, or in all keys with a prefix, from its creation on.
  class Interest {
   public:
    explicit Interest(std::shared_ptr<Entry> entry);
    ~Interest();
    Interest(const Interest&) = delete;
    Interest& operator=(const Interest&) = delete;

    // The last change's revision; 0: none came.
    std::int64_t last_change() const;
    // Something was put since the interest began, or what was is not known.
    bool has_put() const;
    // Calls back once after a change that is greater than `after`, or when everything begins anew;
    // at once, on the caller's thread, if that was already. Another Wait takes its place.
    void Wait(std::int64_t after, std::move_only_function<void()> on_change);
    void Drop();

   private:
    const std::shared_ptr<Entry> entry_;
  };
  std::shared_ptr<Interest> Follow(const std::string& key, bool is_prefix);
  std::size_t interests() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace kvorum::consul
