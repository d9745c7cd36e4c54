// Who of several sessions leads, on any server of the v3 API: the same keys as those of the
// Election service, etcdctl and the Go library.
//
// Used by one thread at a time; a stop token may be stopped by any. The session outlives it. As
// with a lock (mutex.h), what a leader writes should compare IsLeader().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"
#include "client/lease_session.h"

namespace etcdserverpb {
class Compare;
class RangeResponse;
}  // namespace etcdserverpb

namespace kvorum::client {

class QueuePlace;

class Election {
 public:
  Election(LeaseSession& session, std::string_view name);
  ~Election();
  Election(const Election&) = delete;
  Election& operator=(const Election&) = delete;

  // Blocks until this session leads, with this value. Errors: kCanceled "context canceled" if
  // `stop` came first; "election: not leader" if its key was lost; what the server said. After any
  // of them it is no candidate, as far as the server could be told.
  Result<void> Campaign(std::string_view value, const std::stop_token& stop = {});
  // A new value. "election: not leader" if it leads no more.
  Result<void> Proclaim(std::string_view value);
  Result<void> Resign();

  // The leader's key and value; "election: no leader".
  Result<etcdserverpb::RangeResponse> Leader() const;

  const std::string& key() const;
  // The creation revision of the leader's key.
  std::int64_t revision() const;
  etcdserverpb::Compare IsLeader() const;

 private:
  std::unexpected<Error> GiveUp(Error error);

  const std::unique_ptr<QueuePlace> place_;
};

// Tells each leader of an election, and each value that it proclaims, as a range with that one key,
// until `stop`. What a leader proclaims in quick succession may be passed over; the latest is not.
// An error ends it, that of the function too.
using OnLeader = std::function<Result<void>(const etcdserverpb::RangeResponse& leader)>;
Result<void> ObserveElection(Client& client, std::string_view name, const std::stop_token& stop,
                             const OnLeader& on_leader);

}  // namespace kvorum::client
