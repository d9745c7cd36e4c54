#include "server/metrics/cpu_profiler.h"

#include <execinfo.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "base/text/parse_number.h"

namespace kvorum::server {
namespace {

constexpr std::chrono::nanoseconds kSamplePeriod = std::chrono::milliseconds(10);
constexpr std::size_t kSlots = 4'096;
constexpr std::size_t kFrames = 64;
// The handler's own, and the one that returns from the signal.
constexpr std::size_t kHandlerFrames = 8;
constexpr std::size_t kMaxStacks = 16'384;

std::uintptr_t ExecutedAddress(const void* context) {
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#else
  return static_cast<std::uintptr_t>(machine.pc);
#endif
}

// The clock of a thread's processor time, as the kernel numbers it.
clockid_t ClockOf(pid_t thread) {
  constexpr unsigned kPerThread = 4;
  constexpr unsigned kScheduled = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kPerThread | kScheduled);
}

std::vector<pid_t> Threads() {
  std::vector<pid_t> threads;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    if (const auto thread = ParseNumber<pid_t>(entry.path().filename().string()))
      threads.push_back(*thread);
  }
  return threads;
}

}  // namespace

// Filled by signal handlers, emptied by the profiler's thread. A slot belongs to the thread that
// changed its state from kFree or kFull.
struct CpuProfiler::Ring {
  enum State : std::uint8_t { kFree, kTaken, kFull };
  struct Slot {
    std::atomic<State> state{kFree};
    std::size_t depth = 0;
    std::array<void*, kFrames> frames;
  };

  static void OnSignal(int number, siginfo_t* info, void* context);
  void Add(const void* context);

  std::array<Slot, kSlots> slots;
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> lost{0};

  // Null while no profile is taken; a handler that has counted itself in may use what it has read.
  static inline std::atomic<Ring*> current{nullptr};
  static inline std::atomic<int> inside{0};
  static inline std::atomic<bool> is_claimed{false};
};

void CpuProfiler::Ring::OnSignal(int, siginfo_t*, void* context) {
  const int kept = errno;
  inside.fetch_add(1);
  if (Ring* ring = current.load(); ring != nullptr) ring->Add(context);
  inside.fetch_sub(1);
  errno = kept;
}

void CpuProfiler::Ring::Add(const void* context) {
  Slot& slot = slots[next.fetch_add(1, std::memory_order_relaxed) % kSlots];
  State expected = kFree;
  if (!slot.state.compare_exchange_strong(expected, kTaken, std::memory_order_acquire)) {
    lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::array<void*, kFrames + kHandlerFrames> frames;
  const auto count = static_cast<std::size_t>(
      std::max(backtrace(frames.data(), static_cast<int>(frames.size())), 0));
  void* const executed = reinterpret_cast<void*>(ExecutedAddress(context));
  const auto end = frames.begin() + static_cast<std::ptrdiff_t>(count);
  auto first = std::find(frames.begin(), end, executed);
  if (first == end) {
    // The unwinder did not get through the signal's frame: the address alone is still a sample.
    frames.front() = executed;
    first = frames.begin();
    slot.depth = 1;
  } else {
    slot.depth = std::min(static_cast<std::size_t>(end - first), kFrames);
  }
  std::copy_n(first, slot.depth, slot.frames.begin());
  slot.state.store(kFull, std::memory_order_release);
}

CpuProfiler::CpuProfiler() : ring_(std::make_unique<Ring>()) { profile_.period = kSamplePeriod; }

Result<std::unique_ptr<CpuProfiler>> CpuProfiler::Start() {
  if (Ring::is_claimed.exchange(true))
    return Fail(Code::kUnavailable, "cpu profiling already in use");
  // The first call loads the unwinder, which a handler must not do.
  std::array<void*, 2> frames;
  backtrace(frames.data(), static_cast<int>(frames.size()));
  struct sigaction action{};
  action.sa_sigaction = Ring::OnSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  // It stays for good: a signal on its way when the timers end would kill the process.
  sigaction(SIGPROF, &action, nullptr);
  std::unique_ptr<CpuProfiler> profiler(new CpuProfiler);
  Ring::current.store(profiler->ring_.get());
  profiler->WatchThreads();
  return profiler;
}

CpuProfiler::~CpuProfiler() {
  if (ring_ != nullptr) Stop();
}

void CpuProfiler::WatchThreads() {
  const std::vector<pid_t> threads = Threads();
  for (const pid_t thread : threads) {
    if (timers_.contains(thread)) continue;
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event._sigev_un._tid = thread;
    timer_t timer{};
    if (timer_create(ClockOf(thread), &event, &timer) != 0) continue;  // it has ended
    const timespec period{.tv_sec = 0, .tv_nsec = kSamplePeriod.count()};
    const itimerspec times{.it_interval = period, .it_value = period};
    timer_settime(timer, 0, &times, nullptr);
    timers_.emplace(thread, timer);
  }
  std::erase_if(timers_, [&threads](const auto& entry) {
    if (std::ranges::find(threads, entry.first) != threads.end()) return false;
    timer_delete(entry.second);
    return true;
  });
}

void CpuProfiler::Collect() {
  WatchThreads();
  EmptyRing();
}

void CpuProfiler::EmptyRing() {
  for (Ring::Slot& slot : ring_->slots) {
    if (slot.state.load(std::memory_order_acquire) != Ring::kFull) continue;
    CpuProfile::Stack stack;
    for (std::size_t i = 0; i < slot.depth; ++i)
      stack.push_back(reinterpret_cast<std::uintptr_t>(slot.frames[i]));
    slot.state.store(Ring::kFree, std::memory_order_release);
    const auto known = profile_.samples.find(stack);
    if (known != profile_.samples.end()) {
      ++known->second;
    } else if (profile_.samples.size() < kMaxStacks) {
      profile_.samples.emplace(std::move(stack), 1);
    } else {
      ++profile_.lost;
    }
  }
}

CpuProfile CpuProfiler::Stop() {
  for (const auto& [thread, timer] : timers_) timer_delete(timer);
  timers_.clear();
  Ring::current.store(nullptr);
  while (Ring::inside.load() != 0) std::this_thread::yield();
  EmptyRing();
  profile_.lost += ring_->lost.load(std::memory_order_relaxed);
  ring_.reset();
  Ring::is_claimed.store(false);
  return std::move(profile_);
}

}  // namespace kvorum::server
