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
using wire::Describe;
using wire::Field;

constexpr auto kRange =
    Describe<RangeRequest, Field<1, &RangeRequest::key>, Field<2, &RangeRequest::range_end>,
             Field<3, &RangeRequest::limit>, Field<4, &RangeRequest::revision>,
             Field<5, &RangeRequest::sort_order>, Field<6, &RangeRequest::sort_target>,
             Field<7, &RangeRequest::serializable>, Field<8, &RangeRequest::keys_only>,
             Field<9, &RangeRequest::count_only>, Field<10, &RangeRequest::min_mod_revision>,
             Field<11, &RangeRequest::max_mod_revision>,
             Field<12, &RangeRequest::min_create_revision>,
             Field<13, &RangeRequest::max_create_revision>>("etcdserverpb.RangeRequest");
constexpr auto kPut =
    Describe<PutRequest, Field<1, &PutRequest::key>, Field<2, &PutRequest::value>,
             Field<3, &PutRequest::lease>, Field<4, &PutRequest::prev_kv>,
             Field<5, &PutRequest::ignore_value>, Field<6, &PutRequest::ignore_lease>>(
        "etcdserverpb.PutRequest");
constexpr auto kDeleteRange =
    Describe<DeleteRangeRequest, Field<1, &DeleteRangeRequest::key>,
             Field<2, &DeleteRangeRequest::range_end>, Field<3, &DeleteRangeRequest::prev_kv>>(
        "etcdserverpb.DeleteRangeRequest");

constexpr const wire::Table* kKvRequestTables[] = {&kRange, &kPut, &kDeleteRange};

std::string Body(const RangeRequest& request) { return wire::Encode(kRange, request); }
std::string Body(const PutRequest& request) { return wire::Encode(kPut, request); }
std::string Body(const DeleteRangeRequest& request) { return wire::Encode(kDeleteRange, request); }

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

MessageTables KvRequestTables() { return kKvRequestTables; }

SharedBytes EncodeTxn(const mvcc::TxnRequest& request) { return SharedBytes::Own(Body(request)); }

SharedBytes EncodeDeleteRange(const DeleteRangeRequest& request) {
  return wire::EncodeShared(kDeleteRange, request);
}

}  // namespace kvorum::server
