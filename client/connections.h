// The connections to the endpoints, and which of them serves the next call. Internal to client/.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/error.h"
#include "client/client.h"
#include "proto/rpc.grpc.pb.h"

namespace kvorum::client {

struct Connection {
  explicit Connection(std::shared_ptr<grpc::Channel> channel);

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Watch::Stub> watch;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease;
  std::unique_ptr<etcdserverpb::Cluster::Stub> cluster;
  std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
  std::unique_ptr<etcdserverpb::Auth::Stub> auth;
};

// Thread-safe.
class Connections {
 public:
  static Result<std::unique_ptr<Connections>> Open(const Options& options);

  // A connection that is up, each in turn; null if none came up before the deadline. Connecting is
  // begun on all of them at once, so that one dead member costs no time.
  Connection* WaitReady(CallOptions::Deadline deadline);

 private:
  explicit Connections(std::vector<Connection> connections);
  Connection* NextReady();

  std::vector<Connection> connections_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace kvorum::client
