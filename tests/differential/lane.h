// One server's side of the comparison: sends it requests in order and collects the answers.
//
// Writes are sent one at a time, since the order of two concurrent ones is the server's choice; the
// reads between two writes are concurrent. Used by one thread at a time.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "proto/rpc.grpc.pb.h"
#include "tests/differential/answer.h"
#include "tests/differential/request.h"

namespace kvorum::differential {

class PendingCall;

class Lane {
 public:
  explicit Lane(const std::string& address);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // True if the server answers a read that needs a leader.
  bool IsServing();
  // The version that the server says it is, e.g. "3.4.23".
  Result<std::string> Version();

  // The answers, in the order of the requests.
  std::vector<Answer> Run(std::span<const Request> requests);

 private:
  std::unique_ptr<PendingCall> Start(const Request& request);
  // Waits until one call is done and keeps its answer.
  void TakeOne(std::vector<Answer>& answers);

  std::unique_ptr<etcdserverpb::KV::Stub> kv_;
  std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance_;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease_;
  std::unique_ptr<grpc::GenericStub> generic_;
  grpc::CompletionQueue queue_;
};

}  // namespace kvorum::differential
