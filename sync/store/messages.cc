#include "sync/store/messages.h"

#include <utility>

namespace kvorum::sync {
namespace {

void Fill(etcdserverpb::Compare& message, Compare&& compare) {
  using Message = etcdserverpb::Compare;
  message.set_key(std::move(compare.key));
  message.set_range_end(std::move(compare.end));
  switch (compare.result) {
    case Compare::Result::kEqual:
      message.set_result(Message::EQUAL);
      break;
    case Compare::Result::kNotEqual:
      message.set_result(Message::NOT_EQUAL);
      break;
    case Compare::Result::kLess:
      message.set_result(Message::LESS);
      break;
    case Compare::Result::kGreater:
      message.set_result(Message::GREATER);
      break;
  }
  switch (compare.target) {
    case Compare::Target::kCreateRevision:
      message.set_target(Message::CREATE);
      return message.set_create_revision(compare.number);
    case Compare::Target::kModRevision:
      message.set_target(Message::MOD);
      return message.set_mod_revision(compare.number);
    case Compare::Target::kVersion:
      message.set_target(Message::VERSION);
      return message.set_version(compare.number);
    case Compare::Target::kLease:
      message.set_target(Message::LEASE);
      return message.set_lease(compare.number);
    case Compare::Target::kValue:
      message.set_target(Message::VALUE);
      return message.set_value(std::move(compare.value));
  }
}

void Fill(etcdserverpb::RequestOp& message, Operation&& operation) {
  switch (operation.kind) {
    case Operation::Kind::kPut: {
      auto& put = *message.mutable_request_put();
      put.set_key(std::move(operation.key));
      put.set_value(std::move(operation.value));
      put.set_lease(operation.lease);
      return;
    }
    case Operation::Kind::kDelete: {
      auto& erase = *message.mutable_request_delete_range();
      erase.set_key(std::move(operation.key));
      erase.set_range_end(std::move(operation.end));
      return;
    }
    case Operation::Kind::kRange: {
      auto& range = *message.mutable_request_range();
      range.set_key(std::move(operation.key));
      range.set_range_end(std::move(operation.end));
      range.set_revision(operation.revision);
      range.set_keys_only(operation.keys_only);
      return;
    }
  }
}

template <class Message>  // mvccpb::KeyValue, const or not
KeyValue FromKeyValue(Message& kv) {
  KeyValue value{.key = {},
                 .value = {},
                 .create_revision = kv.create_revision(),
                 .mod_revision = kv.mod_revision(),
                 .version = kv.version(),
                 .lease = kv.lease()};
  if constexpr (std::is_const_v<Message>) {
    value.key = kv.key();
    value.value = kv.value();
  } else {
    value.key = std::move(*kv.mutable_key());
    value.value = std::move(*kv.mutable_value());
  }
  return value;
}

}  // namespace

etcdserverpb::RangeRequest ToMessage(const RangeRequest& request) {
  etcdserverpb::RangeRequest message;
  message.set_key(request.key);
  message.set_range_end(request.end);
  message.set_revision(request.revision);
  message.set_limit(request.limit);
  message.set_keys_only(request.keys_only);
  message.set_count_only(request.count_only);
  message.set_serializable(request.is_serializable);
  if (request.newest_first) {
    message.set_sort_order(etcdserverpb::RangeRequest::DESCEND);
    message.set_sort_target(etcdserverpb::RangeRequest::MOD);
  }
  return message;
}

etcdserverpb::TxnRequest ToMessage(TxnRequest&& request) {
  etcdserverpb::TxnRequest message;
  for (Compare& compare : request.compares) Fill(*message.add_compare(), std::move(compare));
  for (Operation& operation : request.then) Fill(*message.add_success(), std::move(operation));
  for (Operation& operation : request.otherwise) Fill(*message.add_failure(), std::move(operation));
  return message;
}

etcdserverpb::WatchCreateRequest ToMessage(const WatchRequest& request) {
  etcdserverpb::WatchCreateRequest message;
  message.set_key(request.key);
  message.set_range_end(request.end);
  message.set_start_revision(request.from_revision);
  message.set_prev_kv(request.with_previous);
  message.set_progress_notify(true);
  message.set_fragment(true);
  return message;
}

RangeAnswer FromMessage(etcdserverpb::RangeResponse&& response) {
  RangeAnswer answer{.revision = response.header().revision(),
                     .kvs = {},
                     .count = response.count(),
                     .has_more = response.more()};
  answer.kvs.reserve(static_cast<std::size_t>(response.kvs_size()));
  for (auto& kv : *response.mutable_kvs()) answer.kvs.push_back(FromKeyValue(kv));
  return answer;
}

TxnAnswer FromMessage(etcdserverpb::TxnResponse&& response) {
  TxnAnswer answer{.revision = response.header().revision(), .succeeded = response.succeeded()};
  for (auto& one : *response.mutable_responses()) {
    if (!one.has_response_range()) continue;
    RangeAnswer range = FromMessage(std::move(*one.mutable_response_range()));
    range.revision = answer.revision;
    answer.ranges.push_back(std::move(range));
  }
  return answer;
}

WatchBatch FromMessage(const etcdserverpb::WatchResponse& response) {
  WatchBatch batch{.revision = response.header().revision(), .events = {}};
  batch.events.reserve(static_cast<std::size_t>(response.events_size()));
  for (const auto& event : response.events()) {
    Event& added = batch.events.emplace_back();
    added.is_delete = event.type() == mvccpb::Event::DELETE;
    added.kv = FromKeyValue(event.kv());
    if (event.has_prev_kv()) added.prev = FromKeyValue(event.prev_kv());
  }
  return batch;
}

}  // namespace kvorum::sync
