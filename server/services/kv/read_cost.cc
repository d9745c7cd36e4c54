#include "server/services/kv/read_cost.h"

#include <algorithm>
#include <variant>

#include "mvcc/store/store.h"
#include "server/call/reads.h"

namespace kvorum::server {
namespace {

// A loop's other calls wait for each read, and many clients may ask at once: a tenth of a
// millisecond of work, and a millisecond.
constexpr std::int64_t kRowsOnLoop = 100;
constexpr std::int64_t kRowsOfPage = 1'000;

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

template <class Request>
ReadPlace PlaceByRows(const Reads& reads, const Request& request) {
  if (ReadsValues(request)) return ReadPlace::kReaders;
  auto view = HeldView::Take(reads.store);
  if (!view.has_value()) return ReadPlace::kReaders;
  const std::int64_t rows = (*view)->EstimateRows(request, kRowsOfPage + 1);
  if (rows <= kRowsOnLoop) return ReadPlace::kLoop;
  return rows <= kRowsOfPage ? ReadPlace::kPages : ReadPlace::kReaders;
}

}  // namespace

ReadPlace PlaceOf(const Reads& reads, const mvcc::RangeRequest& request) {
  return request.range_end.empty() ? ReadPlace::kLoop : PlaceByRows(reads, request);
}
ReadPlace PlaceOf(const Reads& reads, const mvcc::TxnRequest& request) {
  return PlaceByRows(reads, request);
}

}  // namespace kvorum::server
