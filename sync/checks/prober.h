// Does what a check says, once. SystemProber (system_prober.h) is the real one.
#pragma once

#include <functional>

#include "sync/agent/check_machine.h"
#include "sync/agent/entry.h"

namespace kvorum::sync {

class Prober {
 public:
  using OnEnd = std::move_only_function<void(ProbeResult result)>;

  virtual ~Prober() = default;
  // Thread-safe; the check must not be a ttl check. The result comes on any thread, at the latest
  // when the check's time-out has passed, or never once the prober is destroyed.
  virtual void Begin(const CheckDefinition& check, OnEnd on_end) = 0;
};

}  // namespace kvorum::sync
