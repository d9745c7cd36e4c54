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

namespace kvorum::server {

class MethodRegistrar;
class Proposer;
struct Reads;

class KvService {
 public:
  // Both outlive the service.
  KvService(Proposer& proposer, const Reads& reads) : proposer_(proposer), reads_(reads) {}
  void Register(MethodRegistrar& methods);

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

  Proposer& proposer_;
  const Reads& reads_;
};

}  // namespace kvorum::server
