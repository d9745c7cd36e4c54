#include "base/background/aside.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace kvorum {
namespace {

// The kernel's struct sched_attr, of which libc has no declaration; its first version, which every
// kernel takes.
struct SchedAttributes {
  std::uint32_t size_bytes = sizeof(SchedAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;  // of SCHED_OTHER and SCHED_BATCH: the slice
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

constexpr int kLowestPriority = 19;
constexpr std::uint64_t kShortestSliceNs = 100'000;
// Longer than a piece and what else the idle thread may wait for, such as a page from the disk.
constexpr Duration kLongWait = std::chrono::milliseconds(10);

std::atomic<GivingWay> way_of_idle_threads = GivingWay::kUnknown;
thread_local IdleThread* idle_of_this_thread = nullptr;

// Before Linux 6.12 the call sets the policy and takes no notice of the slice.
bool BecomeShortBatch() {
  SchedAttributes attributes;
  attributes.policy = SCHED_BATCH;
  attributes.nice = kLowestPriority;
  attributes.runtime_ns = kShortestSliceNs;
  if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0) return false;
  SchedAttributes set;
  return syscall(SYS_sched_getattr, 0, &set, sizeof(set), 0) == 0 &&
         set.runtime_ns == kShortestSliceNs;
}

GivingWay TryToGiveWay() {
  if (BecomeShortBatch()) return GivingWay::kShortBatch;
  const sched_param none{};
  if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) == 0) return GivingWay::kIdle;
  // On Linux this is the calling thread's alone.
  const bool is_nice = setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowestPriority) == 0;
  return is_nice ? GivingWay::kNice : GivingWay::kNot;
}

}  // namespace

std::string_view Name(GivingWay way) {
  switch (way) {
    case GivingWay::kUnknown:
      return "unknown";
    case GivingWay::kShortBatch:
      return "SCHED_BATCH with the shortest slice";
    case GivingWay::kIdle:
      return "SCHED_IDLE";
    case GivingWay::kNice:
      return "nice";
    case GivingWay::kNot:
      return "refused";
  }
  return "";
}

GivingWay WayOfIdleThreads() { return way_of_idle_threads.load(std::memory_order_relaxed); }

GivingWay GiveWay() {
  const GivingWay way = TryToGiveWay();
  way_of_idle_threads.store(way, std::memory_order_relaxed);
  return way;
}

IdleThread::IdleThread(std::string_view name) {
  thread_ = std::thread([this, name = std::string(name.substr(0, 15))] {
    pthread_setname_np(pthread_self(), name.c_str());
    GiveWay();
    Serve();
  });
}

IdleThread::~IdleThread() {
  piece_ = nullptr;
  begins_.release();
  thread_.join();
}

void IdleThread::Serve() {
  while (true) {
    begins_.acquire();
    if (piece_ == nullptr) return;
    piece_(argument_);
    has_ended_.release();
  }
}

void IdleThread::Run(Piece piece, void* argument) {
  const TimePoint begin = SystemClock().Now();
  if (begin < here_until_) return piece(argument);
  piece_ = piece;
  argument_ = argument;
  begins_.release();
  has_ended_.acquire();
  const TimePoint end = SystemClock().Now();
  if (end - begin > kLongWait) here_until_ = end + (end - begin);
}

BackgroundExecutor::BackgroundExecutor(std::string_view name)
    : ThreadExecutor(name), idle_(std::string(name.substr(0, 10)) + "-idle") {
  Post([this] { idle_of_this_thread = &idle_; });
}

BackgroundExecutor::~BackgroundExecutor() { Stop(); }

void RunAside(IdleThread::Piece piece, void* argument) {
  if (idle_of_this_thread == nullptr) return piece(argument);
  idle_of_this_thread->Run(piece, argument);
}

}  // namespace kvorum
