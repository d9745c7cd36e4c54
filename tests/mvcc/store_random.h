// Random requests over a small pool of keys, so that they meet; each made from a number alone.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "mvcc/records/requests.h"
#include "tests/mvcc/store_requests.h"

namespace kvorum::mvcc {

// Owns the bytes of the requests it makes.
class RandomRequests {
 public:
  // `newest`: requested revisions are around the existing ones.
  RandomRequests(std::uint64_t seed, std::int64_t newest) : rng_(seed), newest_(newest) {}

  PutRequest Put() {
    PutRequest request;
    request.key = Key();
    request.prev_kv = rng_.OneIn(3);
    request.ignore_value = rng_.OneIn(8);
    request.ignore_lease = rng_.OneIn(8);
    if (!request.ignore_value) request.value = Value();
    if (!request.ignore_lease && rng_.OneIn(5)) {
      request.lease = static_cast<std::int64_t>(1 + rng_.Below(4));
    }
    return request;
  }

  DeleteRangeRequest Delete() {
    if (rng_.OneIn(8)) return {.key = kOpenEnd, .range_end = kOpenEnd};  // all there is
    return {.key = Key(), .range_end = End(), .prev_kv = rng_.OneIn(2)};
  }

  RangeRequest Range() {
    RangeRequest request;
    request.key = Key();
    request.range_end = End();
    if (rng_.OneIn(2)) request.limit = static_cast<std::int64_t>(rng_.Below(8)) - 1;
    if (rng_.OneIn(2)) request.revision = Revision();
    if (rng_.OneIn(2)) request.sort_order = static_cast<SortOrder>(rng_.Below(3));
    if (rng_.OneIn(2)) request.sort_target = static_cast<SortTarget>(rng_.Below(5));
    request.keys_only = rng_.OneIn(5);
    request.count_only = rng_.OneIn(10);
    if (rng_.OneIn(5)) request.min_mod_revision = Revision();
    if (rng_.OneIn(5)) request.max_mod_revision = Revision();
    if (rng_.OneIn(5)) request.min_create_revision = Revision();
    if (rng_.OneIn(5)) request.max_create_revision = Revision();
    return request;
  }

  TxnRequest Txn(bool read_only = false, int depth = 0) {
    TxnRequest txn;
    for (std::uint64_t n = rng_.Below(3); n > 0; --n) txn.compare.push_back(MakeCompare());
    for (auto* branch : {&txn.success, &txn.failure}) {
      for (std::uint64_t n = rng_.Below(4); n > 0; --n) {
        const std::uint64_t dice = read_only ? 0 : rng_.Below(10);
        if (dice < 3) {
          Append(*branch, Range());
        } else if (dice < 6) {
          Append(*branch, Put());
        } else if (dice < 8) {
          Append(*branch, Delete());
        } else if (depth < 3) {
          Append(*branch, Txn(false, depth + 1));
        }
      }
    }
    return txn;
  }

  std::int64_t Revision() {
    return static_cast<std::int64_t>(rng_.Below(static_cast<std::uint64_t>(newest_) + 4)) - 2;
  }

 private:
  std::string_view Own(std::string bytes) { return owned_.emplace_back(std::move(bytes)); }
  std::string_view Key() {
    static constexpr std::string_view kKeys[] = {
        "a", "aa", "ab", "b", "b\xff", "c", "d", "e", "\xff\xff", {"\0", 1}, {"a\0", 2}, "key"};
    return kKeys[rng_.Below(std::size(kKeys))];
  }
  std::string_view End() {
    const std::uint64_t dice = rng_.Below(6);
    if (dice < 2) return {};
    if (dice == 2) return kOpenEnd;
    return Key();
  }
  std::string_view Value() {
    if (rng_.OneIn(6)) return {};
    return Own(std::string(rng_.OneIn(20) ? 5000 : 1, static_cast<char>('a' + rng_.Below(4))));
  }
  Compare MakeCompare() {
    Compare compare;
    compare.result = static_cast<CompareResult>(rng_.Below(4));
    compare.target = static_cast<CompareTarget>(rng_.Below(5));
    compare.key = Key();
    if (rng_.OneIn(3)) compare.range_end = End();
    if (compare.target == CompareTarget::kValue) {
      compare.value = Value();
    } else if (compare.target == CompareTarget::kVersion ||
               compare.target == CompareTarget::kLease) {
      compare.number = static_cast<std::int64_t>(rng_.Below(4));
    } else {
      compare.number = Revision();
    }
    return compare;
  }

  Rng rng_;
  const std::int64_t newest_;
  std::deque<std::string> owned_;
};

}  // namespace kvorum::mvcc
