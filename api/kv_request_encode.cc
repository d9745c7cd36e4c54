#include "api/kv_request_encode.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "api/tables.h"
#include "api/txn_fields.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

namespace f = txn_fields;

using mvcc::DeleteRangeRequest;
using mvcc::PutRequest;
using mvcc::RangeRequest;

// A wire number for an enum's value, for any number that the client sent.
template <class Enum>
void AppendEnum(std::string& out, std::uint32_t field, Enum value) {
  wire::AppendInt(out, field, static_cast<std::int32_t>(value));
}

std::string Body(const mvcc::Compare& compare) {
  std::string out;
  AppendEnum(out, f::kResult, compare.result);
  AppendEnum(out, f::kTarget, compare.target);
  wire::AppendBytes(out, f::kKey, compare.key);
  switch (compare.target) {
    case mvcc::CompareTarget::kVersion:
    case mvcc::CompareTarget::kCreate:
    case mvcc::CompareTarget::kMod:
    case mvcc::CompareTarget::kLease:
      wire::AppendUintAlways(out, f::UnionOf(compare.target),
                             static_cast<std::uint64_t>(compare.number));
      break;
    case mvcc::CompareTarget::kValue:
      wire::AppendBytesAlways(out, f::UnionOf(compare.target), compare.value);
      break;
  }
  wire::AppendBytes(out, f::kRangeEnd, compare.range_end);
  return out;
}

// In two passes, so that a value deep inside is copied once: the sizes of all transactions, then
// the bytes.
class TxnWriter {
 public:
  std::string Write(const mvcc::TxnRequest& request) {
    std::string out;
    out.reserve(Measure(request));
    Append(out, request);
    return out;
  }

 private:
  // The sizes are in the order in which Append needs them.
  std::size_t Measure(const mvcc::TxnRequest& request) {
    std::size_t size = 0;
    for (const auto& compare : request.compare)
      size += wire::LengthDelimitedSize(f::kCompare, Body(compare).size());
    for (const auto& op : request.success)
      size += wire::LengthDelimitedSize(f::kSuccess, MeasureOp(op));
    for (const auto& op : request.failure)
      size += wire::LengthDelimitedSize(f::kFailure, MeasureOp(op));
    return size;
  }
  std::size_t MeasureOp(const mvcc::RequestOp& op) {
    const std::size_t place = sizes_.size();
    sizes_.push_back(0);
    const std::size_t size =
        std::visit([this](const auto& operation) { return this->SizeOf(operation); }, op);
    sizes_[place] = size;
    if (std::holds_alternative<std::monostate>(op)) return 0;
    return wire::LengthDelimitedSize(static_cast<std::uint32_t>(op.index()), size);
  }
  static std::size_t SizeOf(std::monostate) { return 0; }
  static std::size_t SizeOf(const RangeRequest& request) {
    return wire::EncodedSize(kRangeRequest, &request);
  }
  static std::size_t SizeOf(const PutRequest& request) {
    return wire::EncodedSize(kPutRequest, &request);
  }
  static std::size_t SizeOf(const DeleteRangeRequest& request) {
    return wire::EncodedSize(kDeleteRangeRequest, &request);
  }
  std::size_t SizeOf(const std::unique_ptr<mvcc::TxnRequest>& request) { return Measure(*request); }

  void Append(std::string& out, const mvcc::TxnRequest& request) {
    for (const auto& compare : request.compare)
      wire::AppendBytesAlways(out, f::kCompare, Body(compare));
    for (const auto& op : request.success) AppendOp(out, f::kSuccess, op);
    for (const auto& op : request.failure) AppendOp(out, f::kFailure, op);
  }
  void AppendOp(std::string& out, std::uint32_t branch, const mvcc::RequestOp& op) {
    const std::size_t size = sizes_[next_++];
    if (std::holds_alternative<std::monostate>(op)) return wire::AppendBytesAlways(out, branch, {});
    const auto field = static_cast<std::uint32_t>(op.index());
    wire::AppendLengthDelimitedHeader(out, branch, wire::LengthDelimitedSize(field, size));
    wire::AppendLengthDelimitedHeader(out, field, size);
    std::visit([&](const auto& operation) { AppendBody(out, operation); }, op);
  }
  static void AppendBody(std::string&, std::monostate) {}
  static void AppendBody(std::string& out, const RangeRequest& request) {
    wire::AppendTo(out, kRangeRequest, &request);
  }
  static void AppendBody(std::string& out, const PutRequest& request) {
    wire::AppendTo(out, kPutRequest, &request);
  }
  static void AppendBody(std::string& out, const DeleteRangeRequest& request) {
    wire::AppendTo(out, kDeleteRangeRequest, &request);
  }
  void AppendBody(std::string& out, const std::unique_ptr<mvcc::TxnRequest>& request) {
    Append(out, *request);
  }

  std::vector<std::size_t> sizes_;
  std::size_t next_ = 0;
};

}  // namespace

SharedBytes EncodeTxn(const mvcc::TxnRequest& request) {
  return SharedBytes::Own(TxnWriter().Write(request));
}

SharedBytes EncodePut(const PutRequest& request) {
  return wire::EncodeShared(kPutRequest, request);
}

SharedBytes EncodeDeleteRange(const DeleteRangeRequest& request) {
  return wire::EncodeShared(kDeleteRangeRequest, request);
}

SharedBytes EncodeCompaction(const CompactionRequest& request) {
  return wire::EncodeShared(kCompactionRequest, request);
}

}  // namespace kvorum::server
