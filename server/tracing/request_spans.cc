#include "server/tracing/request_spans.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "api/kv_decode.h"
#include "api/lease_messages.h"
#include "api/watch_codec.h"
#include "api/watch_messages.h"
#include "base/api_errors.h"
#include "mvcc/records/requests.h"
#include "mvcc/records/validate.h"

namespace kvorum::server::tracing {
namespace {

using Described = std::optional<InnerSpan>;

bool Always(std::string_view) { return true; }
bool Never(std::string_view) { return false; }

Described RangeSpan(std::string_view name, const mvcc::RangeRequest& request) {
  return InnerSpan{name,
                   {{"range_begin", TextOf(request.key)},
                    {"range_end", TextOf(request.range_end)},
                    {"rev", request.revision},
                    {"limit", request.limit},
                    {"count_only", request.count_only}}};
}

Described OfRange(std::string_view message, std::size_t) {
  const auto request = DecodeRange(message);
  if (!request.has_value() || !mvcc::CheckRange(*request).has_value()) return std::nullopt;
  Described span = RangeSpan("range", *request);
  span->attributes.push_back({"keys_only", request->keys_only});
  return span;
}

Described OfRangeStream(std::string_view message, std::size_t) {
  const auto request = DecodeRange(message);
  if (!request.has_value() || !mvcc::CheckRangeStream(*request).has_value()) return std::nullopt;
  return RangeSpan("range_streaming", *request);
}

Described OfPut(std::string_view message, std::size_t) {
  const auto request = DecodePut(message);
  if (!request.has_value() || !mvcc::CheckPut(*request).has_value()) return std::nullopt;
  return InnerSpan{"put", {{"key", TextOf(request->key)}}};
}

Described OfDeleteRange(std::string_view message, std::size_t) {
  const auto request = DecodeDeleteRange(message);
  if (!request.has_value() || !mvcc::CheckDeleteRange(*request).has_value()) return std::nullopt;
  return InnerSpan{
      "delete_range",
      {{"range_begin", TextOf(request->key)}, {"range_end", TextOf(request->range_end)}}};
}

std::string_view KeyOf(const mvcc::RequestOp& op) {
  if (const auto* range = std::get_if<mvcc::RangeRequest>(&op)) return range->key;
  if (const auto* put = std::get_if<mvcc::PutRequest>(&op)) return put->key;
  if (const auto* erase = std::get_if<mvcc::DeleteRangeRequest>(&op)) return erase->key;
  return {};
}

std::string_view TypeOf(const mvcc::RequestOp& op) {
  constexpr std::array<std::string_view, std::variant_size_v<mvcc::RequestOp>> kNames{
      "", "range", "put", "delete_range", "txn"};
  return kNames[op.index()];
}

std::string FirstCompareKey(const mvcc::TxnRequest& request) {
  const auto first = std::ranges::find_if(
      request.compare, [](const mvcc::Compare& compare) { return !compare.key.empty(); });
  return first == request.compare.end() ? std::string() : TextOf(first->key);
}

std::string FirstKey(const std::vector<mvcc::RequestOp>& ops) {
  const auto first = std::ranges::find_if(ops, [](const auto& op) { return !KeyOf(op).empty(); });
  return first == ops.end() ? std::string() : TextOf(KeyOf(*first));
}

std::string FirstType(const std::vector<mvcc::RequestOp>& ops) {
  const auto first = std::ranges::find_if(ops, [](const auto& op) { return !TypeOf(op).empty(); });
  return first == ops.end() ? std::string() : std::string(TypeOf(*first));
}

// -1 if nothing is put.
std::int64_t FirstLease(const std::vector<mvcc::RequestOp>& ops) {
  const auto first = std::ranges::find_if(
      ops, [](const auto& op) { return std::holds_alternative<mvcc::PutRequest>(op); });
  return first == ops.end() ? -1 : std::get<mvcc::PutRequest>(*first).lease;
}

Described OfTxn(std::string_view message, std::size_t max_txn_ops) {
  const auto request = DecodeTxn(message);
  if (!request.has_value() || !mvcc::CheckTxn(*request, max_txn_ops).has_value())
    return std::nullopt;
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  return InnerSpan{"txn",
                   {{"compare_first_key", FirstCompareKey(*request)},
                    {"success_first_key", FirstKey(request->success)},
                    {"success_first_type", FirstType(request->success)},
                    {"success_first_lease", FirstLease(request->success)},
                    {"compare_len", count(request->compare)},
                    {"success_len", count(request->success)},
                    {"failure_len", count(request->failure)},
                    {"read_only", mvcc::IsReadOnly(*request)}}};
}

bool TxnProposes(std::string_view message) {
  const auto request = DecodeTxn(message);
  return request.has_value() && !mvcc::IsReadOnly(*request);
}

Described OfCompaction(std::string_view message, std::size_t) {
  const auto request = DecodeCompaction(message);
  if (!request.has_value()) return std::nullopt;
  return InnerSpan{"compact", {{"is_physical", request->physical}, {"rev", request->revision}}};
}

Described OfLeaseGrant(std::string_view message, std::size_t) {
  const auto request = DecodeLeaseGrant(message);
  if (!request.has_value()) return std::nullopt;
  return InnerSpan{"lease_grant", {{"id", request->id}, {"ttl", request->ttl_s}}};
}

Described OfLease(std::string_view name, std::string_view message) {
  const auto id = DecodeLeaseId(message);
  if (!id.has_value()) return std::nullopt;
  return InnerSpan{name, {{"id", *id}}};
}
Described OfLeaseRevoke(std::string_view message, std::size_t) {
  return OfLease("lease_revoke", message);
}
Described OfLeaseKeepAlive(std::string_view message, std::size_t) {
  return OfLease("lease_renew", message);
}

Described OfWatch(std::string_view message, std::size_t) {
  constexpr std::string_view kSmallestKey("\0", 1);
  const auto request = DecodeWatchRequest(message);
  if (!request.has_value()) return std::nullopt;
  const auto* create = std::get_if<watch::CreateRequest>(&*request);
  if (create == nullptr) return std::nullopt;
  const std::string_view end =
      create->range_end == kSmallestKey ? std::string_view() : create->range_end;
  return InnerSpan{"watch",
                   {{"key", TextOf(create->key.empty() ? kSmallestKey : create->key)},
                    {"range_end", TextOf(end)},
                    {"start_rev", create->start_revision},
                    {"progress_notify", create->progress_notify},
                    {"prev_kv", create->wanted.prev_kv},
                    {"fragment", create->wanted.fragment}}};
}

constexpr std::array kBeforeHandler{kErrNoSpace, kErrCorrupt, kErrNotSupportedForLearner,
                                    kErrNoLeader, kErrInvalidClientApiVersion};
constexpr std::array kNotSent{kErrTooManyRequests, kErrAnswersFull, kErrRequestTooLarge,
                              kErrInvalidAuthToken};
constexpr std::array kNotAnswered{kErrTimeout, kErrTimeoutDueToLeaderFail,
                                  kErrTimeoutDueToConnectionLost, kErrStopped, kErrLeaderChanged};

std::string_view TextIn(std::span<const ApiError> errors, const Error& error) {
  const auto found = std::ranges::find(errors, std::string_view(error.message), &ApiError::message);
  return found == errors.end() ? std::string_view() : found->message;
}

}  // namespace

const MethodSpans& SpansOf(CallSpan span) {
  static constexpr MethodSpans kRange{Shape::kRequest, OfRange, Never};
  static constexpr MethodSpans kRangeStream{Shape::kRequest, OfRangeStream, Never};
  static constexpr MethodSpans kPut{Shape::kRequest, OfPut, Always};
  static constexpr MethodSpans kDeleteRange{Shape::kRequest, OfDeleteRange, Always};
  static constexpr MethodSpans kTxn{Shape::kRequest, OfTxn, TxnProposes};
  static constexpr MethodSpans kCompaction{Shape::kRequest, OfCompaction, Always,
                                           /*tells_failures=*/false};
  static constexpr MethodSpans kLeaseGrant{Shape::kRequest, OfLeaseGrant, Always};
  static constexpr MethodSpans kLeaseRevoke{Shape::kRequest, OfLeaseRevoke, Always};
  static constexpr MethodSpans kLeaseKeepAlive{Shape::kRenewals, OfLeaseKeepAlive, Never};
  static constexpr MethodSpans kWatch{Shape::kWatchers, OfWatch, Never};
  static constexpr MethodSpans kProposal{Shape::kPlain, nullptr, Always};
  static constexpr MethodSpans kPlain{Shape::kPlain, nullptr, Never};
  switch (span) {
    case CallSpan::kRange:
      return kRange;
    case CallSpan::kRangeStream:
      return kRangeStream;
    case CallSpan::kPut:
      return kPut;
    case CallSpan::kDeleteRange:
      return kDeleteRange;
    case CallSpan::kTxn:
      return kTxn;
    case CallSpan::kCompaction:
      return kCompaction;
    case CallSpan::kLeaseGrant:
      return kLeaseGrant;
    case CallSpan::kLeaseRevoke:
      return kLeaseRevoke;
    case CallSpan::kLeaseKeepAlive:
      return kLeaseKeepAlive;
    case CallSpan::kWatch:
      return kWatch;
    case CallSpan::kProposal:
      return kProposal;
    case CallSpan::kPlain:
      return kPlain;
  }
  return kPlain;
}

bool IsBeforeHandler(const Error& error) {
  return std::ranges::any_of(kBeforeHandler, [&](const ApiError& api) { return error == api; });
}

ProposalFate FateOf(const Error& outcome) {
  if (outcome.code == Code::kOk) return {};
  if (const auto text = TextIn(kNotSent, outcome); !text.empty()) return {false, false, text};
  if (const auto text = TextIn(kNotAnswered, outcome); !text.empty()) return {true, false, text};
  // The caller left, or its time is over, while the proposal was on its way.
  if (outcome == kErrDeadlineExceeded) return {true, false, kErrTimeout.message};
  if (outcome == kErrCanceled) return {true, false, "etcdserver: request cancelled"};
  return {};
}

}  // namespace kvorum::server::tracing
