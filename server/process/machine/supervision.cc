#include "server/process/machine/supervision.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "api/member_id.h"
#include "base/text/go_number.h"
#include "server/state/raft_status.h"

namespace kvorum::server {

void Supervision::Start() { Look(); }

void Supervision::Look() {
  const TimePoint now = executor_.clock().Now();
  if (std::string status = parts_.status(); status != told_) {
    parts_.notify("STATUS=" + status);
    told_ = std::move(status);
  }
  // Twice in its time, as the manual asks; a word that a tick delays is still in time.
  const bool due = parts_.watchdog > Duration(0) && now - last_word_ >= parts_.watchdog / 4;
  if (due && unanswered_.load(std::memory_order_acquire) == 0) {
    parts_.notify("WATCHDOG=1");
    last_word_ = now;
    unanswered_.store(parts_.threads.size(), std::memory_order_release);
    for (Executor* thread : parts_.threads)
      thread->Post([this] { unanswered_.fetch_sub(1, std::memory_order_acq_rel); });
  }
  const Duration interval =
      parts_.watchdog > Duration(0) ? std::min(kInterval, parts_.watchdog / 4) : kInterval;
  executor_.PostAt(now + interval, [this] { Look(); });
}

std::string StatusText(const RaftStatus& status) {
  const std::string term = " in term " + std::to_string(status.term().value());
  if (status.leading_term() != 0) return "leader" + term;
  const raft::MemberId leader = status.leader();
  if (leader == raft::kNone) return "no leader" + term;
  return "follower of " + IdText(leader) + term;
}

Duration WatchdogOf(const char* microseconds, const char* pid) {
  if (microseconds == nullptr) return {};
  if (pid != nullptr && ParseUint(pid, 10).value_or(0) != static_cast<std::uint64_t>(getpid()))
    return {};
  constexpr std::uint64_t kDay = 24ULL * 3600 * 1'000'000;
  return std::chrono::microseconds(std::min(ParseUint(microseconds, 10).value_or(0), kDay));
}

}  // namespace kvorum::server
