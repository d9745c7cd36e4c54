#include "mvcc/records/validate.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/api_errors.h"
#include "base/key_range.h"
#include "mvcc/records/range_set.h"

namespace kvorum::mvcc {
namespace {

constexpr std::uint64_t kPutOverheadBytes = 256;

bool IsKnown(SortOrder order) {
  switch (order) {
    case SortOrder::kNone:
    case SortOrder::kAscend:
    case SortOrder::kDescend:
      return true;
  }
  return false;
}

bool IsKnown(SortTarget target) {
  switch (target) {
    case SortTarget::kKey:
    case SortTarget::kVersion:
    case SortTarget::kCreate:
    case SortTarget::kMod:
    case SortTarget::kValue:
      return true;
  }
  return false;
}

Result<void> CheckOps(const TxnRequest& request, std::size_t max_ops);

struct OpCheck {
  std::size_t max_nested_ops;

  Result<void> operator()(std::monostate) const { return kErrKeyNotFound.Fail(); }
  Result<void> operator()(const RangeRequest& range) const { return CheckRange(range); }
  Result<void> operator()(const PutRequest& put) const { return CheckPut(put); }
  Result<void> operator()(const DeleteRangeRequest& del) const { return CheckDeleteRange(del); }
  Result<void> operator()(const std::unique_ptr<TxnRequest>& txn) const {
    return CheckOps(*txn, max_nested_ops);
  }
};

Result<void> CheckOps(const TxnRequest& request, std::size_t max_ops) {
  const std::size_t ops =
      std::max({request.compare.size(), request.success.size(), request.failure.size()});
  if (ops > max_ops) return kErrTooManyOps.Fail();
  for (const Compare& compare : request.compare) {
    if (compare.key.empty()) return kErrEmptyKey.Fail();
  }
  const OpCheck check{max_ops - ops};
  for (const auto* branch : {&request.success, &request.failure}) {
    for (const RequestOp& op : *branch) KV_RETURN_IF_ERROR(std::visit(check, op));
  }
  return {};
}

using KeySet = std::unordered_set<std::string_view>;

// The writes of one branch, to be compared with those beside it.
struct Writes {
  KeySet puts;
  RangeSet deletes;
};

const TxnRequest* Nested(const RequestOp& op) {
  const auto* txn = std::get_if<std::unique_ptr<TxnRequest>>(&op);
  return txn == nullptr ? nullptr : txn->get();
}

// Moves `from` into `to`, each key by its node; false if they share a key.
bool MergeDistinct(KeySet& to, KeySet from) {
  if (to.size() < from.size()) std::swap(to, from);
  to.merge(from);  // common keys stay behind
  return from.empty();
}

// Adds a nested txn's writes. Its branches may share puts, since only one of them runs. Its puts
// are compared with earlier deletes, its deletes with later puts.
bool AddNested(Writes& writes, Writes success, Writes failure) {
  KeySet puts = std::move(success.puts);
  static_cast<void>(MergeDistinct(puts, std::move(failure.puts)));
  if (writes.deletes.size() > 0) {
    const auto deleted = [&](std::string_view key) { return writes.deletes.Contains(key); };
    if (std::ranges::any_of(puts, deleted)) return false;
  }
  if (!MergeDistinct(writes.puts, std::move(puts))) return false;
  writes.deletes.Merge(std::move(success.deletes));
  writes.deletes.Merge(std::move(failure.deletes));
  return true;
}

// The writes of a list of operations; nothing if two of them change the same key. Deletes of this
// level come first in any position, then nested txns in order, then the puts of this level.
std::optional<Writes> CollectWrites(const std::vector<RequestOp>& ops) {
  Writes writes;
  for (const RequestOp& op : ops) {
    const auto* del = std::get_if<DeleteRangeRequest>(&op);
    if (del == nullptr) continue;
    const KeyRange range(del->key, del->range_end);
    if (!range.open()) writes.deletes.Add(range);  // QUIRK: etcd treats "\0" as an end here
  }
  for (const RequestOp& op : ops) {
    const TxnRequest* nested = Nested(op);
    if (nested == nullptr) continue;
    std::optional<Writes> success = CollectWrites(nested->success);
    if (!success) return std::nullopt;
    std::optional<Writes> failure = CollectWrites(nested->failure);
    if (!failure) return std::nullopt;
    if (!AddNested(writes, *std::move(success), *std::move(failure))) return std::nullopt;
  }
  for (const RequestOp& op : ops) {
    const auto* put = std::get_if<PutRequest>(&op);
    if (put == nullptr) continue;
    if (writes.deletes.Contains(put->key)) return std::nullopt;
    if (!writes.puts.insert(put->key).second) return std::nullopt;
  }
  return writes;
}

bool HasRevisionFilters(const RangeRequest& request) {
  return request.min_mod_revision != 0 || request.max_mod_revision != 0 ||
         request.min_create_revision != 0 || request.max_create_revision != 0;
}

bool IsKeyOrder(const RangeRequest& request) {
  return request.sort_order == SortOrder::kNone ||
         (request.sort_order == SortOrder::kAscend && request.sort_target == SortTarget::kKey);
}

template <typename Predicate>
bool AllOps(const TxnRequest& request, Predicate predicate) {
  return std::ranges::all_of(request.success, predicate) &&
         std::ranges::all_of(request.failure, predicate);
}

std::uint64_t BranchCost(const std::vector<RequestOp>& ops) {
  std::uint64_t cost = 0;
  for (const RequestOp& op : ops) {
    if (const auto* put = std::get_if<PutRequest>(&op)) cost += QuotaCost(*put);
    if (const TxnRequest* nested = Nested(op)) cost += QuotaCost(*nested);
  }
  return cost;
}

}  // namespace

Result<void> CheckRange(const RangeRequest& request) {
  if (request.key.empty()) return kErrEmptyKey.Fail();
  if (!IsKnown(request.sort_order)) return kErrInvalidSortOption.Fail();
  if (!IsKnown(request.sort_target)) return kErrInvalidSortOption.Fail();
  return {};
}

Result<void> CheckRangeStream(const RangeRequest& request) {
  KV_RETURN_IF_ERROR(CheckRange(request));
  if (!IsKeyOrder(request)) return kErrStreamSortOrder.Fail();
  if (HasRevisionFilters(request)) return kErrStreamFilters.Fail();
  return {};
}

Result<void> CheckPut(const PutRequest& request) {
  if (request.key.empty()) return kErrEmptyKey.Fail();
  if (request.ignore_value && !request.value.empty()) return kErrValueProvided.Fail();
  if (request.ignore_lease && request.lease != 0) return kErrLeaseProvided.Fail();
  return {};
}

Result<void> CheckDeleteRange(const DeleteRangeRequest& request) {
  if (request.key.empty()) return kErrEmptyKey.Fail();
  return {};
}

Result<void> CheckTxn(const TxnRequest& request, std::size_t max_ops) {
  KV_RETURN_IF_ERROR(CheckOps(request, max_ops));
  if (!CollectWrites(request.success)) return kErrDuplicateKey.Fail();
  if (!CollectWrites(request.failure)) return kErrDuplicateKey.Fail();
  return {};
}

bool IsReadOnly(const TxnRequest& request) {
  return AllOps(request,
                [](const RequestOp& op) { return std::holds_alternative<RangeRequest>(op); });
}

bool IsSerializable(const TxnRequest& request) {
  return AllOps(request, [](const RequestOp& op) {
    const auto* range = std::get_if<RangeRequest>(&op);
    return range != nullptr && range->serializable;
  });
}

std::uint64_t QuotaCost(const PutRequest& request) {
  return kPutOverheadBytes + request.key.size() + request.value.size();
}

std::uint64_t QuotaCost(const TxnRequest& request) {
  return std::max(BranchCost(request.success), BranchCost(request.failure));
}

}  // namespace kvorum::mvcc
