#include "tools/run/load_run.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "client/error_text.h"
#include "proto/rpc.pb.h"

namespace kvorum::ctl {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A request that gets no answer must not keep the command from its end.
constexpr std::chrono::seconds kRequestTimeout(30);

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// The part of a run that its clients share.
class SharedLoad {
 public:
  SharedLoad(const LoadPlan& plan, std::size_t clients, const std::stop_token& stop)
      : plan_(plan), stop_(stop), start_(SteadyClock::now()) {
    if (plan.per_second) pacer_.emplace(*plan.per_second, clients, start_);
  }

  // The next request, at its time; nothing when there is none any more.
  std::optional<etcdserverpb::PutRequest> Next() {
    if (plan_.requests && taken_.fetch_add(1, std::memory_order_relaxed) >= *plan_.requests)
      return std::nullopt;
    if (!WaitForTurn()) return std::nullopt;
    etcdserverpb::PutRequest put;
    put.set_value(plan_.value);
    const std::lock_guard lock(mutex_);
    put.set_key(plan_.key());
    return put;
  }

  void Add(const LoadResults& results) {
    const std::lock_guard lock(mutex_);
    results_.Merge(results);
  }

  LoadResults Finish() {
    results_.total_s = Seconds(SteadyClock::now() - start_);
    return results_;
  }

 private:
  bool WaitForTurn() {
    if (stop_.stop_requested()) return false;
    const auto now = SteadyClock::now();
    const auto at = pacer_ ? pacer_->Next(now) : now;
    if (plan_.duration && at >= start_ + *plan_.duration) return false;
    if (at <= now) return true;
    std::unique_lock lock(mutex_);
    return !wake_.wait_until(lock, stop_, at, [this] { return stop_.stop_requested(); });
  }

  const LoadPlan& plan_;
  const std::stop_token stop_;
  const SteadyClock::time_point start_;
  std::optional<Pacer> pacer_;
  std::atomic<std::uint64_t> taken_{0};
  std::mutex mutex_;  // guards the key's maker and results_
  std::condition_variable_any wake_;
  LoadResults results_;
};

void RunClient(client::Client& client, SharedLoad& load, std::atomic<std::uint64_t>& done) {
  LoadResults results;
  while (const auto put = load.Next()) {
    const auto start = SteadyClock::now();
    const auto answer = client.Put(*put, client::CallOptions::Within(kRequestTimeout));
    if (answer)
      results.Add(Seconds(SteadyClock::now() - start));
    else
      results.Add(client::ErrorText(answer.error()));
    done.fetch_add(1, std::memory_order_relaxed);
  }
  load.Add(results);
}

}  // namespace

double LoadResults::Deviation() const {
  return std::sqrt(squares_ / static_cast<double>(succeeded));
}

// Welford's method.
void LoadResults::Add(double latency_s) {
  ++succeeded;
  slowest_s = std::max(slowest_s, latency_s);
  const double before = latency_s - mean_s_;
  mean_s_ += before / static_cast<double>(succeeded);
  squares_ += before * (latency_s - mean_s_);
}

void LoadResults::Merge(const LoadResults& other) {
  for (const auto& [text, count] : other.errors) errors[text] += count;
  if (other.succeeded == 0) return;
  const auto ours = static_cast<double>(succeeded);
  const auto theirs = static_cast<double>(other.succeeded);
  const double distance = other.mean_s_ - mean_s_;
  squares_ += other.squares_ + distance * distance * ours * theirs / (ours + theirs);
  mean_s_ += distance * theirs / (ours + theirs);
  succeeded += other.succeeded;
  slowest_s = std::max(slowest_s, other.slowest_s);
}

Pacer::Pacer(double per_second, std::size_t clients, TimePoint start)
    : interval_(static_cast<std::int64_t>(1e9 / per_second)),
      most_behind_(interval_ * static_cast<std::int64_t>(clients)),
      next_(start) {}

Pacer::TimePoint Pacer::Next(TimePoint now) {
  const std::lock_guard lock(mutex_);
  const TimePoint at = std::max(next_, now - most_behind_);
  next_ = at + interval_;
  return at;
}

LoadResults RunLoad(const std::vector<std::unique_ptr<client::Client>>& clients,
                    const LoadPlan& plan, const std::stop_token& stop,
                    std::atomic<std::uint64_t>& done) {
  SharedLoad load(plan, clients.size(), stop);
  {
    std::vector<std::jthread> threads;
    threads.reserve(clients.size());
    for (const auto& client : clients)
      threads.emplace_back([&] { RunClient(*client, load, done); });
  }
  return load.Finish();
}

}  // namespace kvorum::ctl
