// A unary call of a simulated client: there and back over its connection.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

struct UnaryCall {
  std::string path;
  std::string request;
  std::string token = {};  // empty: none is shown
  // Not 0: the call may wait. It is cancelled when this has passed, and with its process; it must
  // be answered then.
  Duration deadline{};
  bool wants_leader = false;
  // The member has taken it; the answer has left; the client has it, or has lost its patience. All
  // may be empty.
  std::function<void()> on_taken = {};
  std::function<void(const Result<std::string>&)> on_answer = {};
  std::function<void(const Result<std::string>&)> done = {};
};

// `done` is called once, within a bounded time.
void Call(World& world, Machine& machine, UnaryCall call);

}  // namespace kvorum::sim
