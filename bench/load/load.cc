#include "bench/load/load.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "bench/load/http2_connection.h"

namespace kvorum::bench {
namespace {

constexpr int kWaitMs = 50;
constexpr std::uint64_t kMostPacedWait = 50'000'000;
constexpr std::uint64_t kDrainNanos = 10'000'000'000;
constexpr std::size_t kValuePoolBytes = 1 << 20;

RequestShape PutOf(RequestShape shape) {
  shape.operation = Operation::kPut;
  return shape;
}

// Chooses the key and the value of the next call.
class CallSource {
 public:
  explicit CallSource(const LoadOptions& options)
      : order_(options.order),
        first_(options.first_key),
        value_size_(options.shape.value_size),
        random_(options.seed) {
    const std::uint64_t page =
        options.shape.operation == Operation::kPage ? options.shape.page_limit : 0;
    // A page starts where a whole one follows.
    keys_ = options.key_space > page ? options.key_space - page : 1;
    pool_.resize(kValuePoolBytes + value_size_);
    for (char& byte : pool_) byte = static_cast<char>(random_());
  }

  std::uint64_t NextKey() {
    return first_ + (order_ == KeyOrder::kSequential ? next_++ % keys_ : random_.Below(keys_));
  }
  // No two values in a row are the same.
  const char* NextValue() {
    value_at_ = (value_at_ + 4093) % kValuePoolBytes;
    return pool_.data() + value_at_;
  }

 private:
  const KeyOrder order_;
  const std::uint64_t first_;
  const std::size_t value_size_;
  Rng random_;
  std::uint64_t keys_ = 1;
  std::uint64_t next_ = 0;
  std::vector<char> pool_;
  std::size_t value_at_ = 0;
};

class Load final : public CallObserver {
 public:
  explicit Load(const LoadOptions& options)
      : options_(options),
        request_(options.shape),
        put_(PutOf(options.shape)),
        chance_(options.seed),
        source_(options) {}
  ~Load() override {
    if (epoll_ >= 0) close(epoll_);
  }

  Result<LoadReport> Run();

  void OnAnswer(std::uint64_t start_nanos, std::size_t answer_bytes) override {
    if (!measuring_) return;
    report_.latency.Record(now_ - start_nanos);
    report_.answer_bytes += answer_bytes;
  }
  void OnFailure(std::uint64_t, std::string_view reason) override {
    if (report_.failures++ == 0) report_.first_failure = reason;
  }

 private:
  struct Lane {
    std::unique_ptr<Http2Connection> connection;
    bool waits_for_room = false;  // in epoll for EPOLLOUT too
  };

  Result<void> Connect();
  Result<void> ServeReady();
  Result<void> Refill(std::size_t lane_number);
  bool MayCall() const { return !draining_ && (options_.count == 0 || started_ < options_.count); }
  // True if one more call now is within the rate.
  bool IsDue() const {
    return options_.rate == 0 ||
           static_cast<double>(started_) < options_.rate * static_cast<double>(now_ - begun_) / 1e9;
  }
  std::size_t Outstanding() const;
  void Watch(std::size_t lane_number, int operation);
  Result<std::uint64_t> ServerCpu();

  const RequestTemplate& NextRequest(const Http2Connection& connection);
  int WaitForEvents(std::array<epoll_event, 64>& events);

  const LoadOptions options_;
  const RequestTemplate request_;
  const RequestTemplate put_;
  Rng chance_;
  CallSource source_;
  int epoll_ = -1;
  std::vector<Lane> lanes_;
  std::uint64_t begun_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t now_ = 0;  // of this wake-up
  bool measuring_ = false;
  bool draining_ = false;
  LoadReport report_;
};

Result<void> Load::Connect() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  lanes_.resize(options_.connections);
  KV_TRY(const TlsContext tls, MakeTlsContext(options_.tls));
  for (std::size_t number = 0; number < lanes_.size(); ++number) {
    const std::string& endpoint = options_.endpoints[number % options_.endpoints.size()];
    KV_TRY(lanes_[number].connection,
           Http2Connection::Open(endpoint, request_.path(), options_.token, tls));
    Watch(number, EPOLL_CTL_ADD);
  }
  return {};
}

void Load::Watch(std::size_t lane_number, int operation) {
  const Lane& lane = lanes_[lane_number];
  epoll_event event{};
  event.events = EPOLLIN | (lane.waits_for_room ? EPOLLOUT : 0U);
  event.data.u64 = lane_number;
  epoll_ctl(epoll_, operation, lane.connection->fd(), &event);
}

Result<void> Load::Refill(std::size_t lane_number) {
  Lane& lane = lanes_[lane_number];
  Http2Connection& connection = *lane.connection;
  while (connection.outstanding() < options_.streams && MayCall() && IsDue() &&
         connection.CanCall(std::max(request_.size_bytes(), put_.size_bytes()))) {
    connection.Call(NextRequest(connection), source_.NextKey(), source_.NextValue(), now_);
    ++started_;
  }
  KV_TRY(const bool all_sent, connection.Flush());
  if (lane.waits_for_room == all_sent) {
    lane.waits_for_room = !all_sent;
    Watch(lane_number, EPOLL_CTL_MOD);
  }
  return {};
}

const RequestTemplate& Load::NextRequest(const Http2Connection& connection) {
  constexpr std::uint64_t kParts = 1'000'000;
  const bool is_put = options_.put_part > 0 && !connection.is_new() &&
                      static_cast<double>(chance_.Below(kParts)) < options_.put_part * kParts;
  return is_put ? put_ : request_;
}

// With a rate, no longer than until the next call is due.
int Load::WaitForEvents(std::array<epoll_event, 64>& events) {
  const auto size = static_cast<int>(events.size());
  if (options_.rate == 0 || draining_) return epoll_wait(epoll_, events.data(), size, kWaitMs);
  std::uint64_t wait = kMostPacedWait;
  // A call that is due after a refill has found no room: an answer makes some.
  if (!IsDue()) {
    const std::uint64_t due = begun_ + Nanos(static_cast<double>(started_ + 1) / options_.rate);
    const std::uint64_t now = NowNanos();
    wait = std::min(wait, due > now ? due - now : 0);
  }
  const timespec limit{.tv_sec = 0, .tv_nsec = static_cast<long>(wait)};
  return epoll_pwait2(epoll_, events.data(), size, &limit, nullptr);
}

// Waits once and handles the events.
Result<void> Load::ServeReady() {
  std::array<epoll_event, 64> events;
  const int ready = WaitForEvents(events);
  if (ready < 0 && errno != EINTR) return Fail(Code::kInternal, "epoll_wait failed");
  for (int i = 0; i < ready; ++i) {
    const std::size_t number = events[static_cast<std::size_t>(i)].data.u64;
    now_ = NowNanos();
    KV_RETURN_IF_ERROR(lanes_[number].connection->Receive(*this));
    KV_RETURN_IF_ERROR(Refill(number));
  }
  if (ready == 0) now_ = NowNanos();
  if (options_.rate == 0) return {};
  for (std::size_t number = 0; number < lanes_.size(); ++number) KV_RETURN_IF_ERROR(Refill(number));
  return {};
}

std::size_t Load::Outstanding() const {
  std::size_t outstanding = 0;
  for (const Lane& lane : lanes_) outstanding += lane.connection->outstanding();
  return outstanding;
}

Result<std::uint64_t> Load::ServerCpu() {
  report_.server = {};
  for (const pid_t pid : options_.server_pids) {
    KV_TRY(const ProcessStats stats, ReadProcessStats(pid));
    report_.server += stats;
  }
  return report_.server.cpu_nanos;
}

Result<LoadReport> Load::Run() {
  if (request_.size_bytes() > Http2Connection::kMaxMessageBytes) {
    return Fail(Code::kInvalidArgument,
                fmt::format("a request of {} bytes does not fit into a stream's window of {}",
                            request_.size_bytes(), Http2Connection::kMaxMessageBytes));
  }
  KV_RETURN_IF_ERROR(Connect());
  // Waits for the next call that is due end then, and not up to 50 us later.
  if (options_.rate != 0) prctl(PR_SET_TIMERSLACK, 1);
  begun_ = now_ = NowNanos();
  for (std::size_t number = 0; number < lanes_.size(); ++number) {
    KV_RETURN_IF_ERROR(Refill(number));
  }
  const bool by_count = options_.count != 0;
  const std::uint64_t warm_at = now_ + (by_count ? 0 : Nanos(options_.warmup_seconds));
  while (now_ < warm_at) KV_RETURN_IF_ERROR(ServeReady());

  measuring_ = true;
  const std::uint64_t begin = NowNanos();
  const std::uint64_t end = begin + Nanos(options_.seconds);
  const std::uint64_t client_cpu = OwnCpuNanos();
  KV_TRY(const std::uint64_t server_cpu, ServerCpu());
  if (by_count) {
    while (MayCall() || Outstanding() > 0) KV_RETURN_IF_ERROR(ServeReady());
  } else {
    while (now_ < end) KV_RETURN_IF_ERROR(ServeReady());
  }
  report_.elapsed_nanos = NowNanos() - begin;
  measuring_ = false;
  report_.client_cpu_nanos = OwnCpuNanos() - client_cpu;
  KV_TRY(const std::uint64_t server_cpu_end, ServerCpu());
  report_.server_cpu_nanos = server_cpu_end - server_cpu;

  // Calls in flight end before the connections do, so that the next run meets an idle server.
  draining_ = true;
  const std::uint64_t drained_by = NowNanos() + kDrainNanos;
  while (Outstanding() > 0 && now_ < drained_by) KV_RETURN_IF_ERROR(ServeReady());
  return report_;
}

}  // namespace

Result<LoadReport> RunLoad(const LoadOptions& options) { return Load(options).Run(); }

}  // namespace kvorum::bench
