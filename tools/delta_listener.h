// Serves a control plane's streams over our own gRPC server, under the limits that the store's
// client port has: envoy.service.discovery.v3.AggregatedDiscoveryService, DeltaAggregatedResources.
// A resource travels as the bytes that the store has, under the type's name.
//
// Used by one thread. The plane outlives the listener, whose end ends its streams. Memory: a
// request and a response a stream, together at most DeltaListenerOptions::memory_bytes of what is
// not received or not read; past it the connections that hold the most and read nothing are closed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "sync/control_plane.h"

namespace kvorum::ctl {

struct DeltaListenerOptions {
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

class DeltaListener {
 public:
  // kFailedPrecondition: the TLS files are unusable. kUnavailable: the address cannot be listened
  // on.
  static Result<std::unique_ptr<DeltaListener>> Open(sync::ControlPlane& plane,
                                                     const DeltaListenerOptions& options);
  ~DeltaListener();
  DeltaListener(const DeltaListener&) = delete;
  DeltaListener& operator=(const DeltaListener&) = delete;

  // With the port that was picked for port 0.
  const std::string& address() const;

 private:
  class Impl;
  explicit DeltaListener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::ctl
