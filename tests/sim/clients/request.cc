#include "tests/sim/clients/request.h"

#include <fmt/format.h>

#include <variant>

#include "base/check.h"
#include "mvcc/records/key_value.h"
#include "proto/rpc.pb.h"
#include "proto/wire.h"
#include "tests/linearizability/history_text.h"
#include "tests/server/request_bodies.h"

namespace kvorum::sim {
namespace {

using linearizability::Compare;
using linearizability::Operation;

// Numbers of etcdserverpb.Compare.
std::int64_t NumberOf(Compare::Relation relation) {
  switch (relation) {
    case Compare::Relation::kEqual:
      return 0;
    case Compare::Relation::kGreater:
      return 1;
    case Compare::Relation::kLess:
      return 2;
    case Compare::Relation::kNotEqual:
      return 3;
  }
  return 0;
}

std::string CompareBody(const Compare& compare) {
  std::string body;
  wire::AppendInt(body, 1, NumberOf(compare.relation));
  const auto append = [&](std::int64_t target, std::uint32_t number_field) {
    wire::AppendInt(body, 2, target);
    wire::AppendBytes(body, 3, compare.key);
    wire::AppendInt(body, number_field, compare.number);
  };
  switch (compare.target) {
    case Compare::Target::kVersion:
      append(0, 4);
      break;
    case Compare::Target::kCreate:
      append(1, 5);
      break;
    case Compare::Target::kMod:
      append(2, 6);
      break;
    case Compare::Target::kValue:
      wire::AppendInt(body, 2, 3);
      wire::AppendBytes(body, 3, compare.key);
      wire::AppendBytesAlways(body, 7, compare.value);
      break;
  }
  return body;
}

std::string BodyOfPart(const linearizability::Request& part) {
  switch (part.kind) {
    case linearizability::Request::Kind::kPut:
      return server::PutBody(part.key, part.value);
    case linearizability::Request::Kind::kDelete:
      return server::DeleteBody(part.key, part.range_end);
    case linearizability::Request::Kind::kRead:
      return server::RangeBody({.key = part.key, .range_end = part.range_end});
  }
  return {};
}

std::string OpOf(const linearizability::Request& part) {
  switch (part.kind) {
    case linearizability::Request::Kind::kRead:
      return server::OpBody(1, BodyOfPart(part));
    case linearizability::Request::Kind::kPut:
      return server::OpBody(2, BodyOfPart(part));
    case linearizability::Request::Kind::kDelete:
      return server::OpBody(3, BodyOfPart(part));
  }
  return {};
}

linearizability::Answer AnswerOf(const mvcc::OpResult& result) {
  linearizability::Answer answer;
  if (const auto* range = std::get_if<mvcc::RangeResult>(&result)) {
    for (std::size_t i = 0; i < range->rows.size(); ++i)
      answer.kvs.push_back(KeyValueOf(range->rows[i]));
  } else if (const auto* deleted = std::get_if<mvcc::DeleteRangeResult>(&result)) {
    answer.deleted = deleted->deleted;
  }
  return answer;
}

}  // namespace

Request PutOf(const std::string& key, const std::string& value, std::int64_t lease) {
  return {.operation = linearizability::Put({}, 0, key, value), .lease = lease};
}

Request ReadOfAll(bool serializable) {
  Request request{.operation = linearizability::Read({}, 0, kFirstKey, kEndOfKeys)};
  request.operation.serializable = serializable;
  return request;
}

server::RequestKind KindOf(const Request& request) {
  if (request.is_compaction()) return server::RequestKind::kCompaction;
  const Operation& operation = request.operation;
  if (operation.is_txn) return server::RequestKind::kTxn;
  switch (operation.success.front().kind) {
    case linearizability::Request::Kind::kPut:
      return server::RequestKind::kPut;
    case linearizability::Request::Kind::kDelete:
      return server::RequestKind::kDeleteRange;
    case linearizability::Request::Kind::kRead:
      break;
  }
  return server::RequestKind::kNone;
}

std::string BodyOf(const Request& request) {
  if (request.is_compaction()) return server::CompactBody(request.compact_revision);
  const Operation& operation = request.operation;
  std::string body;
  if (!operation.is_txn) {
    const Part& part = operation.success.front();
    body = BodyOfPart(part);
    if (request.lease != 0) wire::AppendInt(body, 3, request.lease);
    if (part.kind == Part::Kind::kRead) wire::AppendBool(body, 7, operation.serializable);
    if (part.kind == Part::Kind::kPut) wire::AppendBool(body, 4, request.prev_kv);
    if (part.kind == Part::Kind::kDelete) wire::AppendBool(body, 3, request.prev_kv);
    return body;
  }
  for (const Compare& compare : operation.compares)
    wire::AppendBytesAlways(body, 1, CompareBody(compare));
  std::string success;
  for (const auto& part : operation.success) wire::AppendBytesAlways(success, 2, OpOf(part));
  if (!request.hidden_key.empty()) {
    const Part hidden{.kind = Part::Kind::kPut, .key = request.hidden_key};
    wire::AppendBytesAlways(success, 3, OpOf(hidden));
    success = server::TxnBody({server::OpBody(4, success)});
  }
  body += success;
  for (const auto& part : operation.failure) wire::AppendBytesAlways(body, 3, OpOf(part));
  return body;
}

std::string PathOf(const Request& request) {
  if (request.is_compaction()) return "/etcdserverpb.KV/Compact";
  if (request.operation.is_txn) return "/etcdserverpb.KV/Txn";
  switch (request.operation.success.front().kind) {
    case Part::Kind::kPut:
      return "/etcdserverpb.KV/Put";
    case Part::Kind::kDelete:
      return "/etcdserverpb.KV/DeleteRange";
    case Part::Kind::kRead:
      break;
  }
  return "/etcdserverpb.KV/Range";
}

Needs NeedsOf(const Request& request) {
  if (request.is_compaction()) return {.root = true};
  if (request.operation.is_txn) {
    etcdserverpb::TxnRequest txn;
    KV_CHECK(txn.ParseFromString(BodyOf(request)), "a client's txn is none");
    return {.keys = NeedsOf(txn)};
  }
  const Part& part = request.operation.success.front();
  Needs needs{.lease = request.lease,
              .serializable = request.is_read() && request.operation.serializable};
  const bool reads = part.kind == Part::Kind::kRead;
  if (!reads) needs.keys.push_back({.writes = true, .key = part.key, .range_end = part.range_end});
  if (reads || request.prev_kv)
    needs.keys.push_back({.writes = false, .key = part.key, .range_end = part.range_end});
  return needs;
}

std::string Describe(const Request& request) {
  if (request.is_compaction()) return "compact " + std::to_string(request.compact_revision);
  std::string text = linearizability::ToText(request.operation);
  if (!request.hidden_key.empty()) text += " hides " + request.hidden_key;
  if (request.lease != 0) text += fmt::format(" lease {:x}", request.lease);
  return text;
}

std::int64_t Record(const server::ApplyResult::Value& value, Operation& operation) {
  if (const auto* put = std::get_if<mvcc::PutResult>(&value)) {
    operation.answers.emplace_back();
    return put->revision;
  }
  if (const auto* deleted = std::get_if<mvcc::DeleteRangeResult>(&value)) {
    operation.answers.push_back({.kvs = {}, .deleted = deleted->deleted});
    return deleted->revision;
  }
  if (const auto* txn = std::get_if<mvcc::TxnResult>(&value)) {
    operation.succeeded = txn->succeeded;
    for (const mvcc::OpResult& response : txn->responses)
      operation.answers.push_back(AnswerOf(response));
    return txn->revision;
  }
  if (const auto* compacted = std::get_if<server::CompactionResult>(&value))
    return compacted->revision;
  return 0;
}

bool Fits(const Request& request, const server::ApplyResult::Value& value,
          const Operation& recorded) {
  if (request.is_compaction()) return std::holds_alternative<server::CompactionResult>(value);
  if (recorded.is_txn != std::holds_alternative<mvcc::TxnResult>(value)) return false;
  return recorded.answers.size() ==
         (recorded.succeeded ? recorded.success : recorded.failure).size();
}

namespace {

linearizability::Answer AnswerOf(const etcdserverpb::RangeResponse& range) {
  linearizability::Answer answer;
  for (const auto& kv : range.kvs()) {
    answer.kvs.push_back({.key = kv.key(),
                          .value = kv.value(),
                          .mod_revision = kv.mod_revision(),
                          .create_revision = kv.create_revision(),
                          .version = kv.version()});
  }
  return answer;
}

// The nested transaction's, if there is one.
std::optional<Operation> ReadTxn(const Request& request, const etcdserverpb::TxnResponse& txn) {
  Operation operation = request.operation;
  operation.revision = txn.header().revision();
  operation.succeeded = txn.succeeded();
  const bool is_nested = txn.succeeded() && !request.hidden_key.empty();
  if (is_nested && (txn.responses_size() != 1 || !txn.responses(0).has_response_txn()))
    return std::nullopt;
  for (const auto& op : is_nested ? txn.responses(0).response_txn().responses() : txn.responses()) {
    if (op.has_response_range()) {
      operation.answers.push_back(AnswerOf(op.response_range()));
    } else {
      operation.answers.push_back({.kvs = {}, .deleted = op.response_delete_range().deleted()});
    }
  }
  if (operation.answers.size() != operation.Taken().size()) return std::nullopt;
  return operation;
}

// Reads a response with a header; `answer` makes the rest of it.
template <class Response, class Answer>
std::optional<Operation> ReadPlain(const Request& request, const std::string& bytes,
                                   Answer&& answer) {
  Response response;
  if (!response.ParseFromString(bytes)) return std::nullopt;
  Operation operation = request.operation;
  operation.revision = response.header().revision();
  operation.answers.push_back(answer(response));
  return operation;
}

}  // namespace

std::optional<Operation> ReadAnswer(const Request& request, const std::string& bytes) {
  if (request.is_compaction()) {
    return ReadPlain<etcdserverpb::CompactionResponse>(
        request, bytes, [](const auto&) { return linearizability::Answer{}; });
  }
  if (request.operation.is_txn) {
    etcdserverpb::TxnResponse txn;
    if (!txn.ParseFromString(bytes)) return std::nullopt;
    return ReadTxn(request, txn);
  }
  switch (request.operation.success.front().kind) {
    case Part::Kind::kPut:
      return ReadPlain<etcdserverpb::PutResponse>(
          request, bytes, [](const auto&) { return linearizability::Answer{}; });
    case Part::Kind::kDelete:
      return ReadPlain<etcdserverpb::DeleteRangeResponse>(
          request, bytes, [](const etcdserverpb::DeleteRangeResponse& response) {
            return linearizability::Answer{.kvs = {}, .deleted = response.deleted()};
          });
    case Part::Kind::kRead:
      break;
  }
  return ReadPlain<etcdserverpb::RangeResponse>(
      request, bytes,
      [](const etcdserverpb::RangeResponse& response) { return AnswerOf(response); });
}

linearizability::KeyValue KeyValueOf(std::string_view encoded) {
  const auto kv = mvcc::DecodeKeyValue(encoded);
  KV_CHECK(kv.has_value(), "the store returned a record that is not a key-value pair");
  return {.key = std::string(kv->key),
          .value = std::string(kv->value),
          .mod_revision = kv->mod_revision,
          .create_revision = kv->create_revision,
          .version = kv->version};
}

}  // namespace kvorum::sim
