// A client of this member for its own services: changes go through the same handlers, checks and
// log as those from a connection, and reads are linearizable.
//
// Threads: thread-safe, but a call with a loop is made on that loop's thread. Answers come on the
// executor of the call's shard of watchers, which is its loop if it has one, and never from within
// the call. Errors: as a client library passes them on: the API's text with the code Unknown,
// except for the end of the call itself.
#pragma once

#include <cstdint>
#include <functional>

#include "base/error.h"
#include "lease/lease_record.h"
#include "mvcc/records/requests.h"
#include "mvcc/records/txn.h"
#include "rpc/call/call_context.h"
#include "server/call/reply.h"

namespace kvorum::watch {
class Hub;
class Shard;
}  // namespace kvorum::watch

namespace kvorum::server {

class KvService;
class LeaderStreams;
class LeaseService;
class Proposer;
struct ClusterFacts;
struct Reads;

using LocalRangeAnswer = Reply<mvcc::RangeResult>::Answer;
using LocalTxnAnswer = Reply<mvcc::TxnResult>::Answer;

class LocalClient {
 public:
  template <class Value>
  using Callback = std::move_only_function<void(Result<Value>)>;

  struct Parts {
    Proposer& proposer;
    const Reads& reads;
    watch::Hub& hub;
    LeaderStreams& leader_streams;
    KvService& kv;
    LeaseService& lease;
  };
  // They outlive this and all its requests.
  explicit LocalClient(const Parts& parts) : parts_(parts) {}

  // The call, and the bytes that a request refers to, are used within the call only.
  void Range(const rpc::CallContext& call, const mvcc::RangeRequest& request,
             Callback<LocalRangeAnswer> callback);
  // A transaction that writes.
  void Txn(const rpc::CallContext& call, mvcc::TxnRequest request,
           Callback<LocalTxnAnswer> callback);
  void DeleteKey(const rpc::CallContext& call, std::string_view key,
                 Callback<ResponseHeader> callback);
  // A lease of this many seconds, whose id the server chooses.
  void Grant(const rpc::CallContext& call, std::int64_t ttl_s, Callback<lease::LeaseId> callback);
  // The whole seconds that a lease has left; negative: it does not exist.
  void TimeToLive(const rpc::CallContext& call, lease::LeaseId lease,
                  Callback<std::int64_t> callback);

  watch::Shard& ShardOf(const rpc::CallContext& call);
  const ClusterFacts& cluster() const;
  LeaderStreams& leader_streams() { return parts_.leader_streams; }

 private:
  struct Read;
  void RunRead(Read& read);
  // Passes `value(answer)` on to the callback, on the shard's executor.
  template <class Response, class Value, class ValueOf>
  Reply<Response> ReplyTo(const rpc::CallContext& call, Callback<Value> callback, ValueOf value_of);

  const Parts parts_;
};

}  // namespace kvorum::server
