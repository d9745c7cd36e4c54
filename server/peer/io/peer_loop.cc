#include "server/peer/io/peer_loop.h"

#include <pthread.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace kvorum::server {

namespace asio = boost::asio;

struct PeerLoop::Work {
  asio::executor_work_guard<asio::io_context::executor_type> guard;
};

PeerLoop::PeerLoop(std::string thread_name)
    : thread_name_(std::move(thread_name)),
      context_(std::make_unique<asio::io_context>(1)),
      work_(std::make_unique<Work>(Work{asio::make_work_guard(*context_)})) {}

PeerLoop::~PeerLoop() { Stop(); }

void PeerLoop::Start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), thread_name_.substr(0, 15).c_str());
    context_->run();
  });
}

void PeerLoop::Stop() {
  Post([this] { context_->stop(); });
  is_stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

void PeerLoop::Post(Task task) {
  if (is_stopped_) return;
  asio::post(*context_, [task = std::move(task)]() mutable { task(); });
}

void PeerLoop::PostAt(TimePoint when, Task task) {
  if (is_stopped_) return;
  auto timer = std::make_unique<asio::steady_timer>(*context_, when - clock().Now());
  asio::steady_timer& armed = *timer;
  armed.async_wait([timer = std::move(timer),
                    task = std::move(task)](const boost::system::error_code& error) mutable {
    if (!error) task();
  });
}

struct PeerTimer::Impl {
  explicit Impl(PeerLoop& loop) : timer(loop.context()) {}
  asio::steady_timer timer;
  std::uint64_t armings =
      0;  // an expiry that was already queued when the timer was disarmed is dropped
  Task task;
};

PeerTimer::PeerTimer(PeerLoop& loop) : impl_(std::make_shared<Impl>(loop)) {}

PeerTimer::~PeerTimer() { Disarm(); }

void PeerTimer::Arm(Duration after, Task task) {
  impl_->timer.expires_after(after);
  impl_->task = std::move(task);
  const std::uint64_t arming = ++impl_->armings;
  impl_->timer.async_wait([impl = impl_, arming](const boost::system::error_code& error) {
    if (error || impl->armings != arming) return;
    Task task = std::exchange(impl->task, nullptr);
    task();
  });
}

void PeerTimer::Disarm() {
  ++impl_->armings;
  impl_->task = nullptr;
  impl_->timer.cancel();
}

}  // namespace kvorum::server
