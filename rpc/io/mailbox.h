// Items that other threads hand to a loop: answers of calls (without allocation) and tasks. A
// thread that sleeps in its poll is woken once, by the first item.
//
// Push and Post are thread-safe; Collect, PrepareToSleep and Close belong to the loop's thread.
// Shared by the loop and its calls, so that a late answer finds a closed box, not freed memory.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/task.h"

namespace kvorum::rpc {

class Mailbox {
 public:
  // Something that can be pushed from any thread and is then delivered on the loop's thread.
  class Item {
   public:
    virtual ~Item() = default;
    // Runs after everything that happened before the (last) Push.
    virtual void Deliver() = 0;
    // In its place when the box is closed, on the thread that pushes or closes: lets go of what
    // would have been delivered, which may refer to the item.
    virtual void Discard() {}

   private:
    friend class Mailbox;
    std::atomic<bool> queued_{false};
    Item* next_ = nullptr;
    std::shared_ptr<Item> self_;  // keeps the item alive while it is queued
  };

  Mailbox();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Does nothing for an item that already waits. Discards it after Close.
  void Push(std::shared_ptr<Item> item);
  // The task is dropped after Close.
  void Post(Task task);

  // Delivers items, then runs tasks, in the order of arrival; those that arrive meanwhile wait.
  void Collect();
  // The descriptor that is signalled when a sleeping loop must wake. To be watched edge-triggered;
  // it is never read, which saves a call per wake-up.
  int wake_fd() const { return wake_fd_; }
  // Returns false if something already waits: then do not sleep. After true, Collect ends the
  // sleep.
  bool PrepareToSleep();
  // Discards everything that waits or arrives later.
  void Close();

 private:
  static void Discard(Item& item);
  void Wake();

  const int wake_fd_;
  std::atomic<Item*> head_{nullptr};  // newest first
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> has_tasks_{false};
  std::mutex mutex_;  // guards tasks_ and closed_
  std::vector<Task> tasks_;
  bool closed_ = false;
  std::vector<Task> running_;  // the loop's, swapped with tasks_
};

}  // namespace kvorum::rpc
