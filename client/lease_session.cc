#include "client/lease_session.h"

#include <algorithm>
#include <utility>

#include "proto/rpc.pb.h"

namespace kvorum::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::int64_t kDefaultTtlSeconds = 60;
constexpr seconds kAttempt(1);
constexpr milliseconds kRetryPause(200);
// The number of renewals within the time to live.
constexpr int kRenewals = 3;

// The time to live as a duration that can be added to any time.
milliseconds Span(std::int64_t ttl_s) {
  constexpr std::int64_t kLongSeconds = std::int64_t{100} * 365 * 24 * 3600;
  return seconds(std::clamp<std::int64_t>(ttl_s, 0, kLongSeconds));
}

}  // namespace

Result<std::unique_ptr<LeaseSession>> LeaseSession::Open(Client& client,
                                                         const SessionOptions& options) {
  const std::int64_t ttl_s = options.ttl_s > 0 ? options.ttl_s : kDefaultTtlSeconds;
  const auto expires = steady_clock::now() + Span(ttl_s);
  if (options.lease != 0) {
    // The first renewal tells the granted time to live.
    return std::unique_ptr<LeaseSession>(
        new LeaseSession(client, options.lease, expires, /*ttl_s=*/0));
  }
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(ttl_s);
  KV_TRY(const etcdserverpb::LeaseGrantResponse granted, client.LeaseGrant(request));
  return std::unique_ptr<LeaseSession>(
      new LeaseSession(client, granted.id(), expires, granted.ttl()));
}

LeaseSession::LeaseSession(Client& client, std::int64_t lease, TimePoint expires,
                           std::int64_t ttl_s)
    : client_(client),
      lease_(lease),
      keep_alive_([this, expires, ttl_s](const std::stop_token& stop) {
        KeepAlive(stop, expires, ttl_s);
        ended_.request_stop();
        const std::lock_guard lock(mutex_);
        wake_.notify_all();
      }) {}

LeaseSession::~LeaseSession() { Orphan(); }

void LeaseSession::KeepAlive(const std::stop_token& stop, TimePoint expires, std::int64_t ttl_s) {
  while (Sleep(stop, steady_clock::now() + Span(ttl_s) / kRenewals)) {
    while (true) {
      const auto asked = steady_clock::now();
      if (asked >= expires) return;
      const auto renewed =
          client_.LeaseKeepAliveOnce(lease_, {.deadline = std::min(asked + kAttempt, expires)});
      if (renewed.has_value() && renewed->ttl() <= 0) return;
      if (renewed.has_value()) {
        ttl_s = renewed->ttl();
        expires = asked + Span(ttl_s);
        break;
      }
      if (!Sleep(stop, asked + kRetryPause)) return;
    }
  }
}

bool LeaseSession::Sleep(const std::stop_token& stop, TimePoint until) {
  std::unique_lock lock(mutex_);
  wake_.wait_until(lock, stop, until, [] { return false; });
  return !stop.stop_requested();
}

bool LeaseSession::WaitForEnd(std::stop_token stop) const {
  std::unique_lock lock(mutex_);
  return wake_.wait(lock, std::move(stop), [this] { return ended_.stop_requested(); });
}

void LeaseSession::Orphan() { keep_alive_.request_stop(); }

Result<void> LeaseSession::Close(const CallOptions& call) {
  Orphan();
  KV_RETURN_IF_ERROR(client_.LeaseRevoke(lease_, call));
  return {};
}

}  // namespace kvorum::client
