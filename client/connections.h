// The connections to the endpoints, and the choice of the one for the next call. Internal to
// client/.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stop_token>
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

// Thread-safe. A connection stays usable after its endpoint is replaced.
class Connections {
 public:
  static Result<std::unique_ptr<Connections>> Open(const Options& options);
  ~Connections();

  // Returns a connection that is up, in turn; null if none came up before the deadline, or before
  // the stop. All connections are started at once, so that a dead member costs no time.
  ConnectionPtr WaitReady(CallOptions::Deadline deadline, const std::stop_token& stop = {});

  // Keeps connections to endpoints that stay. At least one endpoint must be given.
  void Replace(const std::vector<std::string>& endpoints);
  std::vector<std::string> endpoints() const;
  // Returns true if this endpoint uses, or would use, TLS.
  bool IsInTls(const std::string& endpoint) const;
  std::size_t size() const { return Current()->size(); }

  // One line with the name of each endpoint that can't be connected to and the reason; empty if
  // there is none.
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
