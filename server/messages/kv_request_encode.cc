#include "server/messages/kv_request_encode.h"

#include <string>
#include <variant>

#include "proto/wire.h"
#include "server/messages/tables.h"

namespace kvorum::server {
namespace {

namespace f = txn_fields;

using mvcc::DeleteRangeRequest;
using mvcc::PutRequest;
using mvcc::RangeRequest;

std::string Body(const RangeRequest& request) { return wire::Encode(kRangeRequest, request); }
std::string Body(const PutRequest& request) { return wire::Encode(kPutRequest, request); }
std::string Body(const DeleteRangeRequest& request) {
  return wire::Encode(kDeleteRangeRequest, request);
}

template <class Enum>
void AppendEnum(std::string& out, std::uint32_t field, Enum value) {
  wire::AppendInt(out, field, static_cast<std::int32_t>(value));
}

std::string Body(const mvcc::Compare& compare) {
  std::string out;
  AppendEnum(out, f::kResult, compare.result);
  AppendEnum(out, f::kTarget, compare.target);
  wire::AppendBytes(out, f::kKey, compare.key);
  if (compare.target == mvcc::CompareTarget::kValue) {
    wire::AppendBytesAlways(out, f::UnionOf(compare.target), compare.value);
  } else {
    wire::AppendUintAlways(out, f::UnionOf(compare.target),
                           static_cast<std::uint64_t>(compare.number));
  }
  wire::AppendBytes(out, f::kRangeEnd, compare.range_end);
  return out;
}

std::string Body(const mvcc::TxnRequest& request);

std::string Body(const mvcc::RequestOp& op) {
  std::string out;
  std::visit(
      [&]<class Operation>(const Operation& operation) {
        const auto field = static_cast<std::uint32_t>(op.index());
        if constexpr (std::is_same_v<Operation, std::unique_ptr<mvcc::TxnRequest>>) {
          wire::AppendBytesAlways(out, field, Body(*operation));
        } else if constexpr (!std::is_same_v<Operation, std::monostate>) {
          wire::AppendBytesAlways(out, field, Body(operation));
        }
      },
      op);
  return out;
}

std::string Body(const mvcc::TxnRequest& request) {
  std::string out;
  for (const auto& compare : request.compare)
    wire::AppendBytesAlways(out, f::kCompare, Body(compare));
  for (const auto& op : request.success) wire::AppendBytesAlways(out, f::kSuccess, Body(op));
  for (const auto& op : request.failure) wire::AppendBytesAlways(out, f::kFailure, Body(op));
  return out;
}

}  // namespace

SharedBytes EncodeTxn(const mvcc::TxnRequest& request) { return SharedBytes::Own(Body(request)); }

SharedBytes EncodeDeleteRange(const DeleteRangeRequest& request) {
  return wire::EncodeShared(kDeleteRangeRequest, request);
}

SharedBytes EncodeCompaction(const CompactionRequest& request) {
  return wire::EncodeShared(kCompactionRequest, request);
}

}  // namespace kvorum::server
