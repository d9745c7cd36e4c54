// etcdserverpb.KV: range, put, delete, transactions, compaction.
//
// Handlers are transport-free and may be called on any I/O loop. Reads of few rows are served
// there; those that look at many go to the readers' executor, so that no loop is held.
#pragma once

#include <memory>
#include <string_view>

#include "rpc/service.h"
#include "server/call/service_context.h"

namespace kvorum::server {

class KvService {
 public:
  explicit KvService(ServiceContext& context) : context_(context) {}
  void Register(rpc::Router& router);

  void Range(const rpc::CallContext& call, SharedBytes request, rpc::UnaryReply reply);
  void RangeStream(std::shared_ptr<rpc::ServerStream> stream);
  void Put(const rpc::CallContext& call, SharedBytes request, rpc::UnaryReply reply);
  void DeleteRange(const rpc::CallContext& call, SharedBytes request, rpc::UnaryReply reply);
  void Txn(const rpc::CallContext& call, SharedBytes request, rpc::UnaryReply reply);
  void Compact(const rpc::CallContext& call, SharedBytes request, rpc::UnaryReply reply);

 private:
  void StartRangeStream(std::shared_ptr<rpc::ServerStream> stream, SharedBytes request);

  ServiceContext& context_;
};

}  // namespace kvorum::server
