// The runs of --exec's programs, for a command's metrics.
//
// For one thread at a time, but for the cells.
#pragma once

#include <cstddef>
#include <memory>

#include "sync/kernel/metrics.h"

namespace kvorum::ctl {

class ExecCounts {
 public:
  // The metrics outlive it.
  explicit ExecCounts(sync::Metrics& metrics);

  // A run has ended, and so many changes wait for being run again.
  void Ended(bool is_ok, std::size_t waiting);
  // Those that waited are due now.
  void Due() { waiting_->Set(0); }

 private:
  const std::shared_ptr<Counter> ok_;
  const std::shared_ptr<Counter> failed_;
  const std::shared_ptr<sync::Gauge> waiting_;
};

}  // namespace kvorum::ctl
