// Probes over the network and by running programs, on one thread. Names are looked up on
// a few more, of which a lookup that does not end keeps its own for as long, beyond the prober's
// end.
//
// Thread-safe. A result has at most kMaxOutputBytes of output, of which a program's or an answer's
// own is at most as long as the check says; the rest is dropped. A program of a check with details
// has the end of its output kept, and in front of it how much that is of how much. The host program
// leaves the probes' children to them: a program whose end was not seen is critical. A program gets
// an empty input and the environment of this process; it and its process group are killed when it
// has ended or its time-out has passed, and when the prober is destroyed.
#pragma once

#include <memory>

#include "sync/checks/prober.h"

namespace kvorum::sync {

class SystemProber final : public Prober {
 public:
  SystemProber();
  ~SystemProber() override;
  SystemProber(const SystemProber&) = delete;
  SystemProber& operator=(const SystemProber&) = delete;

  void Begin(const CheckDefinition& check, OnEnd on_end) override;

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace kvorum::sync
