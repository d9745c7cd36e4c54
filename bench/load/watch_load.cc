#include "bench/load/watch_load.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "bench/load/http2_connection.h"
#include "bench/load/request.h"
#include "bench/load/watch_connection.h"

namespace kvorum::bench {
namespace {

constexpr std::size_t kTimeDigits = 16;  // of the value: the time when its put began, in hex
constexpr double kSettleSeconds = 1.5;
constexpr double kPatienceSeconds = 60;

class WatchLoad final : public WatchObserver, public CallObserver {
 public:
  explicit WatchLoad(const WatchLoadOptions& options)
      : options_(options),
        request_({.operation = Operation::kPut,
                  .key_size = options.key_size,
                  .value_size = options.value_size}),
        value_(options.value_size, 'v'),
        random_(1) {}
  ~WatchLoad() override {
    if (epoll_ >= 0) close(epoll_);
  }
  WatchLoad(const WatchLoad&) = delete;
  WatchLoad& operator=(const WatchLoad&) = delete;

  Result<WatchLoadReport> Run();

  void OnCreated() override { ++created_; }
  void OnEvents(std::size_t events, std::string_view last_value) override {
    report_.events += events;
    ++report_.messages;
    std::uint64_t start = 0;
    if (last_value.size() < kTimeDigits) return;
    std::from_chars(last_value.data(), last_value.data() + kTimeDigits, start, 16);
    if (start != 0) report_.latency.Record(NowNanos() - start);
  }
  void OnAnswer(std::uint64_t start_nanos, std::size_t) override {
    ++report_.puts;
    report_.put_latency.Record(NowNanos() - start_nanos);
  }
  void OnFailure(std::uint64_t, std::string_view reason) override { failure_ = reason; }

 private:
  Result<void> OpenWatchers();
  Result<void> RunFor(double seconds, bool puts);
  Result<void> PutWhatIsDue();
  Result<void> Step(int wait_ms);
  Result<std::uint64_t> ServerBytes() const;

  const WatchLoadOptions options_;
  const RequestTemplate request_;
  std::string value_;
  Rng random_;
  int epoll_ = -1;
  std::vector<std::unique_ptr<WatchConnection>> watches_;
  std::unique_ptr<Http2Connection> puts_;
  std::uint64_t next_put_nanos_ = 0;
  std::size_t created_ = 0;
  std::string failure_;
  WatchLoadReport report_;
};

Result<std::uint64_t> WatchLoad::ServerBytes() const {
  if (options_.server_pid == 0) return 0;
  KV_TRY(const ProcessStats stats, ReadProcessStats(options_.server_pid));
  return stats.rss_anon_bytes;
}

Result<void> WatchLoad::OpenWatchers() {
  for (std::size_t i = 0; i < options_.connections; ++i) {
    KV_TRY(watches_.emplace_back(), WatchConnection::Open(options_.endpoint, *this));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i + 1;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, watches_.back()->fd(), &event);
  }
  const auto open = [&](std::size_t watchers) -> Result<void> {
    std::uint64_t first_key = options_.idle ? std::uint64_t{1} << 40 : 0;
    for (std::size_t i = 0; i < options_.streams; ++i) {
      KV_RETURN_IF_ERROR(
          watches_[i % watches_.size()]->OpenStream({.watchers = watchers,
                                                     .own_keys = options_.own_keys,
                                                     .first_key = first_key,
                                                     .key_size = options_.key_size,
                                                     .prefix = options_.idle ? "idle" : ""}));
      first_key += watchers;
    }
    return {};
  };
  KV_TRY(report_.before_bytes, ServerBytes());
  KV_RETURN_IF_ERROR(open(options_.watchers_per_stream));
  const std::size_t all = options_.streams * options_.watchers_per_stream;
  const std::uint64_t give_up = NowNanos() + Nanos(kPatienceSeconds);
  while (created_ < all) {
    KV_RETURN_IF_ERROR(Step(50));
    if (NowNanos() > give_up) return Fail(Code::kDeadlineExceeded, "watchers are not created");
  }
  KV_RETURN_IF_ERROR(RunFor(kSettleSeconds, /*puts=*/false));
  KV_TRY(report_.with_watchers_bytes, ServerBytes());
  return {};
}

Result<void> WatchLoad::PutWhatIsDue() {
  const std::uint64_t now = NowNanos();
  while (puts_->CanCall(request_.size_bytes())) {
    if (options_.puts_per_second > 0) {
      if (now < next_put_nanos_) break;
      next_put_nanos_ += Nanos(1 / options_.puts_per_second);
    } else if (puts_->outstanding() >= options_.in_flight) {
      break;
    }
    std::array<char, kTimeDigits + 1> digits;
    digits.fill('0');
    std::array<char, kTimeDigits> hex;
    const auto end = std::to_chars(hex.data(), hex.data() + hex.size(), now, 16).ptr;
    std::copy(hex.data(), end,
              digits.data() + (kTimeDigits - static_cast<std::size_t>(end - hex.data())));
    std::copy_n(digits.data(), std::min(kTimeDigits, value_.size()), value_.data());
    puts_->Call(request_, random_.Below(options_.key_space), value_.data(), now);
  }
  KV_TRY(const bool sent, puts_->Flush());
  static_cast<void>(sent);  // the rest goes with the next
  if (!failure_.empty()) return Fail(Code::kInternal, "a put failed: " + failure_);
  return {};
}

Result<void> WatchLoad::Step(int wait_ms) {
  std::array<epoll_event, 64> events;
  const int ready = epoll_wait(epoll_, events.data(), events.size(), wait_ms);
  for (int i = 0; i < ready; ++i) {
    const std::uint64_t which = events[static_cast<std::size_t>(i)].data.u64;
    if (which == 0) {
      KV_RETURN_IF_ERROR(puts_->Receive(*this));
    } else {
      KV_RETURN_IF_ERROR(watches_[which - 1]->Receive());
    }
  }
  return {};
}

Result<void> WatchLoad::RunFor(double seconds, bool puts) {
  const std::uint64_t end = NowNanos() + Nanos(seconds);
  next_put_nanos_ = NowNanos();
  while (NowNanos() < end) {
    if (puts) KV_RETURN_IF_ERROR(PutWhatIsDue());
    const bool paced = puts && options_.puts_per_second > 0;
    KV_RETURN_IF_ERROR(Step(paced ? 1 : 20));
  }
  return {};
}

Result<WatchLoadReport> WatchLoad::Run() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  KV_TRY(puts_, Http2Connection::Open(options_.endpoint, request_.path()));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, puts_->fd(), &event);
  KV_RETURN_IF_ERROR(OpenWatchers());
  KV_RETURN_IF_ERROR(RunFor(options_.warmup_seconds, /*puts=*/true));
  report_.events = 0;
  report_.messages = 0;
  report_.puts = 0;
  report_.latency = {};
  report_.put_latency = {};
  const std::uint64_t start = NowNanos();
  const std::uint64_t own = OwnCpuNanos();
  ProcessStats before;
  if (options_.server_pid != 0) {
    KV_TRY(before, ReadProcessStats(options_.server_pid));
  }
  KV_RETURN_IF_ERROR(RunFor(options_.seconds, /*puts=*/true));
  report_.elapsed_nanos = NowNanos() - start;
  report_.client_cpu_nanos = OwnCpuNanos() - own;
  if (options_.server_pid != 0) {
    KV_TRY(const ProcessStats after, ReadProcessStats(options_.server_pid));
    report_.server_cpu_nanos = after.cpu_nanos - before.cpu_nanos;
  }
  return report_;
}

}  // namespace

Result<WatchLoadReport> RunWatchLoad(const WatchLoadOptions& options) {
  WatchLoad load(options);
  return load.Run();
}

}  // namespace kvorum::bench
