#include "server/locks/local_client.h"

#include <memory>
#include <string>
#include <utility>

#include "api/kv_request_encode.h"
#include "rpc/io/loop.h"
#include "server/call/method_registrar.h"
#include "server/call/reads.h"
#include "server/call/request_batcher.h"
#include "server/services/kv/kv_service.h"
#include "server/services/kv/read_cost.h"
#include "server/services/lease/lease_service.h"
#include "watch/hub.h"
#include "watch/shard.h"

namespace kvorum::server {
namespace {

Error AsTold(Error error) {
  if (error.code != Code::kCanceled && error.code != Code::kDeadlineExceeded)
    error.code = Code::kUnknown;
  return error;
}

constexpr auto kWhole = [](auto answer) { return answer; };
constexpr auto kHeader = [](const auto& answer) { return answer.header; };

}  // namespace

// A range with the bytes that it refers to.
struct LocalClient::Read {
  Read(const mvcc::RangeRequest& asked, rpc::Caller by, Reply<mvcc::RangeResult> to)
      : key(asked.key),
        range_end(asked.range_end),
        request(asked),
        caller(std::move(by)),
        reply(std::move(to)) {
    request.key = key;
    request.range_end = range_end;
  }

  const std::string key;
  const std::string range_end;
  mvcc::RangeRequest request;
  rpc::Caller caller;
  Reply<mvcc::RangeResult> reply;
};

const ClusterFacts& LocalClient::cluster() const { return parts_.reads.cluster; }

watch::Shard& LocalClient::ShardOf(const rpc::CallContext& call) {
  return parts_.hub.shard(call.loop() == nullptr ? 0 : call.loop()->index());
}

template <class Response, class Value, class ValueOf>
Reply<Response> LocalClient::ReplyTo(const rpc::CallContext& call, Callback<Value> callback,
                                     ValueOf value_of) {
  return Reply<Response>::ToFunction([&executor = ShardOf(call).executor(), value_of,
                                      callback = std::move(callback)](
                                         Result<typename Reply<Response>::Answer> answer) mutable {
    executor.Post([value_of, callback = std::move(callback), answer = std::move(answer)]() mutable {
      if (!answer.has_value()) return callback(Fail(AsTold(std::move(answer).error())));
      callback(value_of(*std::move(answer)));
    });
  });
}

void LocalClient::Range(const rpc::CallContext& call, const mvcc::RangeRequest& request,
                        Callback<LocalRangeAnswer> callback) {
  auto read = std::make_unique<Read>(request, call.caller,
                                     ReplyTo<mvcc::RangeResult>(call, std::move(callback), kWhole));
  parts_.reads.batcher.Read(
      call.loop(), [this, read = std::move(read)](const Result<void>& confirmed) mutable {
        if (!confirmed.has_value()) return read->reply.Fail(confirmed.error());
        if (PlaceOf(parts_.reads, read->request) == ReadPlace::kLoop) return RunRead(*read);
        parts_.reads.executors.readers->Post([this, read = std::move(read)] { RunRead(*read); });
      });
}

void LocalClient::RunRead(Read& read) {
  auto held = parts_.reads.ReadFor(read.caller, read.request);
  if (!held.has_value()) return read.reply.Fail(std::move(held).error());
  mvcc::ReadView& view = **held;
  auto result = view.Range(read.request);
  if (!result.has_value()) return read.reply.Fail(std::move(result).error());
  read.reply.Send(parts_.reads.cluster.Header(view.revision()), *std::move(result));
}

void LocalClient::Txn(const rpc::CallContext& call, mvcc::TxnRequest request,
                      Callback<LocalTxnAnswer> callback) {
  SharedBytes bytes = EncodeTxn(request);
  RunMethod(parts_.proposer, api::kTxn, call.loop(),
            Received<mvcc::TxnRequest>{std::move(request), std::move(bytes)},
            ReplyTo<mvcc::TxnResult>(call, std::move(callback), kWhole),
            [&](Received<mvcc::TxnRequest> txn, Reply<mvcc::TxnResult> reply) {
              parts_.kv.Txn(call, std::move(txn), std::move(reply));
            });
}

void LocalClient::DeleteKey(const rpc::CallContext& call, std::string_view key,
                            Callback<ResponseHeader> callback) {
  const mvcc::DeleteRangeRequest request{.key = key, .range_end = {}};
  RunMethod(parts_.proposer, api::kDeleteRange, call.loop(),
            Received<mvcc::DeleteRangeRequest>{request, EncodeDeleteRange(request)},
            ReplyTo<mvcc::DeleteRangeResult>(call, std::move(callback), kHeader),
            [&](Received<mvcc::DeleteRangeRequest> deletion, Reply<mvcc::DeleteRangeResult> reply) {
              parts_.kv.DeleteRange(call, std::move(deletion), std::move(reply));
            });
}

void LocalClient::Grant(const rpc::CallContext& call, std::int64_t ttl_s,
                        Callback<lease::LeaseId> callback) {
  RunMethod(parts_.proposer, api::kLeaseGrant, call.loop(),
            Received<LeaseGrantRequest>{.request = {.ttl_s = ttl_s}, .bytes = {}},
            ReplyTo<LeaseGrantResult>(call, std::move(callback),
                                      [](const auto& granted) { return granted.response.id; }),
            [&](Received<LeaseGrantRequest> grant, Reply<LeaseGrantResult> reply) {
              parts_.lease.Grant(call, std::move(grant), std::move(reply));
            });
}

void LocalClient::TimeToLive(const rpc::CallContext& call, lease::LeaseId lease,
                             Callback<std::int64_t> callback) {
  parts_.lease.TimeToLive(
      call, {.request = {.id = lease}, .bytes = {}},
      ReplyTo<LeaseTimeToLiveResponse>(call, std::move(callback), [](const auto& told) {
        const LeaseTimes& times = told.response.times;
        // A lease of one second is never seen with a whole one left.
        return times.granted_s == 1 ? 1 : times.ttl_s;
      }));
}

}  // namespace kvorum::server
