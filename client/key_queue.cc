#include "client/key_queue.h"

#include <charconv>
#include <memory>

#include "base/api_errors.h"
#include "base/key_range.h"

namespace kvorum::client {
namespace {

using etcdserverpb::Compare;
using etcdserverpb::RangeRequest;

constexpr int kHexadecimal = 16;

std::string Hexadecimal(std::int64_t lease) {
  char digits[17];
  const char* end = std::to_chars(digits, digits + sizeof digits, lease, kHexadecimal).ptr;
  return {digits, static_cast<std::size_t>(end - digits)};
}

}  // namespace

QueuePlace::QueuePlace(LeaseSession& session, std::string_view name)
    : session_(session),
      prefix_(std::string(name) + "/"),
      key_(prefix_ + Hexadecimal(session.lease())) {}

Compare QueuePlace::IsHeld() const {
  Compare compare;
  compare.set_target(Compare::CREATE);
  compare.set_result(Compare::EQUAL);
  compare.set_key(key_);
  compare.set_create_revision(created_);
  return compare;
}

void QueuePlace::PutInto(etcdserverpb::TxnRequest& txn, std::string_view value) const {
  auto& put = *txn.add_success()->mutable_request_put();
  put.set_key(key_);
  put.set_value(std::string(value));
  put.set_lease(session_.lease());
}

Result<void> QueuePlace::Enter(std::string_view value) {
  created_ = 0;
  etcdserverpb::TxnRequest txn;
  *txn.add_compare() = IsHeld();  // by no session: the key does not exist
  PutInto(txn, value);
  txn.add_failure()->mutable_request_range()->set_key(key_);
  KV_TRY(const auto response, client().Txn(txn));
  entered_header_ = response.header();
  found_value_.reset();
  created_ = response.header().revision();
  if (!response.succeeded()) {
    const auto& kv = response.responses(0).response_range().kvs(0);
    created_ = kv.create_revision();
    found_value_ = kv.value();
  }
  return {};
}

Result<bool> QueuePlace::ChangeValue(std::string_view value) {
  etcdserverpb::TxnRequest txn;
  *txn.add_compare() = IsHeld();
  PutInto(txn, value);
  KV_TRY(const auto response, client().Txn(txn));
  return response.succeeded();
}

RangeRequest QueuePlace::ByCreation(RangeRequest::SortOrder order) const {
  RangeRequest request;
  request.set_key(prefix_);
  request.set_range_end(PrefixEnd(prefix_));
  request.set_sort_target(RangeRequest::CREATE);
  request.set_sort_order(order);
  request.set_limit(1);
  return request;
}

Result<etcdserverpb::RangeResponse> QueuePlace::Oldest() const {
  return client().Range(ByCreation(RangeRequest::ASCEND));
}

Result<void> QueuePlace::WaitUntilOldest(const std::stop_token& stop) {
  RangeRequest older = ByCreation(RangeRequest::DESCEND);
  older.set_max_create_revision(created_ - 1);
  older.set_keys_only(true);
  while (true) {
    if (stop.stop_requested()) return kErrCanceled.Fail();
    if (session_.ended().stop_requested()) return {};  // the key is read next
    KV_TRY(const auto found, client().Range(older));
    if (found.kvs_size() == 0) return {};
    KV_RETURN_IF_ERROR(WaitForDeletion(found.kvs(0).key(), found.header().revision() + 1, stop));
  }
}

Result<void> QueuePlace::WaitForDeletion(const std::string& key, std::int64_t revision,
                                         const std::stop_token& stop) {
  etcdserverpb::WatchCreateRequest request;
  request.set_key(key);
  request.set_start_revision(revision);
  request.add_filters(etcdserverpb::WatchCreateRequest::NOPUT);
  const std::unique_ptr<Watch> watch = client().NewWatch(request);
  const std::stop_callback when_stopped(stop, [&] { watch->Cancel(); });
  const std::stop_callback when_ended(session_.ended(), [&] { watch->Cancel(); });
  bool deleted = false;
  const auto ended = watch->Run([&](const etcdserverpb::WatchResponse& response) -> Result<void> {
    if (response.events().empty()) return {};
    deleted = true;
    return Fail(Code::kCanceled, "");
  });
  if (deleted || ended.has_value()) return {};  // a compaction cancels the watch too: read again
  return ended;
}

Result<std::optional<etcdserverpb::RangeResponse>> QueuePlace::Read() {
  RangeRequest request;
  request.set_key(key_);
  KV_TRY(auto response, client().Range(request));
  if (response.kvs_size() == 0 || response.kvs(0).create_revision() != created_)
    return std::nullopt;
  return response;
}

Result<etcdserverpb::TxnResponse> QueuePlace::Leave() {
  etcdserverpb::TxnRequest txn;
  *txn.add_compare() = IsHeld();
  txn.add_success()->mutable_request_delete_range()->set_key(key_);
  KV_TRY(auto response, client().Txn(txn));
  created_ = 0;
  return response;
}

}  // namespace kvorum::client
