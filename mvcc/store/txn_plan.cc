#include "mvcc/store/txn_plan.h"

#include <memory>
#include <utility>
#include <variant>

#include "base/api_errors.h"
#include "base/key_range.h"
#include "mvcc/records/range_set.h"

namespace kvorum::mvcc {
namespace {

const std::vector<RequestOp>& Branch(const TxnRequest& request, bool succeeded) {
  return succeeded ? request.success : request.failure;
}

Result<bool> AllHold(const RangeScope& scope, const std::vector<Compare>& compares) {
  for (const Compare& compare : compares) {
    KV_TRY(const bool holds, Holds(scope, compare));
    if (!holds) return false;
  }
  return true;
}

Result<void> ChoosePath(const RangeScope& scope, const TxnRequest& request,
                        std::vector<bool>& path) {
  KV_TRY(const bool succeeded, AllHold(scope, request.compare));
  path.push_back(succeeded);
  for (const RequestOp& op : Branch(request, succeeded)) {
    if (const auto* nested = std::get_if<std::unique_ptr<TxnRequest>>(&op)) {
      KV_RETURN_IF_ERROR(ChoosePath(scope, **nested, path));
    }
  }
  return {};
}

// Checks the operations of the chosen branches one after the other.
class PathChecker {
 public:
  PathChecker(const RangeScope& scope, const LeaseChecker* leases, const std::vector<bool>& path)
      : scope_(scope), leases_(leases), path_(path) {}

  Result<void> CheckNext(const TxnRequest& request) {
    const bool succeeded = path_[next_++];
    for (const RequestOp& op : Branch(request, succeeded)) {
      KV_RETURN_IF_ERROR(std::visit([this](const auto& o) { return Check(o); }, op));
    }
    return {};
  }

 private:
  Result<void> Check(std::monostate) { return {}; }

  Result<void> Check(const RangeRequest& range) {
    if (range.revision == 0) return {};
    if (range.revision > scope_.current_revision) return kErrFutureRev.Fail();
    if (range.revision < scope_.compact_revision) return kErrCompacted.Fail();
    return {};
  }

  Result<void> Check(const PutRequest& put) {
    if (put.lease != 0 && (leases_ == nullptr || !leases_->LeaseExists(put.lease))) {
      return kErrLeaseNotFound.Fail();
    }
    if (!put.ignore_value && !put.ignore_lease) return {};
    if (deleted_.Contains(put.key)) return kErrKeyNotFound.Fail();
    if (!scope_.index.Get(put.key, scope_.current_revision)) return kErrKeyNotFound.Fail();
    return {};
  }

  Result<void> Check(const DeleteRangeRequest& del) {
    deleted_.Add(KeyRange(del.key, del.range_end));
    return {};
  }

  Result<void> Check(const std::unique_ptr<TxnRequest>& nested) { return CheckNext(*nested); }

  const RangeScope& scope_;
  const LeaseChecker* leases_;
  const std::vector<bool>& path_;
  std::size_t next_ = 0;
  RangeSet deleted_;
};

class Runner {
 public:
  Runner(TxnOperations& operations, const TxnPlan& plan) : operations_(operations), plan_(plan) {}

  Result<TxnResult> RunNext(const TxnRequest& request) {
    TxnResult result{.succeeded = plan_.succeeded(next_++), .revision = 0, .responses = {}};
    const std::vector<RequestOp>& ops = Branch(request, result.succeeded);
    result.responses.reserve(ops.size());
    for (const RequestOp& op : ops) {
      KV_TRY(OpResult response, std::visit([this](const auto& o) { return Run(o); }, op));
      result.responses.push_back(std::move(response));
    }
    return result;
  }

 private:
  Result<OpResult> Run(std::monostate) { return OpResult(); }
  Result<OpResult> Run(const RangeRequest& range) { return operations_.Range(range); }
  Result<OpResult> Run(const PutRequest& put) { return operations_.Put(put); }
  Result<OpResult> Run(const DeleteRangeRequest& del) { return operations_.DeleteRange(del); }
  Result<OpResult> Run(const std::unique_ptr<TxnRequest>& nested) {
    KV_TRY(TxnResult result, RunNext(*nested));
    return std::make_unique<TxnResult>(std::move(result));
  }

  TxnOperations& operations_;
  const TxnPlan& plan_;
  std::size_t next_ = 0;
};

}  // namespace

Result<TxnPlan> TxnPlan::Make(const RangeScope& scope, const TxnRequest& request,
                              const LeaseChecker* leases) {
  TxnPlan plan;
  KV_RETURN_IF_ERROR(ChoosePath(scope, request, plan.path_));
  KV_RETURN_IF_ERROR(PathChecker(scope, leases, plan.path_).CheckNext(request));
  return plan;
}

Result<TxnResult> RunTxn(TxnOperations& operations, const TxnRequest& request,
                         const TxnPlan& plan) {
  KV_TRY(TxnResult result, Runner(operations, plan).RunNext(request));
  result.revision = operations.revision();
  return result;
}

}  // namespace kvorum::mvcc
