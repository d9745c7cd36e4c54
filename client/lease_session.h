// A lease that is kept alive while the session lives, on a thread of the session's own; the locks
// and elections of one holder depend on it.
//
// Thread-safe. The client outlives the session. The session ends by itself when the lease is gone,
// or was not renewed for its whole time to live by this machine's clock (counted from when the last
// renewal was requested); all that the lease held must then be considered lost.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "client/client.h"

namespace kvorum::client {

struct SessionOptions {
  std::int64_t ttl_s = 60;  // <= 0: 60
  std::int64_t lease = 0;   // an existing one; 0: a new one is granted
};

class LeaseSession {
 public:
  // Errors are those of the grant.
  static Result<std::unique_ptr<LeaseSession>> Open(Client& client, const SessionOptions& options);
  // Stops renewing the lease without revoking it; may wait a second for a renewal in flight.
  ~LeaseSession();
  LeaseSession(const LeaseSession&) = delete;
  LeaseSession& operator=(const LeaseSession&) = delete;

  Client& client() const { return client_; }
  std::int64_t lease() const { return lease_; }

  // Stops when the session has ended: its lease is gone, or it is orphaned.
  std::stop_token ended() const { return ended_.get_token(); }
  // False if `stop` came first.
  bool WaitForEnd(std::stop_token stop) const;

  // Stops renewing. The lease keeps its keys until it expires.
  void Orphan();
  // Orphans the session and revokes the lease.
  Result<void> Close(const CallOptions& call = {});

 private:
  using TimePoint = CallOptions::Deadline;
  LeaseSession(Client& client, std::int64_t lease, TimePoint expires, std::int64_t ttl_s);
  void KeepAlive(const std::stop_token& stop, TimePoint expires, std::int64_t ttl_s);
  // Returns false if the thread is to stop.
  bool Sleep(const std::stop_token& stop, TimePoint until);

  Client& client_;
  const std::int64_t lease_;
  std::stop_source ended_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any wake_;
  std::jthread keep_alive_;
};

}  // namespace kvorum::client
