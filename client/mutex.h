// A lock held by a session, on any server of the v3 API: the same keys as those of the Lock
// service, etcdctl and the Go library, so they exclude each other.
//
// Used by one thread at a time; any thread may stop a stop token. The session outlives it. A holder
// that is paused for longer than its lease's time to live has lost the lock without knowing it:
// data that the lock protects should be changed in a transaction that compares IsOwner().
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"
#include "client/lease_session.h"

namespace etcdserverpb {
class Compare;
}  // namespace etcdserverpb

namespace kvorum::client {

class QueuePlace;

class Mutex {
 public:
  Mutex(LeaseSession& session, std::string_view name);
  ~Mutex();
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Blocks until the lock is held. Errors: kCanceled "context canceled" if `stop` came first;
  // "mutex: session is expired"; the server's own errors. After an error it holds nothing, unless
  // the server could not be reached. A request in flight when the stop comes is waited for.
  Result<void> Lock(const std::stop_token& stop = {});
  // Fails with "mutex: Locked by another session" instead of waiting.
  Result<void> TryLock();
  // "mutex: lock has already been released" if it is not held.
  Result<void> Unlock();

  const std::string& key() const;
  // The revision at which the lock was known to be held.
  std::int64_t revision() const { return revision_; }
  etcdserverpb::Compare IsOwner() const;

 private:
  Result<void> Confirm();
  std::unexpected<Error> GiveUp(Error error);

  const std::unique_ptr<QueuePlace> place_;
  std::int64_t revision_ = 0;
};

}  // namespace kvorum::client
