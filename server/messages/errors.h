// The answers of the server itself, code and text as clients match them (spec: api/v3rpc/rpctypes).
// What the store refuses has its own table, mvcc/errors.h.
#pragma once

#include <string_view>

#include "base/api_error.h"
#include "base/error.h"

namespace kvorum::server {

inline constexpr ApiError kNoSpace{Code::kResourceExhausted,
                                   "etcdserver: mvcc: database space exceeded"};
inline constexpr ApiError kCorrupt{Code::kDataLoss, "etcdserver: corrupt cluster"};
inline constexpr ApiError kRequestTooLarge{Code::kInvalidArgument,
                                           "etcdserver: request is too large"};
// Sent with code Unknown: clients recover the documented one from the text.
inline constexpr ApiError kTooManyRequests{Code::kUnknown, "etcdserver: too many requests"};
// Answers that clients have not taken leave no room for this one.
inline constexpr ApiError kAnswersFull{Code::kResourceExhausted, "etcdserver: too many requests"};
inline constexpr ApiError kNoLeader{Code::kUnavailable, "etcdserver: no leader"};
inline constexpr ApiError kLeaderChanged{Code::kUnavailable, "etcdserver: leader changed"};
inline constexpr ApiError kStopped{Code::kUnavailable, "etcdserver: server stopped"};
inline constexpr ApiError kTimeout{Code::kUnavailable, "etcdserver: request timed out"};
inline constexpr ApiError kTimeoutWaitApplied{
    Code::kUnavailable,
    "etcdserver: request timed out, waiting for the applied index took too long"};
inline constexpr ApiError kTimeoutDueToLeaderFail{
    Code::kUnavailable, "etcdserver: request timed out, possibly due to previous leader failure"};
inline constexpr ApiError kTimeoutDueToConnectionLost{
    Code::kUnavailable, "etcdserver: request timed out, possibly due to connection lost"};
inline constexpr ApiError kTimeoutLeaderTransfer{
    Code::kUnknown, "etcdserver: request timed out, leader transfer took too long"};
inline constexpr ApiError kUnhealthy{Code::kUnavailable, "etcdserver: unhealthy cluster"};
inline constexpr ApiError kNotLeader{Code::kFailedPrecondition, "etcdserver: not leader"};
inline constexpr ApiError kBadLeaderTransferee{Code::kFailedPrecondition,
                                               "etcdserver: bad leader transferee"};
inline constexpr ApiError kNotSupportedForLearner{Code::kFailedPrecondition,
                                                  "etcdserver: rpc not supported for learner"};
inline constexpr ApiError kMemberBadUrls{Code::kInvalidArgument,
                                         "etcdserver: given member URLs are invalid"};
inline constexpr ApiError kMemberNotFound{Code::kNotFound, "etcdserver: member not found"};
inline constexpr ApiError kMemberExist{Code::kFailedPrecondition,
                                       "etcdserver: member ID already exist"};
inline constexpr ApiError kPeerUrlExist{Code::kFailedPrecondition,
                                        "etcdserver: Peer URLs already exists"};
// Sent with code Unknown, as kTooManyRequests.
inline constexpr ApiError kNotEnoughStarted{
    Code::kUnknown, "etcdserver: re-configuration failed due to not enough started members"};
inline constexpr ApiError kMemberNotLearner{Code::kFailedPrecondition,
                                            "etcdserver: can only promote a learner member"};
inline constexpr ApiError kLearnerNotReady{
    Code::kFailedPrecondition,
    "etcdserver: can only promote a learner member which is in sync with leader"};
inline constexpr ApiError kTooManyLearners{Code::kFailedPrecondition,
                                           "etcdserver: too many learner members in cluster"};
inline constexpr ApiError kLeaseExist{Code::kFailedPrecondition,
                                      "etcdserver: lease already exists"};
inline constexpr ApiError kLeaseTtlTooLarge{Code::kOutOfRange, "etcdserver: too large lease TTL"};
// What one who leads no more, or not for sure, answers about leases.
inline constexpr ApiError kNotPrimary{Code::kUnknown, "not a primary lessor"};
inline constexpr ApiError kInvalidClientApiVersion{Code::kInvalidArgument,
                                                   "etcdserver: invalid client api version"};
inline constexpr ApiError kDeadlineExceeded{Code::kDeadlineExceeded, "context deadline exceeded"};
inline constexpr ApiError kStreamNoSort{Code::kUnimplemented,
                                        "RangeStream does not support custom sort orders"};
inline constexpr ApiError kStreamNoFilters{Code::kUnimplemented,
                                           "RangeStream does not support revision filters"};

// Of the Lock and Election services, as the Go client's recipes word them.
inline constexpr ApiError kSessionExpired{Code::kUnknown, "mutex: session is expired"};
inline constexpr ApiError kElectionNotLeader{Code::kUnknown, "election: not leader"};
inline constexpr ApiError kElectionNoLeader{Code::kUnknown, "election: no leader"};
inline constexpr ApiError kMissingLeaderKey{Code::kUnknown, R"("leader" field must be provided)"};

}  // namespace kvorum::server
