// Elects one of several sessions as leader, on any server of the v3 API: the same keys as those of
// the Election service, etcdctl and the Go library.
//
// Used by one thread at a time; any thread may stop a stop token. The session outlives it. As with
// a lock (mutex.h), a leader's writes should compare IsLeader().
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
  // `stop` came first; "election: not leader" if its key was lost; the server's own errors. After
  // an error the session is not a candidate, unless the server could not be reached.
  Result<void> Campaign(std::string_view value, const std::stop_token& stop = {});
  // Sets a new value. "election: not leader" if the session no longer leads.
  Result<void> Proclaim(std::string_view value);
  Result<void> Resign();

  // The leader's key and value; "election: no leader" if there is none.
  Result<etcdserverpb::RangeResponse> Leader() const;

  const std::string& key() const;
  // The creation revision of the leader's key.
  std::int64_t revision() const;
  etcdserverpb::Compare IsLeader() const;

 private:
  std::unexpected<Error> GiveUp(Error error);

  const std::unique_ptr<QueuePlace> place_;
};

// Reports each leader of an election, and each value that it proclaims, as a range with that one
// key, until `stop`. Values proclaimed in quick succession may be skipped; the latest is not. An
// error ends the observation, also one returned by the function.
using OnLeader = std::function<Result<void>(const etcdserverpb::RangeResponse& leader)>;
Result<void> ObserveElection(Client& client, std::string_view name, const std::stop_token& stop,
                             const OnLeader& on_leader);

}  // namespace kvorum::client
