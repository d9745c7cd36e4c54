// etcdserverpb.KV: range, put, delete, transactions, compaction.
//
// Handlers are transport-free and may be called on any I/O loop. Reads of few rows are served
// there; larger ones go to the readers' executor, so that no loop is blocked.
#pragma once

#include <memory>
#include <string_view>

#include "mvcc/records/requests.h"
#include "rpc/call/service.h"
#include "server/call/api.h"
#include "server/call/reply.h"
#include "server/call/service_context.h"

namespace kvorum::server {

class KvService {
 public:
  explicit KvService(ServiceContext& context) : context_(context) {}
  void Register(rpc::Router& router);

  void Range(const rpc::CallContext& call, Received<mvcc::RangeRequest> range,
             Reply<EncodedRows> reply);
  void RangeStream(std::shared_ptr<rpc::ServerStream> stream);
  void Put(const rpc::CallContext& call, Received<mvcc::PutRequest> put,
           Reply<mvcc::PutResult> reply);
  void DeleteRange(const rpc::CallContext& call, Received<mvcc::DeleteRangeRequest> deletion,
                   Reply<mvcc::DeleteRangeResult> reply);
  void Txn(const rpc::CallContext& call, Received<mvcc::TxnRequest> txn,
           Reply<mvcc::TxnResult> reply);
  void Compact(const rpc::CallContext& call, Received<CompactionRequest> compaction,
               Reply<CompactionResult> reply);

 private:
  void StartRangeStream(std::shared_ptr<rpc::ServerStream> stream, SharedBytes request);

  ServiceContext& context_;
};

}  // namespace kvorum::server
