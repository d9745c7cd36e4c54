// The errors that clients get: code and text are part of the API, and clients match on both. This
// is the only table of them, used by the server that sends them and by the client that recognises
// them. No text ever contains a password, a hash, a token or a key.
#pragma once

#include <array>
#include <expected>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum {

struct ApiError {
  Code code;
  std::string_view message;

  Error ToError() const { return {code, std::string(message)}; }
  // An error return: `return kErrCompacted.Fail();`.
  std::unexpected<Error> Fail() const { return std::unexpected(ToError()); }
  friend bool operator==(const Error& error, const ApiError& api) {
    return error.code == api.code && error.message == api.message;
  }
};

// Errors of the v3 API. The text is complete by itself, so clients show it alone. Columns: name,
// code, text after "etcdserver: ".
#define KV_API_ERRORS(ROW)                                                                         \
  /* Keys and values. */                                                                           \
  ROW(kErrEmptyKey, kInvalidArgument, "key is not provided")                                       \
  ROW(kErrKeyNotFound, kInvalidArgument, "key not found")                                          \
  ROW(kErrValueProvided, kInvalidArgument, "value is provided")                                    \
  ROW(kErrLeaseProvided, kInvalidArgument, "lease is provided")                                    \
  ROW(kErrTooManyOps, kInvalidArgument, "too many operations in txn request")                      \
  ROW(kErrDuplicateKey, kInvalidArgument, "duplicate key given in txn request")                    \
  ROW(kErrInvalidSortOption, kInvalidArgument, "invalid sort option")                              \
  ROW(kErrCompacted, kOutOfRange, "mvcc: required revision has been compacted")                    \
  ROW(kErrFutureRev, kOutOfRange, "mvcc: required revision is a future revision")                  \
  ROW(kErrNoSpace, kResourceExhausted, "mvcc: database space exceeded")                            \
  ROW(kErrRequestTooLarge, kInvalidArgument, "request is too large")                               \
  /* Leases. */                                                                                    \
  ROW(kErrLeaseNotFound, kNotFound, "requested lease not found")                                   \
  ROW(kErrLeaseExist, kFailedPrecondition, "lease already exists")                                 \
  ROW(kErrLeaseTtlTooLarge, kOutOfRange, "too large lease TTL")                                    \
  /* The cluster and its members. */                                                               \
  ROW(kErrCorrupt, kDataLoss, "corrupt cluster")                                                   \
  ROW(kErrAnswersFull, kResourceExhausted, "too many requests")                                    \
  ROW(kErrNoLeader, kUnavailable, "no leader")                                                     \
  ROW(kErrNotLeader, kFailedPrecondition, "not leader")                                            \
  ROW(kErrLeaderChanged, kUnavailable, "leader changed")                                           \
  ROW(kErrStopped, kUnavailable, "server stopped")                                                 \
  ROW(kErrTimeout, kUnavailable, "request timed out")                                              \
  ROW(kErrTimeoutDueToLeaderFail, kUnavailable,                                                    \
      "request timed out, possibly due to previous leader failure")                                \
  ROW(kErrTimeoutDueToConnectionLost, kUnavailable,                                                \
      "request timed out, possibly due to connection lost")                                        \
  ROW(kErrUnhealthy, kUnavailable, "unhealthy cluster")                                            \
  ROW(kErrBadLeaderTransferee, kFailedPrecondition, "bad leader transferee")                       \
  ROW(kErrNotSupportedForLearner, kFailedPrecondition, "rpc not supported for learner")            \
  ROW(kErrMemberBadUrls, kInvalidArgument, "given member URLs are invalid")                        \
  ROW(kErrMemberNotFound, kNotFound, "member not found")                                           \
  ROW(kErrMemberExist, kFailedPrecondition, "member ID already exist")                             \
  ROW(kErrPeerUrlExist, kFailedPrecondition, "Peer URLs already exists")                           \
  /* Unknown as kErrTooManyRequests is. */                                                         \
  ROW(kErrNotEnoughStarted, kUnknown, "re-configuration failed due to not enough started members") \
  ROW(kErrMemberNotLearner, kFailedPrecondition, "can only promote a learner member")              \
  ROW(kErrLearnerNotReady, kFailedPrecondition,                                                    \
      "can only promote a learner member which is in sync with leader")                            \
  ROW(kErrTooManyLearners, kFailedPrecondition, "too many learner members in cluster")             \
  ROW(kErrClusterIdMismatch, kFailedPrecondition, "cluster ID mismatch")                           \
  ROW(kErrNotCapable, kUnavailable, "not capable")                                                 \
  /* Users, roles, tokens and permissions. */                                                      \
  ROW(kErrRootUserNotExist, kFailedPrecondition, "root user does not exist")                       \
  ROW(kErrRootRoleNotExist, kFailedPrecondition, "root user does not have root role")              \
  ROW(kErrUserAlreadyExist, kFailedPrecondition, "user name already exists")                       \
  ROW(kErrUserEmpty, kInvalidArgument, "user name is empty")                                       \
  ROW(kErrUserNotFound, kFailedPrecondition, "user name not found")                                \
  ROW(kErrRoleAlreadyExist, kFailedPrecondition, "role name already exists")                       \
  ROW(kErrRoleNotFound, kFailedPrecondition, "role name not found")                                \
  ROW(kErrRoleEmpty, kInvalidArgument, "role name is empty")                                       \
  ROW(kErrAuthFailed, kInvalidArgument, "authentication failed, invalid user ID or password")      \
  ROW(kErrPermissionDenied, kPermissionDenied, "permission denied")                                \
  ROW(kErrRoleNotGranted, kFailedPrecondition, "role is not granted to the user")                  \
  ROW(kErrPermissionNotGranted, kFailedPrecondition, "permission is not granted to the role")      \
  ROW(kErrAuthNotEnabled, kFailedPrecondition, "authentication is not enabled")                    \
  ROW(kErrInvalidAuthToken, kUnauthenticated, "invalid auth token")                                \
  ROW(kErrInvalidAuthMgmt, kInvalidArgument, "invalid auth management")                            \
  ROW(kErrAuthOldRevision, kInvalidArgument, "revision of auth store is old")                      \
  /* Downgrades: servers of etcd say these. */                                                     \
  ROW(kErrClusterVersionUnavailable, kFailedPrecondition,                                          \
      "cluster version not found during downgrade")                                                \
  ROW(kErrWrongDowngradeVersionFormat, kInvalidArgument, "wrong downgrade target version format")  \
  ROW(kErrInvalidDowngradeTarget, kInvalidArgument, "invalid downgrade target version")            \
  ROW(kErrDowngradeInProcess, kFailedPrecondition, "cluster has a downgrade job in progress")      \
  ROW(kErrNoInflightDowngrade, kFailedPrecondition, "no inflight downgrade job")

#define KV_API_ERROR(name, code, text) \
  inline constexpr ApiError name{Code::code, "etcdserver: " text};
KV_API_ERRORS(KV_API_ERROR)
#undef KV_API_ERROR

#define KV_API_ERROR(name, code, text) name,
inline constexpr auto kApiErrors = std::to_array<ApiError>({KV_API_ERRORS(KV_API_ERROR)});
#undef KV_API_ERROR
#undef KV_API_ERRORS

// Client libraries do not recognize these texts as errors of the API, and show their codes too.

// Unknown, as etcd sends it: clients recover the code of kErrAnswersFull from the text.
inline constexpr ApiError kErrTooManyRequests{Code::kUnknown, kErrAnswersFull.message};
inline constexpr ApiError kErrTimeoutWaitApplied{
    Code::kUnavailable,
    "etcdserver: request timed out, waiting for the applied index took too long"};
inline constexpr ApiError kErrTimeoutLeaderTransfer{
    Code::kUnknown, "etcdserver: request timed out, leader transfer took too long"};
inline constexpr ApiError kErrInvalidClientApiVersion{Code::kInvalidArgument,
                                                      "etcdserver: invalid client api version"};
inline constexpr ApiError kErrPermissionNotGiven{Code::kInvalidArgument,
                                                 "etcdserver: permission not given"};
inline constexpr ApiError kErrStreamSortOrder{Code::kUnimplemented,
                                              "RangeStream does not support custom sort orders"};
inline constexpr ApiError kErrStreamFilters{Code::kUnimplemented,
                                            "RangeStream does not support revision filters"};
inline constexpr ApiError kErrCanceled{Code::kCanceled, "context canceled"};
inline constexpr ApiError kErrDeadlineExceeded{Code::kDeadlineExceeded,
                                               "context deadline exceeded"};
// A request that cannot be decoded as its message type, as Go's gRPC words it.
inline constexpr ApiError kErrMalformedRequest{
    Code::kInternal,
    "grpc: error unmarshalling request: proto: cannot parse invalid wire-format data"};
inline constexpr ApiError kErrInvalidUtf8Request{
    Code::kInternal, "grpc: error unmarshalling request: string field contains invalid UTF-8"};
// The answer to requests about leases of a member that no longer leads, or cannot confirm that it
// does.
inline constexpr ApiError kErrNotPrimary{Code::kUnknown, "not a primary lessor"};

// Reasons for which a watch is refused.
inline constexpr std::string_view kWatchRangeIsEmpty = "mvcc: watcher range is empty";
inline constexpr std::string_view kWatchIdIsTaken =
    "mvcc: duplicate watch ID provided on the WatchStream";

// The Lock and Election services use the words of the Go client's recipes.
inline constexpr ApiError kErrSessionExpired{Code::kUnknown, "mutex: session is expired"};
inline constexpr ApiError kErrElectionNotLeader{Code::kUnknown, "election: not leader"};
inline constexpr ApiError kErrElectionNoLeader{Code::kUnknown, "election: no leader"};
inline constexpr ApiError kErrMissingLeaderKey{Code::kUnknown,
                                               R"("leader" field must be provided)"};

// Auth errors that the API has no code for: Unknown, with the text that etcd uses internally.
inline constexpr ApiError kErrNoPasswordUser{
    Code::kUnknown, "auth: authentication failed, password was given for no password user"};
inline constexpr ApiError kErrVerifyOnly{Code::kUnknown,
                                         "auth: token signing attempted with verify-only key"};
inline constexpr ApiError kErrPasswordTooLong{Code::kUnknown,
                                              "bcrypt: password length exceeds 72 bytes"};
// etcd accepts such a password and such a name; they then crash it, or mean something else.
inline constexpr ApiError kErrPasswordHasZeroByte{Code::kInvalidArgument,
                                                  "auth: password contains a zero byte"};
inline constexpr ApiError kErrNameTooLong{Code::kInvalidArgument,
                                          "auth: name is longer than 32768 bytes"};
// An older member of etcd would count the learner as a voter from then on.
inline constexpr ApiError kErrLearnerIsLost{Code::kFailedPrecondition,
                                            "etcdserver: a learner cannot be updated while a "
                                            "member of etcd before 3.6.12, or 3.5.31, is in "
                                            "the cluster"};
// Such a member would apply transactions that the others refuse.
inline constexpr ApiError kErrAuthBesideOlderEtcd{
    Code::kFailedPrecondition,
    "etcdserver: authentication cannot be enabled while a member of etcd before 3.6.11, 3.5.30 or "
    "3.4.44 is in the cluster: update it, or start this member with --older-etcd-members=warn"};
// A member refuses to start with such token options.
inline constexpr std::string_view kInvalidAuthOptsText = "auth: invalid auth options";
inline constexpr ApiError kErrMissingKey{Code::kInvalidArgument, "auth: missing key data"};
inline constexpr ApiError kErrKeyMismatch{Code::kInvalidArgument,
                                          "auth: public and private keys don't match"};

}  // namespace kvorum
