#include "rpc/io/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/check.h"

namespace kvorum::rpc {
namespace {

// Marks the list of a closed box; never dereferenced.
class ClosedMark final : public Mailbox::Item {
 public:
  void Deliver() override {}
};

Mailbox::Item* Closed() {
  static ClosedMark mark;
  return &mark;
}

}  // namespace

Mailbox::Mailbox() : wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  KV_CHECK(wake_fd_ >= 0, "no eventfd for an I/O loop");
}

Mailbox::~Mailbox() {
  Close();
  close(wake_fd_);
}

void Mailbox::Push(std::shared_ptr<Item> item) {
  Item* raw = item.get();
  if (raw->queued_.exchange(true)) return;
  raw->self_ = std::move(item);
  Item* head = head_.load(std::memory_order_relaxed);
  do {
    if (head == Closed()) return Discard(*raw);
    raw->next_ = head;
  } while (!head_.compare_exchange_weak(head, raw));
  Wake();
}

// The item may be pushed again from here on, as in Collect.
void Mailbox::Discard(Item& item) {
  const std::shared_ptr<Item> self = std::move(item.self_);
  item.queued_.exchange(false);
  self->Discard();
}

void Mailbox::Post(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    tasks_.push_back(std::move(task));
    has_tasks_.store(true);
  }
  Wake();
}

void Mailbox::Wake() {
  // The loop announces that it sleeps before it looks for work a last time, and we have added work
  // before we check whether it sleeps: one of the two sees the other (all four operations are
  // seq_cst).
  if (!sleeping_.load() || !sleeping_.exchange(false)) return;
  const std::uint64_t one = 1;
  // The descriptor is watched edge-triggered and never read; its counter cannot overflow in the
  // life of a process, and a failed write means that it is already signalled.
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof(one));
}

bool Mailbox::PrepareToSleep() {
  sleeping_.store(true);
  if (head_.load() == nullptr && !has_tasks_.load()) return true;
  sleeping_.store(false);
  return false;
}

void Mailbox::Collect() {
  sleeping_.store(false, std::memory_order_relaxed);
  if (head_.load(std::memory_order_relaxed) != nullptr) {
    Item* newest_first = head_.exchange(nullptr);
    Item* item = nullptr;
    while (newest_first != nullptr) {  // reverse the list: deliver in the order of arrival
      Item* next = newest_first->next_;
      newest_first->next_ = item;
      item = newest_first;
      newest_first = next;
    }
    while (item != nullptr) {
      Item* next = item->next_;
      const std::shared_ptr<Item> self = std::move(item->self_);
      // From here on the item may be pushed again, by a thread that sees it delivered too early.
      item->queued_.exchange(false);
      self->Deliver();
      item = next;
    }
  }
  if (has_tasks_.load(std::memory_order_relaxed)) {
    {
      std::lock_guard lock(mutex_);
      running_.swap(tasks_);
      has_tasks_.store(false);
    }
    for (Task& task : running_) task();
    running_.clear();
  }
}

void Mailbox::Close() {
  Item* item = head_.exchange(Closed());
  while (item != nullptr && item != Closed()) {
    Item* next = item->next_;
    Discard(*item);
    item = next;
  }
  std::vector<Task> dropped;
  std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(tasks_);
}

}  // namespace kvorum::rpc
