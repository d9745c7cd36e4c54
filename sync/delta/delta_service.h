// Serves a control plane's streams over our own gRPC server, under the limits that the store's
// client port has: envoy.service.discovery.v3.AggregatedDiscoveryService, DeltaAggregatedResources.
// A resource travels as the bytes that the store has, under the type's name.
//
// Used by one thread. The plane outlives the service, whose end ends its streams and waits for
// that. The server's warnings, of connections that it refuses, go to stderr. Memory: a
// request and a response a stream, together at most DeltaServiceOptions::memory_bytes of what is
// not received or not read; past it the connections that hold the most and read nothing are closed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "sync/delta/control_plane.h"

namespace kvorum::sync {

struct DeltaServiceOptions {
  std::string address = "127.0.0.1:0";  // host:port or unix:path; port 0: any
  // PEM, reread when they change; without a certificate there is no TLS. With authorities a client
  // has to show a certificate of theirs.
  std::string certificate_file = {};
  std::string key_file = {};
  std::string client_ca_file = {};
  // A stream's node is the common name in its client's certificate, and no other.
  bool node_from_certificate = false;
  std::uint32_t max_request_bytes = 16 * 1024 * 1024;
  std::size_t memory_bytes = std::size_t{256} << 20U;
  // A connection that has asked for nothing, or ended nothing of what it began, is closed.
  std::chrono::milliseconds handshake_timeout = std::chrono::seconds(10);
};

class DeltaService {
 public:
  // kFailedPrecondition: the TLS files are unusable. kUnavailable: the address cannot be listened
  // on.
  static Result<std::unique_ptr<DeltaService>> Listen(ControlPlane& plane,
                                                      const DeltaServiceOptions& options);
  ~DeltaService();
  DeltaService(const DeltaService&) = delete;
  DeltaService& operator=(const DeltaService&) = delete;

  // With the port that was picked for port 0.
  const std::string& address() const;

 private:
  class Impl;
  explicit DeltaService(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::sync
