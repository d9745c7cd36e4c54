#include "server/services/read_cost.h"

#include <algorithm>
#include <variant>

#include "mvcc/store.h"

namespace kvorum::server {
namespace {

constexpr std::int64_t kRowsOnLoop = 1'000;  // about a millisecond of work

// True if the values of a whole range are read, which the answer's size does not show.
bool ReadsValues(const mvcc::RangeRequest& request) {
  return request.sort_target == mvcc::SortTarget::kValue && !request.range_end.empty();
}
bool ReadsValues(const mvcc::TxnRequest& request) {
  const auto compares = [](const mvcc::Compare& compare) {
    return !compare.range_end.empty() && (compare.target == mvcc::CompareTarget::kValue ||
                                          compare.target == mvcc::CompareTarget::kLease);
  };
  const auto sorts = [](const mvcc::RequestOp& op) {
    return ReadsValues(std::get<mvcc::RangeRequest>(op));
  };
  return std::ranges::any_of(request.compare, compares) ||
         std::ranges::any_of(request.success, sorts) || std::ranges::any_of(request.failure, sorts);
}

}  // namespace

bool FitsOnLoop(const ServiceContext& context, const mvcc::RangeRequest& request) {
  if (request.range_end.empty()) return true;
  if (ReadsValues(request)) return false;
  auto view = context.store->Read();
  return view.has_value() && view->EstimateRows(request) <= kRowsOnLoop;
}

bool FitsOnLoop(const ServiceContext& context, const mvcc::TxnRequest& request) {
  if (ReadsValues(request)) return false;
  auto view = context.store->Read();
  return view.has_value() && view->EstimateRows(request) <= kRowsOnLoop;
}

}  // namespace kvorum::server
