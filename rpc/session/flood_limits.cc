#include "rpc/session/flood_limits.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "rpc/session/options.h"

namespace kvorum::rpc {
namespace {

// A client without streams may ping this often, and is refused at the strike after these, as in
// grpc-go.
constexpr Duration kIdlePingInterval = std::chrono::hours(2);
constexpr int kMaxPingStrikes = 2;
// A gRPC message without content.
constexpr std::size_t kLeastMessageBytes = 5;
// Messages may have been on their way, or in the client's socket, for long before the client gives
// windows back for them.
constexpr double kMostBurstsOfProgress = 10;

}  // namespace

FloodLimits::FloodLimits(const Options& options, TimePoint now)
    : options_(options),
      // Long ago, so that the first ping is in time.
      last_ping_{std::numeric_limits<std::int64_t>::min() / 2},
      reset_tokens_(options.reset_burst),
      reset_refill_(now),
      frame_tokens_(options.frame_burst),
      frame_refill_(now) {}

bool FloodLimits::AllowPing(TimePoint now, bool idle) {
  const TimePoint previous = std::exchange(last_ping_, now);
  if (std::exchange(sent_since_ping_, false)) {
    ping_strikes_ = 0;
    return true;
  }
  const Duration least = idle && !options_.permit_pings_without_streams
                             ? kIdlePingInterval
                             : options_.min_client_ping_interval;
  if (previous + least > now) ++ping_strikes_;
  return ping_strikes_ <= kMaxPingStrikes;
}

bool FloodLimits::AllowReset(TimePoint now) {
  const double elapsed_s = std::chrono::duration<double>(now - reset_refill_).count();
  reset_refill_ = now;
  reset_tokens_ = std::min<double>(options_.reset_burst,
                                   reset_tokens_ + elapsed_s * options_.resets_per_second);
  reset_tokens_ -= 1;
  return reset_tokens_ >= 0;
}

void FloodLimits::OnMessagesSent(std::size_t messages) {
  frame_tokens_ += static_cast<double>(messages) * options_.frames_per_message;
}

void FloodLimits::OnBytesSent(std::size_t bytes) {
  frame_tokens_ += static_cast<double>(bytes) / 1024 * options_.frames_per_kib;
}

void FloodLimits::OnData(std::size_t bytes) {
  if (bytes >= kLeastMessageBytes) frame_tokens_ += 1;
  OnBytesSent(bytes);
}

bool FloodLimits::AllowFrames(TimePoint now) {
  const double elapsed_s = std::chrono::duration<double>(now - frame_refill_).count();
  frame_refill_ = now;
  const double with_time =
      std::min(options_.frame_burst, frame_tokens_ + elapsed_s * options_.frames_per_second);
  const double with_progress =
      std::min(kMostBurstsOfProgress * options_.frame_burst, frame_tokens_);
  frame_tokens_ = std::max(with_time, with_progress);
  return frame_tokens_ >= 0;
}

}  // namespace kvorum::rpc
