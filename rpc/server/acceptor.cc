#include "rpc/server/acceptor.h"

#include <utility>

#include "base/log/logging.h"

namespace kvorum::rpc {
namespace {

// The number accepted per wake-up, so that a flood of new connections does not hold up the old
// ones.
constexpr int kPerWakeup = 64;
constexpr Duration kRetryDelay = std::chrono::milliseconds(100);
constexpr Duration kWarningInterval = std::chrono::seconds(10);

}  // namespace

Acceptor::Acceptor(Loop& loop, ListenSocket socket, AcceptBudget& budget, Sink sink)
    : loop_(loop), socket_(std::move(socket)), budget_(budget), sink_(std::move(sink)) {}

Acceptor::~Acceptor() {
  loop_.Disarm(retry_timer_);
  Pause();
}

void Acceptor::Resume() {
  if (std::exchange(watching_, true)) return;
  loop_.Watch(socket_.fd(), *this, /*readable=*/true, /*writable=*/false);
}

void Acceptor::Pause() {
  if (std::exchange(watching_, false)) loop_.Unwatch(socket_.fd(), *this);
}

void Acceptor::OnReady(bool /*readable*/, bool /*writable*/) {
  for (int i = 0; i < kPerWakeup; ++i) {
    if (budget_.max_connections != 0 && budget_.open >= budget_.max_connections) {
      budget_.exhausted = true;
      // A connection that ends from now on resumes us; one that ended just before did not.
      if (budget_.open >= budget_.max_connections) return Pause();
    }
    auto accepted = socket_.Accept();
    if (accepted.has_value()) {
      ++budget_.open;
      ++budget_.accepted;
      sink_(std::move(*accepted));
      continue;
    }
    if (accepted.error() == AcceptFailure::kNothing) return;
    ++budget_.failures;
    if (last_warning_ + kWarningInterval <= loop_.now()) {
      last_warning_ = loop_.now();
      KV_WARN("cannot accept connections: out of file descriptors or memory; will go on",
              {"address", socket_.address()});
    }
    Pause();
    return loop_.Arm(retry_timer_, loop_.now() + kRetryDelay);
  }
}

}  // namespace kvorum::rpc
