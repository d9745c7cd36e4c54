// A bounded table from tokens to values that drops entries not used for a while.
//
// Thread-safe: 64 parts, each with its own lock, held only for the look-up. A token's place is
// decided by a hash with a key of this process, and the whole token is compared in constant time:
// the time of a look-up reveals nothing about the tokens present. Past the bound the part's longest
// unused token is dropped. `Value` is copied out; it should be small.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "auth/token_hash.h"
#include "base/clock.h"

namespace kvorum::auth {

template <class Value>
class TokenTable {
 public:
  explicit TokenTable(std::size_t max_tokens) : max_in_part_((max_tokens + kParts - 1) / kParts) {}

  // Adds the token, or replaces its value.
  void Set(std::string_view token, Value value, TimePoint ends_at) {
    const std::uint64_t hash = HashToken(key_, token);
    Part& part = PartOf(hash);
    std::list<Entry> evicted;  // dropped entries are destroyed after the lock is released
    const std::lock_guard lock(part.mutex);
    const auto it = part.index.find(Key{hash, token});
    if (it != part.index.end()) {
      std::swap(it->second->value, value);
      it->second->ends_at = ends_at;
      part.entries.splice(part.entries.end(), part.entries, it->second);
      return;
    }
    if (part.entries.size() >= max_in_part_) Unlink(part, part.entries.begin(), evicted);
    part.entries.push_back({std::string(token), hash, std::move(value), ends_at});
    const auto added = std::prev(part.entries.end());
    part.index.emplace(Key{hash, added->token}, added);
  }
  // nullopt if it is not there, or has expired. `renewed_until`: it now lives until then.
  std::optional<Value> Find(std::string_view token, TimePoint now,
                            std::optional<TimePoint> renewed_until) {
    const std::uint64_t hash = HashToken(key_, token);
    Part& part = PartOf(hash);
    const std::lock_guard lock(part.mutex);
    const auto it = part.index.find(Key{hash, token});
    if (it == part.index.end() || it->second->ends_at <= now) return std::nullopt;
    if (renewed_until) {
      it->second->ends_at = *renewed_until;
      part.entries.splice(part.entries.end(), part.entries, it->second);
    }
    return it->second->value;
  }
  void Remove(std::string_view token) {
    const std::uint64_t hash = HashToken(key_, token);
    Part& part = PartOf(hash);
    std::list<Entry> removed;
    const std::lock_guard lock(part.mutex);
    const auto it = part.index.find(Key{hash, token});
    if (it != part.index.end()) Unlink(part, it->second, removed);
  }
  void Clear() {
    for (Part& part : parts_) {
      std::list<Entry> removed;
      Index index;
      const std::lock_guard lock(part.mutex);
      removed.swap(part.entries);
      index.swap(part.index);
    }
  }
  // Drops up to `limit` expired tokens, the longest unused first: exact if all have the same time
  // to live. Returns the number dropped.
  std::size_t Sweep(TimePoint now, std::size_t limit) {
    std::size_t swept = 0;
    for (Part& part : parts_) {
      std::list<Entry> removed;
      const std::lock_guard lock(part.mutex);
      while (swept < limit && !part.entries.empty() && part.entries.front().ends_at <= now) {
        Unlink(part, part.entries.begin(), removed);
        ++swept;
      }
    }
    return swept;
  }
  std::size_t size() const {
    std::size_t size = 0;
    for (const Part& part : parts_) {
      const std::lock_guard lock(part.mutex);
      size += part.entries.size();
    }
    return size;
  }

 private:
  static constexpr std::size_t kParts = 64;
  struct Entry {
    std::string token;
    std::uint64_t hash;
    Value value;
    TimePoint ends_at;
  };
  struct Key {
    std::uint64_t hash;
    std::string_view token;  // an Entry's, or the caller's
    bool operator==(const Key& other) const {
      return hash == other.hash && EqualTokens(token, other.token);
    }
  };
  struct HashOf {
    std::size_t operator()(const Key& key) const { return key.hash; }
  };
  using Index = std::unordered_map<Key, typename std::list<Entry>::iterator, HashOf>;
  struct alignas(64) Part {
    mutable std::mutex mutex;
    std::list<Entry> entries;  // the longest unused first
    Index index;
  };

  // Uses the high bits: the part's table uses the low ones.
  Part& PartOf(std::uint64_t hash) { return parts_[hash >> 58]; }
  static void Unlink(Part& part, typename std::list<Entry>::iterator entry,
                     std::list<Entry>& removed) {
    part.index.erase(Key{entry->hash, entry->token});
    removed.splice(removed.end(), part.entries, entry);
  }

  const TokenHashKey key_ = MakeTokenHashKey();
  const std::size_t max_in_part_;
  std::array<Part, kParts> parts_;
};

}  // namespace kvorum::auth
