#include "tools/run/exec_counts.h"

namespace kvorum::ctl {

ExecCounts::ExecCounts(sync::Metrics& metrics)
    : ok_(metrics.Get(sync::CounterName::kExecRuns, {"ok"})),
      failed_(metrics.Get(sync::CounterName::kExecRuns, {"error"})),
      waiting_(metrics.Get(sync::GaugeName::kExecWaiting)) {}

void ExecCounts::Ended(bool is_ok, std::size_t waiting) {
  (is_ok ? ok_ : failed_)->Add();
  waiting_->Set(static_cast<double>(waiting));
}

}  // namespace kvorum::ctl
