#include "server/state/key_access.h"

#include <memory>
#include <type_traits>
#include <variant>

namespace kvorum::server {

Result<void> KeyAccess::Check(const mvcc::PutRequest& request) {
  KV_RETURN_IF_ERROR(state_.CheckWrite(identity_, request.key, {}));
  KV_RETURN_IF_ERROR(CheckLease(request.lease));
  if (request.prev_kv) return state_.CheckRead(identity_, request.key, {});
  return {};
}

Result<void> KeyAccess::Check(const mvcc::DeleteRangeRequest& request) {
  KV_RETURN_IF_ERROR(state_.CheckWrite(identity_, request.key, request.range_end));
  if (request.prev_kv) return state_.CheckRead(identity_, request.key, request.range_end);
  return {};
}

Result<void> KeyAccess::Check(const mvcc::TxnRequest& request) {
  for (const mvcc::Compare& compare : request.compare)
    KV_RETURN_IF_ERROR(state_.CheckRead(identity_, compare.key, compare.range_end));
  KV_RETURN_IF_ERROR(CheckAll(request.success));
  return CheckAll(request.failure);
}

Result<void> KeyAccess::CheckAll(const std::vector<mvcc::RequestOp>& operations) {
  for (const mvcc::RequestOp& operation : operations) {
    KV_RETURN_IF_ERROR(std::visit(
        [this](const auto& part) -> Result<void> {
          using Part = std::decay_t<decltype(part)>;
          if constexpr (std::is_same_v<Part, std::monostate>) {
            return {};
          } else if constexpr (std::is_same_v<Part, std::unique_ptr<mvcc::TxnRequest>>) {
            return Check(*part);
          } else {
            return Check(part);
          }
        },
        operation));
  }
  return {};
}

Result<void> KeyAccess::CheckLease(lease::LeaseId id) {
  if (id == lease::kNoLease || !state_.enabled()) return {};
  if (state_.CheckAdmin(identity_).has_value() || allowed_leases_.contains(id)) return {};
  Result<void> verdict;
  lease_keys_(id, [&](std::string_view key) {
    if (lease_keys_left_ == 0) {
      verdict = kManyLeaseKeys.Fail();
      return false;
    }
    --lease_keys_left_;
    verdict = state_.CheckWrite(identity_, key, {});
    return verdict.has_value();
  });
  if (verdict.has_value()) allowed_leases_.insert(id);
  return verdict;
}

}  // namespace kvorum::server
