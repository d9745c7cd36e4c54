#include "server/messages/kv_request_encode.h"

#include <string>
#include <string_view>
#include <variant>

#include "proto/wire.h"
#include "server/messages/tables.h"

namespace kvorum::server {
namespace {

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
  constexpr std::uint32_t kFirstTarget = 4;  // of target_union, in the order of CompareTarget
  constexpr std::uint32_t kValueTarget = 7;
  constexpr std::uint32_t kRangeEnd = 64;
  std::string out;
  AppendEnum(out, 1, compare.result);
  AppendEnum(out, 2, compare.target);
  wire::AppendBytes(out, 3, compare.key);
  switch (compare.target) {
    case mvcc::CompareTarget::kVersion:
    case mvcc::CompareTarget::kCreate:
    case mvcc::CompareTarget::kMod:
    case mvcc::CompareTarget::kLease:
      wire::AppendUintAlways(out, kFirstTarget + static_cast<std::uint32_t>(compare.target),
                             static_cast<std::uint64_t>(compare.number));
      break;
    case mvcc::CompareTarget::kValue:
      wire::AppendBytesAlways(out, kValueTarget, compare.value);
      break;
  }
  wire::AppendBytes(out, kRangeEnd, compare.range_end);
  return out;
}

std::string Body(const mvcc::TxnRequest& request);

// RequestOp's field numbers are the alternatives' places.
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
  for (const auto& compare : request.compare) wire::AppendBytesAlways(out, 1, Body(compare));
  for (const auto& op : request.success) wire::AppendBytesAlways(out, 2, Body(op));
  for (const auto& op : request.failure) wire::AppendBytesAlways(out, 3, Body(op));
  return out;
}

}  // namespace

SharedBytes EncodeTxn(const mvcc::TxnRequest& request) { return SharedBytes::Own(Body(request)); }

SharedBytes EncodeDeleteRange(const DeleteRangeRequest& request) {
  return wire::EncodeShared(kDeleteRangeRequest, request);
}

}  // namespace kvorum::server
