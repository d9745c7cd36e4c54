#include "tests/differential/random_requests.h"

#include <algorithm>
#include <string>
#include <utility>

namespace kvorum::differential {
namespace {

using etcdserverpb::Compare;
using etcdserverpb::DeleteRangeRequest;
using etcdserverpb::PutRequest;
using etcdserverpb::RangeRequest;
using etcdserverpb::RequestOp;
using etcdserverpb::TxnRequest;

constexpr int kDeepestTxn = 4;

// An order that the enum does not have is refused in a range, but not by every peer: in a txn that
// writes the servers would go different ways, so it is only asked for in reads.
enum class SortOrders { kKnown, kAny };

void ChooseOrder(Choices& choices, SortOrders orders, RangeRequest& range) {
  if (choices.Percent(45)) return;
  range.set_sort_order(static_cast<RangeRequest::SortOrder>(choices.Between(0, 2)));
  range.set_sort_target(static_cast<RangeRequest::SortTarget>(choices.Between(0, 4)));
  if (orders == SortOrders::kAny && choices.OneIn(60)) {
    constexpr int kUnknown[] = {3, -1, 1000};
    range.set_sort_order(static_cast<RangeRequest::SortOrder>(kUnknown[choices.rng().Below(3)]));
  }
}

void ChooseFilters(Choices& choices, RangeRequest& range) {
  if (choices.Percent(80)) return;
  if (choices.Percent(40)) range.set_min_mod_revision(choices.FilterRevision());
  if (choices.Percent(40)) range.set_max_mod_revision(choices.FilterRevision());
  if (choices.Percent(40)) range.set_min_create_revision(choices.FilterRevision());
  if (choices.Percent(40)) range.set_max_create_revision(choices.FilterRevision());
}

RangeRequest MakeRange(Choices& choices, SortOrders orders) {
  RangeRequest range;
  range.set_key(choices.AnyKey());
  if (choices.Percent(12)) {
    range.set_key(kZero);
    range.set_range_end(kZero);
  } else {
    range.set_range_end(choices.AnyEnd(range.key()));
  }
  if (choices.Percent(35)) range.set_limit(choices.Limit());
  if (choices.Percent(30)) range.set_revision(choices.Revision());
  ChooseOrder(choices, orders, range);
  ChooseFilters(choices, range);
  range.set_serializable(choices.Percent(30));
  range.set_keys_only(choices.Percent(12));
  range.set_count_only(choices.Percent(8));
  // The answer could not show which of the rows with one hidden value are cut off.
  if (range.keys_only() && range.sort_target() == RangeRequest::VALUE) range.clear_limit();
  return range;
}

// One txn in the making. Since the API refuses to change a key twice, a careful one takes each key
// that it puts or deletes from a shuffled pool, and deletes ranges only where it puts nothing.
//
// A put that keeps its key's value or lease ends the peer for good if a delete of the same txn took
// the key away and the check for duplicates missed it, as it does for open ends: a txn has either
// such puts or odd ranges, never both.
class TxnMaker {
 public:
  explicit TxnMaker(Choices& choices)
      : choices_(choices), careful_(choices.OneIn(3) == false), odd_ranges_(choices.Percent(30)) {
    pool_.assign(Choices::Keys().begin(), Choices::Keys().end());
    for (std::size_t i = pool_.size(); i > 1; --i) {
      std::swap(pool_[i - 1], pool_[choices.rng().Below(i)]);
    }
  }

  TxnRequest Make(int depth = 0) {
    TxnRequest txn;
    if (choices_.Percent(60)) {
      for (auto n = choices_.Between(1, 3); n > 0; --n)
        *txn.add_compare() = RandomCompare(choices_);
    }
    const std::int64_t most_ops = depth == 0 ? 4 : 2;
    for (auto n = choices_.Between(0, most_ops); n > 0; --n) AddOp(*txn.add_success(), depth);
    for (auto n = choices_.Between(0, most_ops); n > 0; --n) AddOp(*txn.add_failure(), depth);
    return txn;
  }

 private:
  void AddOp(RequestOp& op, int depth) {
    const std::int64_t dice = choices_.Between(1, 1000);
    if (dice <= 3) return;  // an operation without content
    if (dice <= 300) {
      *op.mutable_request_range() = MakeRange(choices_, SortOrders::kKnown);
      if (choices_.Percent(60)) op.mutable_request_range()->clear_revision();
    } else if (dice <= 680) {
      *op.mutable_request_put() = Put();
    } else if (dice <= 850) {
      *op.mutable_request_delete_range() = Delete();
    } else if (depth < kDeepestTxn) {
      *op.mutable_request_txn() = Make(depth + 1);
    } else {
      *op.mutable_request_range() = MakeRange(choices_, SortOrders::kKnown);
    }
  }

  std::string ChangedKey() {
    if (!careful_ || pool_.empty()) return choices_.AnyKey();
    std::string key = std::move(pool_.back());
    pool_.pop_back();
    return key;
  }

  PutRequest Put() {
    PutRequest put = RandomPut(choices_);
    put.set_key(ChangedKey());
    if (odd_ranges_) {
      put.clear_ignore_value();
      put.clear_ignore_lease();
    } else if (put.ignore_value() && choices_.Percent(50)) {
      put.clear_ignore_value();
    }
    if (choices_.Percent(60)) put.clear_lease();
    return put;
  }

  DeleteRangeRequest Delete() {
    DeleteRangeRequest del;
    del.set_prev_kv(choices_.Percent(40));
    if (careful_ && choices_.Percent(50)) {
      const auto keys = Choices::DeletedKeys();
      del.set_key(keys[choices_.rng().Below(keys.size())]);
      if (choices_.Percent(60)) del.set_range_end(std::string(Choices::kDeletedPrefix) + "9\xff");
      return del;
    }
    del.set_key(ChangedKey());
    if (careful_) return del;
    if (odd_ranges_ && choices_.Percent(40)) {
      del.set_range_end(choices_.AnyEnd(del.key()));
    } else if (choices_.Percent(50)) {
      del.set_range_end(choices_.BoundedEnd(del.key()));
    }
    return del;
  }

  Choices& choices_;
  const bool careful_;
  const bool odd_ranges_;
  std::vector<std::string> pool_;
};

void SetTargetUnion(Choices& choices, Compare::CompareTarget target, Compare& compare) {
  switch (target) {
    case Compare::VERSION:
      return compare.set_version(choices.Between(-1, 8));
    case Compare::CREATE:
      return compare.set_create_revision(choices.OneIn(4) ? 0 : choices.FilterRevision());
    case Compare::MOD:
      return compare.set_mod_revision(choices.OneIn(4) ? 0 : choices.FilterRevision());
    case Compare::VALUE:
      return compare.set_value(choices.Value());
    default:
      return compare.set_lease(choices.OneIn(3) ? choices.Lease() : 0);
  }
}

}  // namespace

RangeRequest RandomRange(Choices& choices) { return MakeRange(choices, SortOrders::kAny); }

PutRequest RandomPut(Choices& choices) {
  PutRequest put;
  put.set_key(choices.AnyKey());
  put.set_prev_kv(choices.Percent(30));
  put.set_ignore_value(choices.Percent(8));
  put.set_ignore_lease(choices.Percent(8));
  if (!put.ignore_value() || choices.OneIn(8)) put.set_value(choices.Value());
  if (choices.OneIn(put.ignore_lease() ? 8 : 5)) put.set_lease(choices.Lease());
  return put;
}

DeleteRangeRequest RandomDelete(Choices& choices) {
  DeleteRangeRequest del;
  del.set_key(choices.AnyKey());
  del.set_prev_kv(choices.Percent(50));
  if (choices.Percent(25)) {
    del.set_range_end(choices.BoundedEnd(del.key()));
  } else if (choices.OneIn(12)) {
    del.set_range_end(choices.AnyEnd(del.key()));
  } else if (choices.OneIn(100)) {
    del.set_key(kZero);
    del.set_range_end(kZero);
  }
  return del;
}

Compare RandomCompare(Choices& choices) {
  Compare compare;
  compare.set_key(choices.OneIn(4) ? choices.AnyKey() : choices.Key());
  if (choices.Percent(30)) compare.set_range_end(choices.AnyEnd(compare.key()));
  compare.set_result(static_cast<Compare::CompareResult>(choices.Between(0, 3)));
  const auto target = static_cast<Compare::CompareTarget>(choices.Between(0, 4));
  compare.set_target(target);
  SetTargetUnion(choices, target, compare);
  if (choices.OneIn(25)) {  // a number that is not the target's, or none
    compare.clear_target_union();
    if (choices.Percent(50)) {
      SetTargetUnion(choices, static_cast<Compare::CompareTarget>(choices.Between(0, 4)), compare);
    }
  }
  if (choices.OneIn(100)) compare.set_result(static_cast<Compare::CompareResult>(9));
  if (choices.OneIn(100)) compare.set_target(static_cast<Compare::CompareTarget>(9));
  return compare;
}

etcdserverpb::CompactionRequest RandomCompaction(Choices& choices) {
  etcdserverpb::CompactionRequest compaction;
  compaction.set_physical(choices.Percent(50));
  // Once etcd 3.7 has compacted at 0, it answers HashKV of the newest with the hash of nothing.
  const std::int64_t nearest = choices.compacted() > 0 ? 0 : 1;
  const std::int64_t dice = choices.Between(1, 100);
  if (dice <= 30) {  // keeps a good part of the history
    const std::int64_t oldest = choices.compacted() + nearest;
    compaction.set_revision(choices.Between(oldest, std::max(oldest, choices.newest() - 200)));
  } else if (dice <= 40) {
    compaction.set_revision(choices.newest() - choices.Between(0, 3));
  } else if (dice <= 70) {
    compaction.set_revision(choices.compacted() - choices.Between(nearest, 3));
  } else if (dice <= 90) {
    compaction.set_revision(choices.newest() + 1000 + choices.Between(0, 9));
  } else {
    compaction.set_revision(-choices.Between(nearest, 5));
  }
  return compaction;
}

etcdserverpb::HashKVRequest RandomHashKv(Choices& choices) {
  etcdserverpb::HashKVRequest hash_kv;
  if (choices.Percent(60)) hash_kv.set_revision(choices.Revision());
  return hash_kv;
}

etcdserverpb::LeaseGrantRequest RandomGrant(Choices& choices) {
  etcdserverpb::LeaseGrantRequest grant;
  grant.set_id(choices.OneIn(8) ? -1 : choices.Between(1, 12));
  grant.set_ttl(choices.OneIn(10) ? 9'000'000'000 + choices.Between(0, 2)
                                  : choices.Between(100'000, 200'000));
  return grant;
}

TxnRequest RandomReadTxn(Choices& choices) {
  TxnRequest txn;
  for (auto n = choices.Between(0, 3); n > 0; --n) *txn.add_compare() = RandomCompare(choices);
  for (auto* branch : {txn.mutable_success(), txn.mutable_failure()}) {
    for (auto n = choices.Between(0, 3); n > 0; --n) {
      *branch->Add()->mutable_request_range() = MakeRange(choices, SortOrders::kAny);
    }
  }
  return txn;
}

TxnRequest RandomTxn(Choices& choices) { return TxnMaker(choices).Make(); }

TxnRequest LongTxn(Choices& choices, std::int64_t ops, std::int64_t nested_ops) {
  TxnRequest txn;
  const bool puts = choices.Percent(50);
  for (std::int64_t i = 0; i < ops; ++i) {
    RequestOp& op = *(choices.OneIn(40) ? txn.add_failure() : txn.add_success());
    if (i == 0 && nested_ops > 0) {
      TxnRequest& nested = *op.mutable_request_txn();
      for (std::int64_t n = 0; n < nested_ops; ++n) {
        nested.add_success()->mutable_request_range()->set_key(choices.Key());
      }
    } else if (puts) {
      op.mutable_request_put()->set_key("many/" + std::to_string(i));
    } else {
      op.mutable_request_range()->set_key(choices.Key());
    }
  }
  return txn;
}

}  // namespace kvorum::differential
