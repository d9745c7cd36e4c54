#include "tests/sim/request.h"

#include <fmt/format.h>

#include <variant>

#include "base/check.h"
#include "mvcc/key_value.h"
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
    body = BodyOfPart(operation.success.front());
    if (request.lease != 0) wire::AppendInt(body, 3, request.lease);
    return body;
  }
  for (const Compare& compare : operation.compares)
    wire::AppendBytesAlways(body, 1, CompareBody(compare));
  for (const auto& part : operation.success) wire::AppendBytesAlways(body, 2, OpOf(part));
  for (const auto& part : operation.failure) wire::AppendBytesAlways(body, 3, OpOf(part));
  return body;
}

std::string Describe(const Request& request) {
  if (request.is_compaction()) return "compact " + std::to_string(request.compact_revision);
  std::string text = linearizability::ToText(request.operation);
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

linearizability::KeyValue KeyValueOf(std::string_view encoded) {
  const auto kv = mvcc::DecodeKeyValue(encoded);
  KV_CHECK(kv.has_value(), "the store gave out what is no key-value");
  return {.key = std::string(kv->key),
          .value = std::string(kv->value),
          .mod_revision = kv->mod_revision,
          .create_revision = kv->create_revision,
          .version = kv->version};
}

}  // namespace kvorum::sim
