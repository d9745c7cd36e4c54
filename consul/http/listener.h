// The port of Consul's API: rpc/'s HTTP with its limits, in plain text or under TLS.
//
// Used by one owner thread. Handlers run on the listener's loops. Bounds: connections, those of one
// client address, the body of a request, the bytes of all answers and incomplete requests together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "consul/http/router.h"

namespace kvorum::consul {

class Listener {
 public:
  static constexpr std::uint32_t kMostConnections = 16'384;

  struct Options {
    std::string address;                // HOST:PORT
    std::string certificate_file = {};  // PEM, with key_file; empty: plain text
    std::string key_file = {};
    std::string client_ca_file = {};  // clients need a certificate issued by one of these
    std::uint32_t loops = 1;
    std::uint32_t max_connections = kMostConnections;
    std::uint32_t max_connections_per_client = 200;  // of one address; 0: no limit
    std::size_t memory_bytes = std::size_t{256} << 20U;
  };
  // kInvalidArgument: the address or the files are malformed; kUnavailable: it cannot be listened
  // at. The router outlives the listener.
  static Result<std::unique_ptr<Listener>> Open(const Router& router, const Options& options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Ends the requests in progress, after a moment: no handler runs any more. The loops are there
  // until the destructor, so that late answers find them.
  void Stop();

  // With the port that was taken.
  const std::string& address() const;
  // False: who reaches the port may be anybody, and read everything on the way.
  bool is_secure() const;
  bool is_loopback() const;

 private:
  class Impl;
  explicit Listener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::consul
