#include "bench/load/hostile_load.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <deque>
#include <optional>
#include <sstream>
#include <utility>

#include "bench/load/connect.h"
#include "bench/load/process_stats.h"

namespace kvorum::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTurn{20};
constexpr int kReceiveBufferBytes = 4096;
constexpr int kBacklog = 256;  // events taken at once

std::optional<std::string> FromHex(std::string_view text) {
  if (text == "-") return std::string();
  if (text.empty() || text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    const char* end = text.data() + i + 2;
    if (std::from_chars(text.data() + i, end, value, 16).ptr != end) return std::nullopt;
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

class Attack {
 public:
  explicit Attack(const HostileOptions& options)
      : options_(options), epoll_(epoll_create1(EPOLL_CLOEXEC)), slots_(options.connections) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].kind = &options_.kinds[i % options_.kinds.size()];
      to_open_.push_back(i);
    }
  }
  Attack(const Attack&) = delete;
  Attack& operator=(const Attack&) = delete;
  ~Attack() {
    for (const Slot& slot : slots_) {
      if (slot.fd >= 0) close(slot.fd);
    }
    close(epoll_);
  }

  Result<void> Run(int stop, const std::function<void()>& on_all_open) {
    pollfd stopped{.fd = stop, .events = POLLIN, .revents = 0};
    Clock::time_point last = Clock::now();
    bool told = false;
    while (poll(&stopped, 1, static_cast<int>(kTurn.count())) == 0) {
      const Clock::time_point now = Clock::now();
      const double seconds = std::chrono::duration<double>(now - std::exchange(last, now)).count();
      if (auto opened = OpenSome(seconds); !opened.has_value()) return opened;
      // Those that the server ends at once must not put it off for ever.
      if (report.opened >= slots_.size() && !std::exchange(told, true)) on_all_open();
      LookForEnds();
      TrickleSome(seconds);
    }
    return {};
  }

  HostileReport report;

 private:
  struct Slot {
    const HostileKind* kind = nullptr;
    int fd = -1;
    std::size_t sent = 0;  // bytes of its trickle
  };

  Result<void> OpenSome(double seconds) {
    const double rate =
        report.opened < slots_.size() ? options_.opened_per_second : options_.reopened_per_second;
    may_open_ = std::min(may_open_ + seconds * rate, 200.0);
    for (; may_open_ >= 1 && !to_open_.empty(); --may_open_) {
      const std::size_t place = to_open_.front();
      KV_TRY(slots_[place].fd, ConnectSocket(options_.endpoint));
      to_open_.pop_front();
      Begin(place);
    }
    return {};
  }

  void Begin(std::size_t place) {
    Slot& slot = slots_[place];
    slot.sent = 0;
    ++report.opened;
    setsockopt(slot.fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes, sizeof kReceiveBufferBytes);
    Send(slot, slot.kind->first);
    if (slot.kind->then == HostileKind::Then::kHalfCloses) shutdown(slot.fd, SHUT_WR);
    // The end alone is looked for, and once: unread answers wake no thread.
    epoll_event event{};
    event.events = EPOLLRDHUP | EPOLLET;
    event.data.u64 = place;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, slot.fd, &event);
  }

  static void Send(const Slot& slot, std::string_view bytes) {
    // A full socket loses them: the server has stopped reading, which is as slow as can be.
    if (!bytes.empty() &&
        send(slot.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
      return;
  }

  void LookForEnds() {
    std::array<epoll_event, kBacklog> events{};
    const int count = epoll_wait(epoll_, events.data(), kBacklog, 0);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      const std::uint64_t number = event.data.u64;  // a copy: the kernel's struct is packed
      Slot& slot = slots_[number];
      // A half that only we have closed is not the end.
      if (slot.fd < 0 || (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0) continue;
      close(std::exchange(slot.fd, -1));
      ++report.ended;
      to_open_.push_back(number);
    }
  }

  void TrickleSome(double seconds) {
    const auto all = static_cast<double>(slots_.size());
    may_trickle_ = std::min(may_trickle_ + seconds * all / options_.trickle_seconds, all);
    for (; may_trickle_ >= 1; --may_trickle_) {
      Slot& slot = slots_[next_to_trickle_++ % slots_.size()];
      const std::string& more = slot.kind->more;
      if (slot.fd < 0 || more.empty()) continue;
      if (slot.kind->then == HostileKind::Then::kSaysOnce) {
        if (slot.sent++ == 0) Send(slot, more);
      } else {
        Send(slot, std::string_view(more).substr(slot.sent++ % more.size(), 1));
      }
    }
  }

  const HostileOptions& options_;
  const int epoll_;
  std::vector<Slot> slots_;
  std::deque<std::size_t> to_open_;
  double may_open_ = 0;
  double may_trickle_ = 0;
  std::size_t next_to_trickle_ = 0;
};

}  // namespace

Result<std::vector<HostileKind>> ParseHostileKinds(std::istream& lines) {
  using enum HostileKind::Then;
  std::vector<HostileKind> kinds;
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string then;
    std::string first;
    std::string more;
    words >> then >> first >> more;
    auto first_bytes = FromHex(first);
    auto more_bytes = FromHex(more);
    const bool is_known = then == "trickles" || then == "says-once" || then == "half-closes";
    if (!is_known || !first_bytes || !more_bytes)
      return Fail(Code::kInvalidArgument, fmt::format("no kind of connection: {}", line));
    kinds.push_back({.first = *std::move(first_bytes),
                     .then = then == "trickles"    ? kTrickles
                             : then == "says-once" ? kSaysOnce
                                                   : kHalfCloses,
                     .more = *std::move(more_bytes)});
  }
  if (kinds.empty()) return Fail(Code::kInvalidArgument, "no kinds of connections");
  return kinds;
}

Result<HostileReport> RunHostile(const HostileOptions& options, int stop,
                                 const std::function<void()>& on_all_open) {
  Attack attack(options);
  if (auto run = attack.Run(stop, on_all_open); !run.has_value())
    return std::unexpected(run.error());
  attack.report.cpu_nanos = OwnCpuNanos();
  return attack.report;
}

HostileReport RunBurner(double share, int stop) {
  pollfd stopped{.fd = stop, .events = POLLIN, .revents = 0};
  const auto burnt = std::chrono::duration_cast<Clock::duration>(kTurn * share);
  const auto slept = std::chrono::duration_cast<std::chrono::milliseconds>(kTurn - burnt);
  while (poll(&stopped, 1, static_cast<int>(slept.count())) == 0) {
    const Clock::time_point end = Clock::now() + burnt;
    while (Clock::now() < end) continue;
  }
  return {.opened = 0, .ended = 0, .cpu_nanos = OwnCpuNanos()};
}

}  // namespace kvorum::bench
