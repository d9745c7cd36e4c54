// The peer thread: everything about connections between members happens on it, and nothing on it
// waits for a disk. An Asio context with one thread.
//
// Post and PostAt are thread-safe; the rest belongs to the thread itself, or to the owner before
// Start and after Stop. Tasks posted before Start wait for it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/task.h"

namespace boost::asio {
class io_context;
}

namespace kvorum::server {

class PeerLoop final : public Executor {
 public:
  explicit PeerLoop(std::string thread_name);
  ~PeerLoop() override;
  PeerLoop(const PeerLoop&) = delete;
  PeerLoop& operator=(const PeerLoop&) = delete;

  void Start();
  // Runs tasks posted before the call, then ends the thread. Later posts are dropped.
  void Stop();

  void Post(Task task) override;
  void PostAt(TimePoint when, Task task) override;
  const Clock& clock() const override { return SystemClock(); }
  boost::asio::io_context& context() { return *context_; }

 private:
  struct Work;

  const std::string thread_name_;
  std::unique_ptr<boost::asio::io_context> context_;
  std::unique_ptr<Work> work_;
  std::atomic<bool> is_stopped_{false};
  std::thread thread_;
};

// Runs a task once, later, unless it is rearmed, disarmed or destroyed before. Used on the loop's
// thread. Arm costs one allocation.
class PeerTimer {
 public:
  explicit PeerTimer(PeerLoop& loop);
  ~PeerTimer();
  PeerTimer(const PeerTimer&) = delete;
  PeerTimer& operator=(const PeerTimer&) = delete;

  void Arm(Duration after, Task task);
  void Disarm();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kvorum::server
