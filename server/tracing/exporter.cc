#include "server/tracing/exporter.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include "base/log/logging.h"
#include "server/tracing/collector_address.h"

namespace kvorum::server::tracing {
namespace {

constexpr Duration kFirstRetry = std::chrono::seconds(5);
constexpr Duration kLogInterval = std::chrono::minutes(1);

bool MayPass(Code code) {
  constexpr std::array kCodes{Code::kCanceled,   Code::kDeadlineExceeded, Code::kAborted,
                              Code::kOutOfRange, Code::kUnavailable,      Code::kDataLoss};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

}  // namespace

std::optional<Duration> RetryDelay(const Error& error, int attempt, Duration left, Rng& rng) {
  if (!MayPass(error.code)) return std::nullopt;
  Duration delay = kFirstRetry;
  for (int i = 0; i < attempt; ++i) delay = delay * 3 / 2;
  // Half of it to one and a half: members do not come back all at once.
  const auto span_ns = static_cast<std::uint64_t>(delay.count());
  delay = delay / 2 + Duration(static_cast<std::int64_t>(rng.Below(span_ns)));
  if (delay >= left) return std::nullopt;
  return delay;
}

Exporter::Exporter(std::string address, Resource resource, ExportSettings settings)
    : address_(std::move(address)),
      resource_(std::move(resource)),
      settings_(std::move(settings)),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      connection_(ParseCollectorAddress(address_), settings_.metadata),
      rng_(EntropySeed()),
      thread_([this] {
        pthread_setname_np(pthread_self(), "otlp");
        Run();
      }) {}

Exporter::~Exporter() {
  Stop(Duration::zero());
  close(wake_fd_);
}

void Exporter::Add(std::unique_ptr<Span> span) {
  if (queue_.Push(std::move(span))) eventfd_write(wake_fd_, 1);
}

void Exporter::Stop(Duration limit) {
  if (!thread_.joinable()) return;
  stop_limit_ns_.store((SystemClock().Now() + limit).ns, std::memory_order_release);
  eventfd_write(wake_fd_, 1);
  thread_.join();
}

TimePoint Exporter::LimitOf(TimePoint own) const {
  return stopping() ? std::min(own, TimePoint{stop_limit_ns_.load(std::memory_order_acquire)})
                    : own;
}

void Exporter::Run() {
  TimePoint due = SystemClock().Now() + settings_.batch_time;
  while (!stopping()) {
    Sleep(due);
    ExportReady(settings_.batch_spans);
    const TimePoint now = SystemClock().Now();
    if (now < due) continue;
    ExportReady(1);
    LogLosses(now);
    due = SystemClock().Now() + settings_.batch_time;
  }
  ExportReady(1);
  next_log_ = {};
  LogLosses(SystemClock().Now());
}

void Exporter::Sleep(TimePoint until) {
  const Duration left = until - SystemClock().Now();
  if (left <= Duration::zero()) return;
  // A negative descriptor is not watched.
  std::array<pollfd, 2> watched{pollfd{wake_fd_, POLLIN, 0}, pollfd{connection_.fd(), POLLIN, 0}};
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  if (poll(watched.data(), watched.size(), static_cast<int>(millis)) <= 0) return;
  if (watched[0].revents != 0) {
    eventfd_t ignored = 0;
    eventfd_read(wake_fd_, &ignored);
  }
  if (watched[1].revents != 0) connection_.Idle();
}

void Exporter::ExportReady(std::size_t at_least) {
  while (true) {
    queue_.Take(ready_);
    if (ready_.size() < at_least) return;
    const std::size_t count = std::min(ready_.size(), settings_.batch_spans);
    std::vector<std::unique_ptr<Span>> batch(
        std::make_move_iterator(ready_.begin()),
        std::make_move_iterator(ready_.begin() + static_cast<std::ptrdiff_t>(count)));
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(count));
    Export(batch);
  }
}

void Exporter::Export(Batch batch) {
  if (auto sent = Send(batch); sent.has_value()) {
    exported_.Add(*sent);
    queue_.CountDropped(batch.size() - *sent);
  } else {
    queue_.CountDropped(batch.size());
    last_error_ = std::move(sent).error().message;
  }
  for (const auto& span : batch) queue_.Release(*span);
}

Result<std::size_t> Exporter::Send(Batch batch) {
  const std::string message = EncodeExport(resource_, batch);
  const TimePoint end = SystemClock().Now() + settings_.export_time;
  const rpc::WaitLimit limit(end, [this, end] { return LimitOf(end); }, wake_fd_);
  for (int attempt = 0;; ++attempt) {
    auto answer = connection_.Call(kExportPath, message, limit);
    if (answer.has_value()) {
      Rejection rejection = DecodeExportAnswer(*answer);
      if (rejection.spans <= 0) return batch.size();
      last_error_ = std::move(rejection.reason);
      return batch.size() - std::min(batch.size(), static_cast<std::size_t>(rejection.spans));
    }
    const auto delay = RetryDelay(answer.error(), attempt, limit.Now() - SystemClock().Now(), rng_);
    if (!delay.has_value() || stopping()) return Fail(std::move(answer).error());
    const TimePoint again = SystemClock().Now() + *delay;
    while (SystemClock().Now() < again && !stopping()) Sleep(again);
  }
}

void Exporter::LogLosses(TimePoint now) {
  const std::uint64_t dropped = queue_.dropped();
  if (dropped == logged_dropped_ || now < next_log_) return;
  KV_WARN("spans could not be exported", {"address", address_},
          {"spans", dropped - std::exchange(logged_dropped_, dropped)},
          {"error", last_error_.empty() ? "too many at a time" : last_error_});
  last_error_.clear();
  next_log_ = now + kLogInterval;
}

}  // namespace kvorum::server::tracing
