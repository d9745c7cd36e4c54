// The catalog as the answers need it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dns/endpoint.h"

namespace kvorum::dns {

struct Instance {
  bool is_healthy = false;           // passing or warning
  std::optional<Endpoint> endpoint;  // of its value
};

// Thread-safe; a call waits for nothing.
class Directory {
 public:
  virtual ~Directory() = default;
  // The revision of what Find sees, or a later one's predecessor; 0: nothing is known yet.
  virtual std::int64_t revision() const = 0;
  // All instances of the services whose names are this one in lower case; empty: there is no such
  // service.
  virtual std::vector<Instance> Find(const std::string& name) const = 0;
};

}  // namespace kvorum::dns
