// The leases, their times to live and the keys attached to each: the replicated part of leases, the
// same on every member that has applied the same entries.
//
// Not thread-safe. Owns copies of the attached keys. Memory: about 100 bytes per lease, and 110
// bytes plus the key per attached key. Its hash tables are split into parts, so that no single call
// pays for the growth of a large one: a call is O(1). Invariants (CheckInvariants): a key is
// attached to one lease, and is in that lease's list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/indexed_heap.h"
#include "lease/lease_record.h"

namespace kvorum::lease {

struct AttachedKey;

struct Lease {
  LeaseRecord record;
  AttachedKey* first_key = nullptr;  // in no order
  std::uint32_t keys = 0;

  // The primary's (lessor.h); meaningless elsewhere.
  HeapPlace heap_place = kNotInHeap;
  // The last checkpoint that was proposed and not removed again; 0: none.
  std::uint32_t checkpoint = 0;
  bool expired = false;  // its revocation is in flight
};

struct AttachedKey {
  const std::string* key = nullptr;
  Lease* lease = nullptr;
  AttachedKey* previous = nullptr;
  AttachedKey* next = nullptr;
};

class LeaseTable {
 public:
  LeaseTable() = default;
  // Leases and keys point at each other, and never move.
  LeaseTable(LeaseTable&&) noexcept = default;
  LeaseTable& operator=(LeaseTable&&) noexcept = default;
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;

  // nullptr if there is none.
  Lease* Find(LeaseId id);
  const Lease* Find(LeaseId id) const;
  // Returns nullptr if the id is taken.
  Lease* Add(const LeaseRecord& record);
  // Removes an existing lease with its attachments.
  void Remove(LeaseId id);

  // Attaches the key to this lease and detaches it from any other; kNoLease, or an id that does not
  // exist, only detaches it.
  void Attach(std::string_view key, LeaseId id);
  // nullptr if it is attached to none.
  const AttachedKey* FindKey(std::string_view key) const;
  // kNoLease if it is attached to none.
  LeaseId LeaseOf(std::string_view key) const;
  // Sorted, which is the order in which a revocation deletes them on every member.
  static std::vector<std::string> KeysOf(const Lease& lease);
  // Visits the keys in no order, until `visit` returns false. Returns whether it visited all of
  // them.
  static bool VisitKeys(const Lease& lease, const std::function<bool(std::string_view)>& visit);
  // Unordered: the caller sorts them where that delays no request.
  static std::vector<std::string> CopyKeys(const Lease& lease);

  // Visits the attached keys of one part, in no order. A key stays in its part.
  void ForEachKeyIn(std::size_t part,
                    const std::function<void(std::string_view key, LeaseId id)>& visit) const;

  std::size_t size() const { return size_; }
  std::size_t attached_keys() const { return attached_keys_; }
  // Visits the leases in no order. `visit` may change the primary's fields.
  void ForEach(const std::function<void(Lease& lease)>& visit);
  void ForEach(const std::function<void(const Lease& lease)>& visit) const;
  // The same in parts, for callers that must not take long at a time. A lease stays in its part.
  static constexpr int kPartBits = 8;
  static constexpr std::size_t kParts = std::size_t{1} << kPartBits;
  void ForEachIn(std::size_t part, const std::function<void(const Lease& lease)>& visit) const;

  // Aborts with the broken invariant. O(n).
  void CheckInvariants() const;

 private:
  struct HashKey {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const {
      return std::hash<std::string_view>{}(key);
    }
  };
  using Leases = std::unordered_map<LeaseId, Lease>;
  using Keys = std::unordered_map<std::string, AttachedKey, HashKey, std::equal_to<>>;

  static std::size_t PartOf(std::uint64_t hash) {
    return (hash * 0x9e3779b97f4a7c15U) >> (64 - kPartBits);
  }
  Leases& Part(LeaseId id) { return leases_[PartOf(static_cast<std::uint64_t>(id))]; }
  Keys& Part(std::string_view key) { return keys_[PartOf(HashKey{}(key))]; }

  static void Unlink(AttachedKey& attached);
  static void Link(AttachedKey& attached, Lease& lease);

  std::vector<Leases> leases_ = std::vector<Leases>(kParts);
  std::vector<Keys> keys_ = std::vector<Keys>(kParts);
  std::size_t size_ = 0;
  std::size_t attached_keys_ = 0;
};

}  // namespace kvorum::lease
