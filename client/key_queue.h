// The queue of keys behind locks and elections, as every client of the API lays it out:
// "<name>/<lease in hexadecimal>", held by leases, ordered by creation revision. Internal to
// client/.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"
#include "client/lease_session.h"
#include "proto/rpc.pb.h"

namespace kvorum::client {

// A session's place in a queue. Used by one thread at a time.
class QueuePlace {
 public:
  QueuePlace(LeaseSession& session, std::string_view name);

  // Creates the key with this value, unless it exists.
  Result<void> Enter(std::string_view value);
  // Sets a new value if the place is still held; returns false if it is not.
  Result<bool> ChangeValue(std::string_view value);
  // Waits until the key is the oldest. An error says what ended the wait: kCanceled if it was
  // `stop`.
  Result<void> WaitUntilOldest(const std::stop_token& stop);
  // The key as it is now; nothing if the place is gone.
  Result<std::optional<etcdserverpb::RangeResponse>> Read();
  // Deletes the key, if it is still the one that was created.
  Result<etcdserverpb::TxnResponse> Leave();
  // The oldest key of the queue; no row if it is empty.
  Result<etcdserverpb::RangeResponse> Oldest() const;

  Client& client() const { return session_.client(); }
  LeaseSession& session() const { return session_; }
  const std::string& prefix() const { return prefix_; }
  const std::string& key() const { return key_; }
  bool is_entered() const { return created_ != 0; }
  std::int64_t created() const { return created_; }
  // The header of the answer by which the place was entered.
  const etcdserverpb::ResponseHeader& entered_header() const { return entered_header_; }
  // The value of the key, if it existed before.
  const std::optional<std::string>& found_value() const { return found_value_; }
  // True as long as the place is held.
  etcdserverpb::Compare IsHeld() const;

 private:
  // Adds the put of the key, on the session's lease.
  void PutInto(etcdserverpb::TxnRequest& txn, std::string_view value) const;
  etcdserverpb::RangeRequest ByCreation(etcdserverpb::RangeRequest::SortOrder order) const;
  // Waits until the key is deleted, from a revision at which it existed.
  Result<void> WaitForDeletion(const std::string& key, std::int64_t revision,
                               const std::stop_token& stop);

  LeaseSession& session_;
  const std::string prefix_;
  const std::string key_;
  std::int64_t created_ = 0;
  etcdserverpb::ResponseHeader entered_header_;
  std::optional<std::string> found_value_;
};

}  // namespace kvorum::client
