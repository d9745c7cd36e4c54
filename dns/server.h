// Answers DNS questions over UDP and TCP on one address, on its own thread.
//
// Bounds: those of ServerLimits, and kMaxQueryBytes (wire.h) a question. Over TCP a connection
// beyond them is closed at once; over UDP a question beyond them gets no answer, and an answer that
// the socket does not take at once is lost. The directory and the metrics outlive the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "dns/consul_zone.h"
#include "dns/directory.h"
#include "sync/kernel/metrics.h"

namespace kvorum::dns {

struct ServerLimits {
  int connections = 64;
  int connections_per_host = 16;                // of an address, or of one network of IPv6 (/64)
  int questions = 100;                          // of a connection
  Duration patience = std::chrono::seconds(5);  // for a question and its answer
  // Over UDP, of one address, or of one network of IPv6 (/64); 0: as many as come.
  std::uint32_t questions_per_second = 5'000;
  // Questions from this machine need no cookie for a large answer (responder.h).
  bool knows_this_machine = true;
};

class Server {
 public:
  // ADDRESS:PORT or [ADDRESS]:PORT; port 0 is a free one. kInvalidArgument: no such form;
  // kUnavailable: the address cannot be taken.
  static Result<std::unique_ptr<Server>> Open(const std::string& address,
                                              const Directory& directory,
                                              const ServerLimits& limits = {},
                                              sync::Metrics* metrics = nullptr,
                                              std::optional<ConsulZone> consul = std::nullopt);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns the address that it listens on, with the port that was picked for port 0.
  std::string address() const;

 private:
  class Sockets;
  explicit Server(std::unique_ptr<Sockets> sockets);
  std::unique_ptr<Sockets> sockets_;
};

}  // namespace kvorum::dns
