// A client of the v3 API, through which kvorumctl, tests and C++ programs talk to a cluster.
//
// Thread-safe: any thread may call any method at any time; a call blocks its thread until the
// answer, the deadline or an error. No call may be in progress when the client is destroyed.
// Requests and answers are the generated messages of "proto/rpc.pb.h", which the caller includes.
//
// Endpoints: each call goes to the next connected endpoint; while none is connected, calls wait
// until their deadline. A read is retried at another endpoint (up to 100 times, with pauses of 25
// ms) while the answer is kUnavailable: a lost connection, no leader. A write is retried only if it
// is certain that no member has seen it; otherwise a write whose answer is kUnavailable may or may
// not have been applied, and the caller must find out.
//
// Users: with a user and password the client logs in when it connects, sends the token with every
// call, and logs in again when a member refuses the token: once for all calls that run into it, and
// at most 5 times in a row for one call. A refused log-in is remembered for a second, so that a
// changed password does not cause a flood of log-ins. Passwords and tokens appear in no error text.
//
// Errors: the server's code and text; kDeadlineExceeded with "context deadline exceeded" if the
// deadline passed; kUnavailable if a connection was lost; kResourceExhausted for a request above
// the limit, which is not sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/watch.h"

namespace etcdserverpb {
class AlarmRequest;
class AlarmResponse;
class AuthDisableResponse;
class AuthEnableResponse;
class AuthRoleAddRequest;
class AuthRoleAddResponse;
class AuthRoleDeleteRequest;
class AuthRoleDeleteResponse;
class AuthRoleGetRequest;
class AuthRoleGetResponse;
class AuthRoleGrantPermissionRequest;
class AuthRoleGrantPermissionResponse;
class AuthRoleListResponse;
class AuthRoleRevokePermissionRequest;
class AuthRoleRevokePermissionResponse;
class AuthStatusResponse;
class AuthUserAddRequest;
class AuthUserAddResponse;
class AuthUserChangePasswordRequest;
class AuthUserChangePasswordResponse;
class AuthUserDeleteRequest;
class AuthUserDeleteResponse;
class AuthUserGetRequest;
class AuthUserGetResponse;
class AuthUserGrantRoleRequest;
class AuthUserGrantRoleResponse;
class AuthUserListResponse;
class AuthUserRevokeRoleRequest;
class AuthUserRevokeRoleResponse;
class CompactionRequest;
class CompactionResponse;
class DefragmentRequest;
class DefragmentResponse;
class DeleteRangeRequest;
class DeleteRangeResponse;
class DowngradeRequest;
class DowngradeResponse;
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
class SnapshotResponse;
class StatusResponse;
class TxnRequest;
class TxnResponse;
class WatchCreateRequest;
}  // namespace etcdserverpb

namespace kvorum::client {

// Files are PEM. Client::Connect checks them; afterwards they are reread periodically, so that
// connections made after a renewal show the new certificate and trust the new authorities.
struct TlsOptions {
  // True: endpoints without a scheme use TLS. https:// and unixs:// always do, http:// never does.
  bool enabled = false;
  std::string certificate_file = {};  // with key_file: the client's certificate; without, it shows
                                      // none
  std::string key_file = {};
  std::string ca_file = {};      // empty: the system's roots
  std::string server_name = {};  // the name to verify instead of the endpoint's host
  bool skip_verification = false;
  std::chrono::seconds reload_interval{10};  // how often the files are reread; less than 1 s means
                                             // 1 s
};

struct Options {
  std::vector<std::string> endpoints = {};  // host:port, http(s)://host:port, unix(s)://path
  std::chrono::nanoseconds dial_timeout = std::chrono::seconds(2);     // for the log-in
  std::chrono::nanoseconds keepalive_time = std::chrono::seconds(10);  // less than 10 s means 10 s
  std::chrono::nanoseconds keepalive_timeout = std::chrono::seconds(6);
  int max_send_bytes = 2 * 1024 * 1024;
  int max_receive_bytes = 0x7fffffff;
  TlsOptions tls = {};
  // Logs in with user and password (both, or there is no log-in), or sends this token, which
  // someone else obtained and which is never renewed. White space around the token is removed; the
  // rest must be printable ASCII.
  std::string user = {};
  std::string password = {};
  std::string token = {};
  // Called, on the call's thread, when a call ran out of time because no endpoint could be reached,
  // with the known reasons ("HOST:PORT: REASON; ..."), for a person or a log.
  std::function<void(const std::string& why)> on_unreachable = {};
};

struct CallOptions {
  using Deadline = std::chrono::steady_clock::time_point;

  Deadline deadline = Deadline::max();
  bool require_leader = false;  // refuse at once if the member sees no leader
  // Ends the call with kCanceled. A write may have been made all the same.
  std::stop_token stop = {};

  static CallOptions Within(std::chrono::nanoseconds timeout) {
    return {.deadline = std::chrono::steady_clock::now() + timeout};
  }
};

class Caller;

class Client {
 public:
  // Checks the options, starts connecting in the background and, if a user is given, logs in.
  // kFailedPrecondition: the files that the TLS options name are unusable. kInvalidArgument:
  // another option is wrong. In both cases nothing was sent. Other codes: the log-in failed.
  static Result<std::unique_ptr<Client>> Connect(const Options& options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Result<etcdserverpb::RangeResponse> Range(const etcdserverpb::RangeRequest& request,
                                            const CallOptions& call = {});
  // Passes on each chunk as it comes; an error returned by `on_chunk` ends the call with it. Not
  // retried once a chunk has come.
  using OnChunk = std::function<Result<void>(etcdserverpb::RangeResponse&& chunk)>;
  Result<void> RangeStream(const etcdserverpb::RangeRequest& request, const OnChunk& on_chunk,
                           const CallOptions& call = {});
  Result<etcdserverpb::PutResponse> Put(const etcdserverpb::PutRequest& request,
                                        const CallOptions& call = {});
  Result<etcdserverpb::DeleteRangeResponse> DeleteRange(
      const etcdserverpb::DeleteRangeRequest& request, const CallOptions& call = {});
  // Retried like a read if nothing in it writes.
  Result<etcdserverpb::TxnResponse> Txn(const etcdserverpb::TxnRequest& request,
                                        const CallOptions& call = {});
  Result<etcdserverpb::CompactionResponse> Compact(const etcdserverpb::CompactionRequest& request,
                                                   const CallOptions& call = {});

  // Nothing is sent before Watch::Run; the options' deadline is ignored.
  std::unique_ptr<Watch> NewWatch(const etcdserverpb::WatchCreateRequest& request,
                                  const CallOptions& call = {});

  Result<etcdserverpb::LeaseGrantResponse> LeaseGrant(
      const etcdserverpb::LeaseGrantRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::LeaseRevokeResponse> LeaseRevoke(std::int64_t lease,
                                                        const CallOptions& call = {});
  // Renews once, on a separate stream. A lease that is gone is answered with a time to live of 0.
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

  // These concern the member that answers: give the client a single endpoint to choose it.
  Result<etcdserverpb::StatusResponse> Status(const CallOptions& call = {});
  Result<etcdserverpb::HashResponse> Hash(const CallOptions& call = {});
  Result<etcdserverpb::HashKVResponse> HashKV(const etcdserverpb::HashKVRequest& request,
                                              const CallOptions& call = {});
  Result<etcdserverpb::DefragmentResponse> Defragment(const CallOptions& call = {});
  // Passes on each part of the member's database as a file, whose last bytes are its SHA-256; an
  // error returned by `on_part` ends the call with it. Not retried once a part has come.
  using OnSnapshotPart = std::function<Result<void>(etcdserverpb::SnapshotResponse&& part)>;
  Result<void> Snapshot(const OnSnapshotPart& on_part, const CallOptions& call = {});
  // Replaces the member's database by its leader's; ours alone.
  Result<void> Reseed(const CallOptions& call = {});
  // Works on the leader only.
  Result<etcdserverpb::MoveLeaderResponse> MoveLeader(
      const etcdserverpb::MoveLeaderRequest& request, const CallOptions& call = {});

  // Asks about, starts or cancels a downgrade of the cluster.
  Result<etcdserverpb::DowngradeResponse> Downgrade(const etcdserverpb::DowngradeRequest& request,
                                                    const CallOptions& call = {});

  // The alarms in force.
  Result<etcdserverpb::AlarmResponse> AlarmList(const CallOptions& call = {});
  // Disarms every alarm of every member; the answer names those disarmed.
  Result<etcdserverpb::AlarmResponse> AlarmDisarmAll(const CallOptions& call = {});

  // Users, roles and permissions. AuthStatus, which tells whether auth is enabled, needs no user. A
  // changed password does not change this client's own options.
  Result<etcdserverpb::AuthEnableResponse> AuthEnable(const CallOptions& call = {});
  Result<etcdserverpb::AuthDisableResponse> AuthDisable(const CallOptions& call = {});
  Result<etcdserverpb::AuthStatusResponse> AuthStatus(const CallOptions& call = {});
  Result<etcdserverpb::AuthUserAddResponse> UserAdd(const etcdserverpb::AuthUserAddRequest& request,
                                                    const CallOptions& call = {});
  Result<etcdserverpb::AuthUserGetResponse> UserGet(const etcdserverpb::AuthUserGetRequest& request,
                                                    const CallOptions& call = {});
  Result<etcdserverpb::AuthUserListResponse> UserList(const CallOptions& call = {});
  Result<etcdserverpb::AuthUserDeleteResponse> UserDelete(
      const etcdserverpb::AuthUserDeleteRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::AuthUserChangePasswordResponse> UserChangePassword(
      const etcdserverpb::AuthUserChangePasswordRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::AuthUserGrantRoleResponse> UserGrantRole(
      const etcdserverpb::AuthUserGrantRoleRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::AuthUserRevokeRoleResponse> UserRevokeRole(
      const etcdserverpb::AuthUserRevokeRoleRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::AuthRoleAddResponse> RoleAdd(const etcdserverpb::AuthRoleAddRequest& request,
                                                    const CallOptions& call = {});
  Result<etcdserverpb::AuthRoleGetResponse> RoleGet(const etcdserverpb::AuthRoleGetRequest& request,
                                                    const CallOptions& call = {});
  Result<etcdserverpb::AuthRoleListResponse> RoleList(const CallOptions& call = {});
  Result<etcdserverpb::AuthRoleDeleteResponse> RoleDelete(
      const etcdserverpb::AuthRoleDeleteRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::AuthRoleGrantPermissionResponse> RoleGrantPermission(
      const etcdserverpb::AuthRoleGrantPermissionRequest& request, const CallOptions& call = {});
  Result<etcdserverpb::AuthRoleRevokePermissionResponse> RoleRevokePermission(
      const etcdserverpb::AuthRoleRevokePermissionRequest& request, const CallOptions& call = {});

  // The endpoints that calls rotate through.
  std::vector<std::string> endpoints() const;
  // Calls in progress finish on their connection, later ones use the new list. Endpoints that were
  // there before keep their connections. kInvalidArgument if the list is empty; then nothing
  // changes.
  Result<void> SetEndpoints(const std::vector<std::string>& endpoints);
  // Sets the endpoints to the client URLs of the cluster's voting members. While a current endpoint
  // uses TLS only TLS URLs are taken, so that no token or password is sent in plain text. Fails,
  // and changes nothing, if no member answers or there is no such URL.
  Result<void> SyncEndpoints(const CallOptions& call = {});

 private:
  explicit Client(std::unique_ptr<Caller> caller);
  std::unique_ptr<Caller> caller_;
};

}  // namespace kvorum::client
