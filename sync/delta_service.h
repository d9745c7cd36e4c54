// Serves a control plane's streams over gRPC, as other people's clients expect it:
// envoy.service.discovery.v3.AggregatedDiscoveryService, DeltaAggregatedResources. A resource
// travels as the bytes that the store has, under the type's name.
//
// Threading: thread-safe. The plane outlives the service; destroying the service ends its streams,
// and waits for that. Memory: a request and a response a stream.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/error.h"
#include "sync/control_plane.h"

namespace kvorum::sync {

struct DeltaServiceOptions {
  std::string address = "127.0.0.1:0";  // host:port or unix:path; port 0: any
  // PEM, reread every ten seconds; without a certificate there is no TLS. With authorities a client
  // has to show a certificate of theirs.
  std::string certificate_file = {};
  std::string key_file = {};
  std::string client_ca_file = {};
  int max_request_bytes = 16 * 1024 * 1024;
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

  int port() const;

 private:
  class Impl;
  explicit DeltaService(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::sync
