// The client of the v3 API: what kvorumctl, tests and C++ programs talk to a cluster through.
//
// Thread-safe: any thread may call any method at any time; a call blocks its thread until the
// answer, the deadline or an error. Requests and answers are the generated messages of
// "proto/rpc.pb.h", which the caller includes.
// Errors: what the server said, with its code and text; kDeadlineExceeded with "context deadline
// exceeded" if the deadline passed; kUnavailable if a connection was lost. Reads are tried again on
// another endpoint after a lost connection, writes never: they may have been applied.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/watch.h"

namespace etcdserverpb {
class AlarmRequest;
class AlarmResponse;
class CompactionRequest;
class CompactionResponse;
class DefragmentRequest;
class DefragmentResponse;
class DeleteRangeRequest;
class DeleteRangeResponse;
class HashKVRequest;
class HashKVResponse;
class HashRequest;
class HashResponse;
class LeaseGrantRequest;
class LeaseGrantResponse;
class LeaseKeepAliveResponse;
class LeaseLeasesResponse;
class LeaseRevokeResponse;
class LeaseTimeToLiveRequest;
class LeaseTimeToLiveResponse;
class MemberAddRequest;
class MemberAddResponse;
class MemberListRequest;
class MemberListResponse;
class MemberPromoteRequest;
class MemberPromoteResponse;
class MemberRemoveRequest;
class MemberRemoveResponse;
class MemberUpdateRequest;
class MemberUpdateResponse;
class MoveLeaderRequest;
class MoveLeaderResponse;
class PutRequest;
class PutResponse;
class RangeRequest;
class RangeResponse;
class StatusRequest;
class StatusResponse;
class TxnRequest;
class TxnResponse;
class WatchCreateRequest;
}  // namespace etcdserverpb

namespace kvorum::client {

struct TlsOptions {
  // True: endpoints without a scheme are spoken to in TLS. https:// and unixs:// always are,
  // http:// never is.
  bool enabled = false;
  std::string certificate_file = {};  // with key_file: who we are; else we show no certificate
  std::string key_file = {};
  std::string ca_file = {};      // empty: the system's roots
  std::string server_name = {};  // the name to verify instead of the endpoint's host
  bool skip_verification = false;
};

struct Options {
  std::vector<std::string> endpoints = {};  // host:port, http(s)://host:port, unix(s)://path
  std::chrono::nanoseconds dial_timeout = std::chrono::seconds(2);     // for the log-in
  std::chrono::nanoseconds keepalive_time = std::chrono::seconds(10);  // less than 10 s means 10 s
  std::chrono::nanoseconds keepalive_timeout = std::chrono::seconds(6);
  int max_send_bytes = 2 * 1024 * 1024;
  int max_receive_bytes = 0x7fffffff;
  TlsOptions tls = {};
  // Log in with user and password, or show a token that was given out by someone else.
  std::string user = {};
  std::string password = {};
  std::string token = {};
};

struct CallOptions {
  using Deadline = std::chrono::steady_clock::time_point;

  Deadline deadline = Deadline::max();
  bool require_leader = false;  // refuse at once if the member sees no leader

  static CallOptions Within(std::chrono::nanoseconds timeout) {
    return {.deadline = std::chrono::steady_clock::now() + timeout};
  }
};

class Client {
 public:
  // Checks the options, opens the connections in the background and, if a user is given, logs in.
  // kFailedPrecondition: the files that the TLS options name are of no use. kInvalidArgument:
  // another option is wrong. Either way nothing was sent. Other codes: the log-in failed.
  static Result<std::unique_ptr<Client>> Connect(const Options& options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Result<etcdserverpb::RangeResponse> Range(const etcdserverpb::RangeRequest& request,
                                            const CallOptions& call = {});
  // Hands over each chunk as it comes; an error returned by `on_chunk` ends the call with it.
  using OnChunk = std::function<Result<void>(etcdserverpb::RangeResponse&& chunk)>;
  Result<void> RangeStream(const etcdserverpb::RangeRequest& request, const OnChunk& on_chunk,
                           const CallOptions& call = {});
  Result<etcdserverpb::PutResponse> Put(const etcdserverpb::PutRequest& request,
                                        const CallOptions& call = {});
  Result<etcdserverpb::DeleteRangeResponse> DeleteRange(
      const etcdserverpb::DeleteRangeRequest& request, const CallOptions& call = {});
  // Tried again like a read if nothing in it writes.
  Result<etcdserverpb::TxnResponse> Txn(const etcdserverpb::TxnRequest& request,
                                        const CallOptions& call = {});
  Result<etcdserverpb::CompactionResponse> Compact(const etcdserverpb::CompactionRequest& request,
                                                   const CallOptions& call = {});

  // Nothing is sent before Watch::Run; the options' deadline is not looked at.
  std::unique_ptr<Watch> NewWatch(const etcdserverpb::WatchCreateRequest& request,
                                  const CallOptions& call = {});

  Result<etcdserverpb::LeaseGrantResponse> LeaseGrant(
      const etcdserverpb::LeaseGrantRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::LeaseRevokeResponse> LeaseRevoke(std::int64_t lease,
                                                        const CallOptions& call = {});
  // Renews once, on a stream of its own. A lease that is gone is answered with a time to live of 0.
  Result<etcdserverpb::LeaseKeepAliveResponse> LeaseKeepAliveOnce(std::int64_t lease,
                                                                  const CallOptions& call = {});
  Result<etcdserverpb::LeaseTimeToLiveResponse> LeaseTimeToLive(
      const etcdserverpb::LeaseTimeToLiveRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::LeaseLeasesResponse> LeaseLeases(const CallOptions& call = {});

  Result<etcdserverpb::MemberAddResponse> MemberAdd(const etcdserverpb::MemberAddRequest& request,
                                                    const CallOptions& call = {});
  Result<etcdserverpb::MemberRemoveResponse> MemberRemove(
      const etcdserverpb::MemberRemoveRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::MemberUpdateResponse> MemberUpdate(
      const etcdserverpb::MemberUpdateRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::MemberPromoteResponse> MemberPromote(
      const etcdserverpb::MemberPromoteRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::MemberListResponse> MemberList(
      const etcdserverpb::MemberListRequest& request, const CallOptions& call = {});

  // These speak of the member that answers: give the client one endpoint to choose which.
  Result<etcdserverpb::StatusResponse> Status(const CallOptions& call = {});
  Result<etcdserverpb::HashResponse> Hash(const CallOptions& call = {});
  Result<etcdserverpb::HashKVResponse> HashKV(const etcdserverpb::HashKVRequest& request,
                                              const CallOptions& call = {});
  Result<etcdserverpb::DefragmentResponse> Defragment(const CallOptions& call = {});
  // Only the leader does it.
  Result<etcdserverpb::MoveLeaderResponse> MoveLeader(
      const etcdserverpb::MoveLeaderRequest& request, const CallOptions& call = {});

  // The alarms in force.
  Result<etcdserverpb::AlarmResponse> AlarmList(const CallOptions& call = {});
  // Disarms every alarm of every member; the answer names those disarmed.
  Result<etcdserverpb::AlarmResponse> AlarmDisarmAll(const CallOptions& call = {});

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::client
