#include "rpc/io/loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace kvorum::rpc {
namespace {

constexpr int kEventsPerWait = 256;
constexpr int kForever = -1;

thread_local Loop* current_loop = nullptr;

std::uint32_t EventMask(bool readable, bool writable) {
  return (readable ? EPOLLIN | EPOLLRDHUP : 0U) | (writable ? EPOLLOUT : 0U);
}

// A task that waits for its time; deletes itself when it has run.
class TimedTask final : public Timer {
 public:
  explicit TimedTask(Task task) : task_(std::move(task)) {}
  void OnTimer() override {
    task_();
    delete this;
  }

 private:
  Task task_;
};

}  // namespace

Loop::Loop(std::uint32_t index, std::string thread_name)
    : index_(index),
      thread_name_(std::move(thread_name)),
      mailbox_(std::make_shared<Mailbox>()),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      now_(SystemClock().Now()),
      events_(std::make_unique<epoll_event[]>(kEventsPerWait)) {
  KV_CHECK(epoll_fd_ >= 0, "no epoll descriptor for an I/O loop");
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  KV_CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, mailbox_->wake_fd(), &event) == 0,
           "cannot watch an I/O loop's wake-up");
}

Loop::~Loop() {
  Stop();
  close(epoll_fd_);
}

Loop* Loop::Current() { return current_loop; }

void Loop::Start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), thread_name_.substr(0, 15).c_str());
    current_loop = this;
    Run();
    current_loop = nullptr;
  });
}

void Loop::Stop() {
  if (thread_.joinable()) {
    mailbox_->Post([this] { stopping_ = true; });
    thread_.join();
  }
  mailbox_->Close();
  while (auto earliest = timers_.Earliest()) {
    // Only timed tasks are left when the connections are gone; they end without running.
    Timer* timer = timers_.PopDue(*earliest);
    if (auto* task = dynamic_cast<TimedTask*>(timer)) delete task;
  }
}

void Loop::Post(Task task) { mailbox_->Post(std::move(task)); }

void Loop::PostAt(TimePoint when, Task task) {
  auto timed = std::make_unique<TimedTask>(std::move(task));
  mailbox_->Post([this, when, timed = std::move(timed)]() mutable { Arm(*timed.release(), when); });
}

void Loop::Watch(int fd, Watcher& watcher, bool readable, bool writable) {
  epoll_event event{};
  event.events = EventMask(readable, writable);
  event.data.ptr = &watcher;
  KV_CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0, "cannot watch a socket");
}

void Loop::Rewatch(int fd, Watcher& watcher, bool readable, bool writable) {
  epoll_event event{};
  event.events = EventMask(readable, writable);
  event.data.ptr = &watcher;
  KV_CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event) == 0, "cannot rewatch a socket");
}

void Loop::Unwatch(int fd, Watcher& watcher) {
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
  for (int i = 0; i < event_count_; ++i) {
    if (events_[static_cast<std::size_t>(i)].data.ptr == &watcher)
      events_[static_cast<std::size_t>(i)].data.ptr = nullptr;
  }
}

void Loop::QueueFlush(Flushable& flushable) {
  if (flushable.flush_queued_) return;
  flushable.flush_queued_ = true;
  flushes_.push_back(&flushable);
}

void Loop::DropFlush(Flushable& flushable) {
  if (flushable.flush_queued_) {
    std::erase(flushes_, &flushable);
    flushable.flush_queued_ = false;
  }
  std::replace(flushing_.begin(), flushing_.end(), &flushable, static_cast<Flushable*>(nullptr));
}

int Loop::WaitMillis() {
  if (std::exchange(stay_awake_, false) || !flushes_.empty()) return 0;
  if (!mailbox_->PrepareToSleep()) return 0;
  const auto earliest = timers_.Earliest();
  if (!earliest) return kForever;
  const Duration left = *earliest - SystemClock().Now();
  if (left.count() <= 0) return 0;
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<std::int64_t>(millis, 60'000));
}

void Loop::WaitForEvents() {
  const int count = epoll_wait(epoll_fd_, events_.get(), kEventsPerWait, WaitMillis());
  KV_CHECK(count >= 0 || errno == EINTR, "epoll_wait failed");
  now_ = SystemClock().Now();
  event_count_ = std::max(count, 0);
  for (int i = 0; i < event_count_; ++i) {
    const epoll_event event = events_[static_cast<std::size_t>(i)];
    if (event.data.ptr == nullptr) continue;  // the wake-up, or a watcher that was removed
    // A broken connection counts as readable: the read shows what happened to it.
    const bool broken = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
    static_cast<Watcher*>(event.data.ptr)
        ->OnReady(broken || (event.events & (EPOLLIN | EPOLLRDHUP)) != 0,
                  (event.events & EPOLLOUT) != 0);
  }
  event_count_ = 0;
}

void Loop::RunFlushes() {
  flushing_.swap(flushes_);
  for (std::size_t i = 0; i < flushing_.size(); ++i) {
    Flushable* flushable = flushing_[i];
    if (flushable == nullptr) continue;
    flushable->flush_queued_ = false;
    flushable->Flush();
  }
  flushing_.clear();
}

void Loop::Run() {
  std::vector<Task> later;
  while (!stopping_) {
    WaitForEvents();
    while (Timer* timer = timers_.PopDue(now_)) timer->OnTimer();
    mailbox_->Collect();
    for (auto& hook : hooks_) hook();
    RunFlushes();
    while (!later_.empty()) {
      later.swap(later_);
      for (Task& task : later) task();
      later.clear();
    }
  }
}

}  // namespace kvorum::rpc
