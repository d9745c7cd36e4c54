// Work that gives way at once. A thread that computes keeps its processor until its slice has
// passed, some milliseconds, and a thread that wakes for a client meanwhile waits for it. So a
// thread that works in the background hands the computing, piece by piece, to an idle thread beside
// it, which the kernel takes the processor from as soon as any other thread wants it.
//
// No other thread starves behind an idle one:
// - A piece takes no lock that others take, so that none is held by a thread without a processor.
//   The background thread takes before it what the piece needs, and gives it back afterwards.
// - The background thread waits for its piece. When the idle thread was long without a processor,
//   the background thread does the next pieces itself, for as long as it has waited: all its work
//   ends within a few times the time that it would take on the background thread alone.
//
// This needs no privilege. Raising an idle thread while a client waits for it would need one: a
// process without CAP_SYS_NICE may lower a thread, and not raise it again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <string_view>
#include <thread>
#include <type_traits>

#include "base/clock.h"
#include "base/executor.h"

namespace kvorum {

// The means by which the kernel makes a thread give way.
enum class GivingWay : std::uint8_t {
  kUnknown,     // no thread has asked yet
  kShortBatch,  // SCHED_BATCH, the lowest priority, the shortest slice (Linux 6.12 and later)
  kIdle,        // SCHED_IDLE
  kNice,        // the lowest priority
  kNot,         // everything was refused: the thread is like any other
};
std::string_view Name(GivingWay way);
// The kernel's last answer to an idle thread of this process.
GivingWay WayOfIdleThreads();
// For the calling thread, for good: it may not be able to come back.
GivingWay GiveWay();

// Runs pieces for one background thread. Used by that thread only.
class IdleThread {
 public:
  explicit IdleThread(std::string_view name);
  ~IdleThread();
  IdleThread(const IdleThread&) = delete;
  IdleThread& operator=(const IdleThread&) = delete;

  using Piece = void (*)(void* argument);
  // Returns when the piece has ended, here or on the idle thread.
  void Run(Piece piece, void* argument);

 private:
  void Serve();

  Piece piece_ = nullptr;  // written while the other thread waits; null: the thread ends
  void* argument_ = nullptr;
  std::binary_semaphore begins_{0};
  std::binary_semaphore has_ended_{0};
  TimePoint here_until_;
  std::thread thread_;
};

// A thread with an idle one, named after it, for what its tasks give to RunAside. No task is lent.
class BackgroundExecutor final : public ThreadExecutor {
 public:
  explicit BackgroundExecutor(std::string_view name);
  ~BackgroundExecutor() override;
  void Lend(Task task) override { Post(std::move(task)); }

 private:
  IdleThread idle_;
};

// Runs a short piece of a background thread's work on its idle thread, and everywhere else here
// and now. The caller waits. A piece takes no lock that a thread which serves clients takes, and
// has about a millisecond of work.
void RunAside(IdleThread::Piece piece, void* argument);
template <class Work>
void RunAside(Work&& work) {
  RunAside([](void* argument) { (*static_cast<std::remove_reference_t<Work>*>(argument))(); },
           std::addressof(work));
}

}  // namespace kvorum
