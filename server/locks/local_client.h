// What a member's own services ask of it, as one more client would: requests go through the same
// handlers, checks and log as those that come by a connection.
//
// Threads: thread-safe, but a call with a loop is made on that loop's thread. Answers come on the
// executor of the call's shard of watchers, which is its loop where it has one, and never from
// within the question.
// Errors: as a client library gives them on: the API's text with the code Unknown, but for the end
// of the call itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "lease/lease_record.h"
#include "rpc/call_context.h"
#include "server/call/service_context.h"
#include "server/services/kv_service.h"
#include "server/services/lease_service.h"
#include "watch/shard.h"

namespace kvorum::server {

struct RangeAnswer {
  std::string header;         // a ResponseHeader, encoded
  std::int64_t revision = 0;  // the header's
  std::int64_t count = 0;
  std::string kv;  // the first row, encoded; empty: there is none
};

struct TxnAnswer {
  std::string header;
  std::int64_t revision = 0;
  bool succeeded = false;
  std::vector<RangeAnswer> ranges;  // of the branch that ran
};

class LocalClient {
 public:
  template <class Value>
  using Callback = std::move_only_function<void(Result<Value>)>;

  // They outlive it and everything that it was asked.
  LocalClient(ServiceContext& context, KvService& kv, LeaseService& lease)
      : context_(context), kv_(kv), lease_(lease) {}

  // The context is looked at during the question only. Requests are encoded messages.
  void Range(const rpc::CallContext& call, std::string request, Callback<RangeAnswer> callback);
  void Txn(const rpc::CallContext& call, std::string request, Callback<TxnAnswer> callback);
  // Answers with the header.
  void DeleteRange(const rpc::CallContext& call, std::string request,
                   Callback<std::string> callback);
  // A lease of this many seconds, whose id the server chooses.
  void Grant(const rpc::CallContext& call, std::int64_t ttl_s, Callback<lease::LeaseId> callback);
  // The whole seconds that a lease has left; less than 0: it does not exist.
  void TimeToLive(const rpc::CallContext& call, lease::LeaseId lease,
                  Callback<std::int64_t> callback);

  watch::Shard& ShardOf(const rpc::CallContext& call);
  ServiceContext& context() { return context_; }

 private:
  template <class Value>
  rpc::UnaryReply ReplyTo(const rpc::CallContext& call, Result<Value> (*decode)(std::string_view),
                          Callback<Value> callback);

  ServiceContext& context_;
  KvService& kv_;
  LeaseService& lease_;
};

}  // namespace kvorum::server
