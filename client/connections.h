// The connections to the endpoints, and which of them serves the next call. Internal to client/.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/client.h"
#include "proto/rpc.grpc.pb.h"

namespace kvorum::client {

struct Connection {
  Connection(std::string endpoint, std::shared_ptr<grpc::Channel> channel);

  std::string endpoint;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Watch::Stub> watch;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease;
  std::unique_ptr<etcdserverpb::Cluster::Stub> cluster;
  std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
  std::unique_ptr<etcdserverpb::Auth::Stub> auth;
};
using ConnectionPtr = std::shared_ptr<Connection>;

// Thread-safe. A connection that was handed out goes on working after its endpoint is replaced.
class Connections {
 public:
  static Result<std::unique_ptr<Connections>> Open(const Options& options);
  ~Connections();

  // A connection that is up, each in turn; null if none came up before the deadline. Connecting is
  // begun on all of them at once, so that one dead member costs no time.
  ConnectionPtr WaitReady(CallOptions::Deadline deadline);

  // Connections to endpoints that stay are kept. At least one endpoint must be given.
  void Replace(const std::vector<std::string>& endpoints);
  std::vector<std::string> endpoints() const;
  // Whether this endpoint is, or would be, spoken to in TLS.
  bool IsInTls(const std::string& endpoint) const;
  std::size_t size() const { return Current()->size(); }

  // Of each endpoint that can't be connected to: its name and why, in one line; empty if there is
  // none.
  std::string WhyNotConnected() const;

 private:
  using List = std::vector<ConnectionPtr>;
  struct Settings;
  explicit Connections(std::unique_ptr<const Settings> settings);
  std::shared_ptr<const List> Current() const;
  ConnectionPtr NextReady(const List& connections);
  ConnectionPtr Connect(const std::string& endpoint) const;

  const std::unique_ptr<const Settings> settings_;
  mutable std::mutex mutex_;  // guards list_; its content never changes
  std::shared_ptr<const List> list_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace kvorum::client
