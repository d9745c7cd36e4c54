// Puts by many clients at once, as fast as a rate allows, and what they measured.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/client.h"

namespace kvorum::ctl {

// Times in seconds; the mean and the deviation are kept without the single values.
struct LoadResults {
  std::uint64_t succeeded = 0;
  double slowest_s = 0;
  double total_s = 0;
  std::map<std::string, std::uint64_t> errors = {};  // how often by text

  double PerSecond() const { return static_cast<double>(succeeded) / total_s; }
  // The standard deviation; not a number without a success.
  double Deviation() const;

  void Add(double latency_s);
  void Add(const std::string& error) { ++errors[error]; }
  void Merge(const LoadResults& other);

 private:
  double mean_s_ = 0;
  double squares_ = 0;  // the sum of the squared distances from the mean
};

// Gives out the moments at which requests are to start: `per_second` of them, and as many at once
// as there are clients when all of them were held up. Thread-safe.
class Pacer {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  Pacer(double per_second, std::size_t clients, TimePoint start);

  // Each call gets a later moment than the one before, or the same.
  TimePoint Next(TimePoint now);

 private:
  const std::chrono::nanoseconds interval_;
  const std::chrono::nanoseconds most_behind_;
  std::mutex mutex_;
  TimePoint next_;
};

struct LoadPlan {
  std::function<std::string()> key;  // called by one client at a time
  std::string value;
  std::optional<double> per_second = {};       // nothing: as fast as they can
  std::optional<std::uint64_t> requests = {};  // nothing: until the time is up
  std::optional<std::chrono::nanoseconds> duration = {};
};

// Runs the plan, one thread a client, until it is done or stopped. `done` counts the requests.
LoadResults RunLoad(const std::vector<std::unique_ptr<client::Client>>& clients,
                    const LoadPlan& plan, const std::stop_token& stop,
                    std::atomic<std::uint64_t>& done);

}  // namespace kvorum::ctl
