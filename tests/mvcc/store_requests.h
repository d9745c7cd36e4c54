// A small vocabulary for requests in tests: Get("a"), Put("a", "1"), Delete("a", "c"),
// Txn(If(Version("a", kEqual, 0)), Then(Put("a", "1")), Else(Get("a"))).
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "mvcc/records/requests.h"

namespace kvorum::mvcc {

inline constexpr std::string_view kOpenEnd{"\0", 1};

inline RangeRequest Get(std::string_view key, std::string_view end = {}) {
  RangeRequest request;
  request.key = key;
  request.range_end = end;
  return request;
}
inline RangeRequest GetAt(std::int64_t revision, std::string_view key, std::string_view end = {}) {
  RangeRequest request = Get(key, end);
  request.revision = revision;
  return request;
}
inline RangeRequest GetAll() { return Get(kOpenEnd, kOpenEnd); }

inline PutRequest Put(std::string_view key, std::string_view value, std::int64_t lease = 0) {
  PutRequest request;
  request.key = key;
  request.value = value;
  request.lease = lease;
  return request;
}
inline PutRequest PutKeepingValue(std::string_view key, std::int64_t lease = 0) {
  PutRequest request = Put(key, {}, lease);
  request.ignore_value = true;
  return request;
}
inline PutRequest PutKeepingLease(std::string_view key, std::string_view value) {
  PutRequest request = Put(key, value);
  request.ignore_lease = true;
  return request;
}
template <class Request>
Request WithPrevKv(Request request) {
  request.prev_kv = true;
  return request;
}

inline DeleteRangeRequest Delete(std::string_view key, std::string_view end = {}) {
  return {.key = key, .range_end = end, .prev_kv = false};
}

inline Compare CompareNumber(CompareTarget target, std::string_view key, CompareResult result,
                             std::int64_t number) {
  Compare compare;
  compare.result = result;
  compare.target = target;
  compare.key = key;
  compare.number = number;
  return compare;
}
inline Compare CompareValue(std::string_view key, CompareResult result, std::string_view value) {
  Compare compare = CompareNumber(CompareTarget::kValue, key, result, 0);
  compare.value = value;
  return compare;
}
inline Compare Over(std::string_view range_end, Compare compare) {
  compare.range_end = range_end;
  return compare;
}
inline Compare Exists(std::string_view key) {
  return CompareNumber(CompareTarget::kVersion, key, CompareResult::kGreater, 0);
}

using Ops = std::vector<RequestOp>;

inline void Append(Ops& ops, TxnRequest txn) {
  ops.emplace_back(std::make_unique<TxnRequest>(std::move(txn)));
}
template <class Request>
void Append(Ops& ops, Request request) {
  ops.emplace_back(std::move(request));
}
template <class... Requests>
Ops List(Requests... requests) {
  Ops ops;
  (Append(ops, std::move(requests)), ...);
  return ops;
}

// A txn of the success branch alone, of both, with compares.
inline TxnRequest Txn(Ops success, Ops failure = {}) {
  return {.compare = {}, .success = std::move(success), .failure = std::move(failure)};
}
inline TxnRequest TxnIf(std::vector<Compare> compare, Ops success, Ops failure = {}) {
  return {
      .compare = std::move(compare), .success = std::move(success), .failure = std::move(failure)};
}

}  // namespace kvorum::mvcc
