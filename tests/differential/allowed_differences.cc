#include "tests/differential/allowed_differences.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace kvorum::differential {
namespace {

using etcdserverpb::HashKVRequest;
using etcdserverpb::HashKVResponse;
using etcdserverpb::RangeRequest;
using etcdserverpb::RangeResponse;
using etcdserverpb::TxnRequest;
using etcdserverpb::TxnResponse;

constexpr std::string_view kCompacted = "etcdserver: mvcc: required revision has been compacted";
constexpr std::string_view kFutureRevision =
    "etcdserver: mvcc: required revision is a future revision";
constexpr std::string_view kKeyNotFound = "etcdserver: key not found";
constexpr std::string_view kLeaseNotFound = "etcdserver: requested lease not found";
constexpr std::string_view kInvalidSortOption = "etcdserver: invalid sort option";

template <class T>
T& As(const Answer& answer) {
  return static_cast<T&>(*answer.response);
}

bool HashKvWithoutItsRevision(const Request& request, const Answer& ours, Answer& peer) {
  const auto* hash_kv = std::get_if<HashKVRequest>(&request);
  if (hash_kv == nullptr || !ours.ok() || !peer.ok()) return false;
  const auto& our_response = As<const HashKVResponse>(ours);
  auto& peer_response = As<HashKVResponse>(peer);
  const std::int64_t asked =
      hash_kv->revision() == 0 ? our_response.header().revision() : hash_kv->revision();
  if (peer_response.hash_revision() != 0 || our_response.hash_revision() != asked) return false;
  peer_response.set_hash_revision(asked);
  return asked != 0;
}

bool HashKvAtACompactedRevision(const Request& request, const Answer& ours, Answer& peer) {
  const auto* hash_kv = std::get_if<HashKVRequest>(&request);
  if (hash_kv == nullptr || !ours.ok() || peer.text != kCompacted) return false;
  const auto& our_response = As<const HashKVResponse>(ours);
  if (our_response.hash_revision() != hash_kv->revision() ||
      our_response.compact_revision() > hash_kv->revision()) {
    return false;
  }
  peer.code = ours.code;
  peer.text = ours.text;
  peer.response->CopyFrom(our_response);
  return true;
}

bool HasUnknownSortOrder(const RangeRequest& request) {
  return !etcdserverpb::RangeRequest_SortOrder_IsValid(request.sort_order());
}

bool HasUnknownSortOrder(const TxnRequest& request) {
  const auto is_unknown = [](const etcdserverpb::RequestOp& op) {
    return op.has_request_range() && HasUnknownSortOrder(op.request_range());
  };
  return std::ranges::any_of(request.success(), is_unknown) ||
         std::ranges::any_of(request.failure(), is_unknown);
}

bool UnknownSortOrderTaken(const Request& request, const Answer& ours, Answer& peer) {
  const auto* range = std::get_if<RangeRequest>(&request);
  const auto* txn = std::get_if<TxnRequest>(&request);
  const bool unknown = (range != nullptr && HasUnknownSortOrder(*range)) ||
                       (txn != nullptr && HasUnknownSortOrder(*txn));
  if (!unknown || !IsRead(request) || ours.text != kInvalidSortOption) return false;
  peer.code = ours.code;
  peer.text = ours.text;
  peer.response->Clear();
  return true;
}

// True if the predicate holds for an operation, nested ones included.
template <class Predicate>
bool AnyOp(const TxnRequest& txn, Predicate predicate) {
  const auto matches = [&](const etcdserverpb::RequestOp& op) {
    return op.has_request_txn() ? AnyOp(op.request_txn(), predicate) : predicate(op);
  };
  return std::ranges::any_of(txn.success(), matches) || std::ranges::any_of(txn.failure(), matches);
}

bool NeedsItsKey(const etcdserverpb::PutRequest& put) {
  return put.ignore_value() || put.ignore_lease();
}

// Replaces the peer's refusal by ours: both refuse, and which of two reasons is given depends on
// the version.
bool TakeOurReason(const Answer& ours, Answer& peer) {
  peer.code = ours.code;
  peer.text = ours.text;
  return true;
}

bool KeyBeforeLease(const Request& request, const Answer& ours, Answer& peer) {
  const auto* txn = std::get_if<TxnRequest>(&request);
  if (txn == nullptr || ours.text != kLeaseNotFound || peer.text != kKeyNotFound) return false;
  const bool has_both = AnyOp(*txn, [](const etcdserverpb::RequestOp& op) {
    return op.request_put().lease() != 0 && NeedsItsKey(op.request_put());
  });
  return has_both && TakeOurReason(ours, peer);
}

bool PutsBeforeRanges(const Request& request, const Answer& ours, Answer& peer) {
  const auto* txn = std::get_if<TxnRequest>(&request);
  if (txn == nullptr) return false;
  if (ours.text != kCompacted && ours.text != kFutureRevision) return false;
  const bool for_a_put = AnyOp(*txn, [&](const etcdserverpb::RequestOp& op) {
    const etcdserverpb::PutRequest& put = op.request_put();
    return (peer.text == kLeaseNotFound && put.lease() != 0) ||
           (peer.text == kKeyNotFound && NeedsItsKey(put));
  });
  return for_a_put && TakeOurReason(ours, peer);
}

// Makes one range's answer of the peer what 3.7.3 says, as AllowedDifference::correct does.
using CorrectRange = bool (*)(const RangeRequest& request, const RangeResponse& ours,
                              RangeResponse& peer);

bool CorrectRanges(const TxnRequest& request, const TxnResponse& ours, TxnResponse& peer,
                   CorrectRange correct) {
  const auto& ops = ours.succeeded() ? request.success() : request.failure();
  if (ops.size() != ours.responses_size() || ops.size() != peer.responses_size()) return false;
  bool corrected = false;
  for (int i = 0; i < ops.size(); ++i) {
    const etcdserverpb::ResponseOp& our_op = ours.responses(i);
    etcdserverpb::ResponseOp& peer_op = *peer.mutable_responses(i);
    if (our_op.response_case() != peer_op.response_case()) return corrected;
    if (ops[i].has_request_range()) {
      corrected |= correct(ops[i].request_range(), our_op.response_range(),
                           *peer_op.mutable_response_range());
    } else if (ops[i].has_request_txn()) {
      corrected |= CorrectRanges(ops[i].request_txn(), our_op.response_txn(),
                                 *peer_op.mutable_response_txn(), correct);
    }
  }
  return corrected;
}

// Corrects a range, and those of a transaction, nested ones included.
bool CorrectRanges(const Request& request, const Answer& ours, Answer& peer, CorrectRange correct) {
  if (!ours.ok() || !peer.ok()) return false;
  if (const auto* range = std::get_if<RangeRequest>(&request))
    return correct(*range, As<const RangeResponse>(ours), As<RangeResponse>(peer));
  if (const auto* txn = std::get_if<TxnRequest>(&request))
    return CorrectRanges(*txn, As<const TxnResponse>(ours), As<TxnResponse>(peer), correct);
  return false;
}

bool DropLeases(const RangeRequest& request, const RangeResponse& ours, RangeResponse& peer) {
  // Sorting by value reads the values, and their leases with them.
  if (!request.keys_only() || request.sort_target() == RangeRequest::VALUE) return false;
  const auto has_lease = [](const mvccpb::KeyValue& kv) { return kv.lease() != 0; };
  if (std::ranges::any_of(ours.kvs(), has_lease)) return false;
  if (std::ranges::none_of(peer.kvs(), has_lease)) return false;
  for (mvccpb::KeyValue& kv : *peer.mutable_kvs()) kv.clear_lease();
  return true;
}

bool LeasesOfKeysOnly(const Request& request, const Answer& ours, Answer& peer) {
  return CorrectRanges(request, ours, peer, DropLeases);
}

// The most rows that etcd sorts by insertion, which keeps the order of equal ones.
constexpr std::int64_t kSortedStably = 12;

using SortKey = std::pair<std::int64_t, std::string_view>;

SortKey SortKeyOf(const RangeRequest& request, const mvccpb::KeyValue& kv) {
  switch (request.sort_target()) {
    case RangeRequest::VERSION:
      return {kv.version(), {}};
    case RangeRequest::CREATE:
      return {kv.create_revision(), {}};
    case RangeRequest::MOD:
      return {kv.mod_revision(), {}};
    case RangeRequest::VALUE:
      return {0, kv.value()};  // one for all in an answer of keys only
    default:
      return {0, kv.key()};
  }
}

std::vector<std::string> SortedRows(const RangeResponse& response, int begin, int end) {
  std::vector<std::string> rows;
  for (int i = begin; i < end; ++i) rows.push_back(response.kvs(i).SerializeAsString());
  std::ranges::sort(rows);
  return rows;
}

// Gives the peer's rows our order if they differ only in the order of equal sort keys. Of the last
// rows of a cut answer only the sort key is certain.
bool MoveTies(const RangeRequest& request, const RangeResponse& ours, RangeResponse& peer) {
  const int rows = ours.kvs_size();
  if (request.sort_target() == RangeRequest::KEY || rows != peer.kvs_size()) return false;
  if (ours.count() <= kSortedStably) return false;
  for (int begin = 0, end = 0; begin < rows; begin = end) {
    const SortKey key = SortKeyOf(request, ours.kvs(begin));
    for (; end < rows && SortKeyOf(request, ours.kvs(end)) == key; ++end) {
      if (SortKeyOf(request, peer.kvs(end)) != key) return false;
    }
    const bool is_cut = end == rows && ours.more();
    if (!is_cut && SortedRows(ours, begin, end) != SortedRows(peer, begin, end)) return false;
  }
  if (std::ranges::equal(ours.kvs(), peer.kvs(), [](const auto& a, const auto& b) {
        return a.SerializeAsString() == b.SerializeAsString();
      })) {
    return false;
  }
  *peer.mutable_kvs() = ours.kvs();
  return true;
}

bool OrderOfEqualSortKeys(const Request& request, const Answer& ours, Answer& peer) {
  return CorrectRanges(request, ours, peer, MoveTies);
}

constexpr AllowedDifference kAllowedDifferences[] = {
    {.name = "HashKV at a compacted revision",
     .reason =
         "since 3.5 the hashes of the last ten compactions are kept and answered; 3.4 refuses",
     .peer_minor_before = 5,
     .correct = HashKvAtACompactedRevision},
    {.name = "HashKV without its revision",
     .reason = "hash_revision is newer than 3.4 and 3.5",
     .peer_minor_before = 6,
     .correct = HashKvWithoutItsRevision},
    {.name = "unknown sort order taken",
     .reason = "3.4 sorts in no order where newer ones refuse the request",
     .peer_minor_before = 5,
     .correct = UnknownSortOrderTaken},
    {.name = "key before lease in a txn's put",
     .reason = "of a put whose key and lease are both missing 3.4 misses the key, 3.7 the lease",
     .peer_minor_before = 7,
     .correct = KeyBeforeLease},
    {.name = "puts before ranges in a txn",
     .reason = "3.4 looks for wrong puts first and for wrong ranges then, 3.7 at each in its turn",
     .peer_minor_before = 7,
     .correct = PutsBeforeRanges},
    {.name = "leases in an answer of keys only",
     .reason = "3.7 answers from its index, which knows none",
     .peer_minor_before = 7,
     .correct = LeasesOfKeysOnly},
    {.name = "order of equal sort keys",
     .reason = "etcd sorts more than twelve rows by an algorithm that leaves the order of equal "
               "ones to chance; ours is the order of the keys",
     .peer_minor_before = kEveryPeer,
     .correct = OrderOfEqualSortKeys},
};

}  // namespace

std::span<const AllowedDifference> AllowedDifferences() { return kAllowedDifferences; }

}  // namespace kvorum::differential
