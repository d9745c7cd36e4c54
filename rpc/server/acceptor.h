// Accepts connections on one listening socket, and never stops for good: connections aborted before
// they are accepted are skipped, a lack of descriptors or memory is waited out, and at the limit of
// connections the rest waits in the kernel's queue.
//
// Belongs to its loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "rpc/io/loop.h"
#include "rpc/session/per_loop.h"
#include "rpc/tls/socket.h"

namespace kvorum::rpc {

// State shared by the acceptors of one server. Thread-safe.
struct AcceptBudget {
  std::uint32_t max_connections = 0;  // 0: no limit
  std::atomic<std::uint64_t> open{0};
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> failures{0};
  std::atomic<bool> exhausted{false};  // an acceptor waits for Resume
};

class Acceptor final : public Loop::Watcher {
 public:
  using Sink = std::move_only_function<void(Accepted accepted)>;

  Acceptor(Loop& loop, ListenSocket socket, AcceptBudget& budget, Sink sink);
  ~Acceptor() override;

  // Accepts (again). Also called when a connection has ended and the budget was exhausted.
  void Resume();
  void OnReady(bool readable, bool writable) override;

 private:
  void Pause();

  Loop& loop_;
  ListenSocket socket_;
  AcceptBudget& budget_;
  Sink sink_;
  bool watching_ = false;
  TimePoint last_warning_;
  MemberTimer<Acceptor, &Acceptor::Resume> retry_timer_{*this};
};

}  // namespace kvorum::rpc
