// grpc.health.v1.Health: Check, List and Watch for the server as a whole (the empty service name).
//
// Thread-safe. Must outlive the server whose router it is registered with.
#pragma once

#include <memory>
#include <span>

#include "rpc/call/service.h"

namespace kvorum::wire {
struct Table;
}

namespace kvorum::rpc {

class Health {
 public:
  Health();
  ~Health();
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  // Sets SERVING or NOT_SERVING, which every Watch reports. NOT_SERVING until the first call.
  void SetServing(bool serving);
  void Register(Router& router);

 private:
  class State;
  std::shared_ptr<State> state_;
};

// The tables of its messages, for the test that compares them with the .proto files.
std::span<const wire::Table* const> HealthMessageTables();

}  // namespace kvorum::rpc
