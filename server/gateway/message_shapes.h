// The messages of the API that JSON shows (message_shape.h). The routes (routes.h) name those that
// begin a call; the others are within them.
#pragma once

#include "server/gateway/message_shape.h"

namespace kvorum::server::gateway {

// The messages of KV and Watch.
extern const MessageShape kKeyValue;
extern const MessageShape kEvent;
extern const MessageShape kResponseHeader;
extern const MessageShape kRangeRequest;
extern const MessageShape kRangeResponse;
extern const MessageShape kPutRequest;
extern const MessageShape kPutResponse;
extern const MessageShape kDeleteRangeRequest;
extern const MessageShape kDeleteRangeResponse;
extern const MessageShape kRequestOp;
extern const MessageShape kResponseOp;
extern const MessageShape kCompare;
extern const MessageShape kTxnRequest;
extern const MessageShape kTxnResponse;
extern const MessageShape kCompactionRequest;
extern const MessageShape kCompactionResponse;
extern const MessageShape kWatchRequest;
extern const MessageShape kWatchCreateRequest;
extern const MessageShape kWatchCancelRequest;
extern const MessageShape kWatchProgressRequest;
extern const MessageShape kWatchResponse;

// The messages of Lease, Cluster and Maintenance.
extern const MessageShape kLeaseGrantRequest;
extern const MessageShape kLeaseGrantResponse;
extern const MessageShape kLeaseRevokeRequest;
extern const MessageShape kLeaseRevokeResponse;
extern const MessageShape kLeaseKeepAliveRequest;
extern const MessageShape kLeaseKeepAliveResponse;
extern const MessageShape kLeaseTimeToLiveRequest;
extern const MessageShape kLeaseTimeToLiveResponse;
extern const MessageShape kLeaseLeasesRequest;
extern const MessageShape kLeaseStatus;
extern const MessageShape kLeaseLeasesResponse;
extern const MessageShape kMember;
extern const MessageShape kMemberAddRequest;
extern const MessageShape kMemberAddResponse;
extern const MessageShape kMemberRemoveRequest;
extern const MessageShape kMemberRemoveResponse;
extern const MessageShape kMemberUpdateRequest;
extern const MessageShape kMemberUpdateResponse;
extern const MessageShape kMemberListRequest;
extern const MessageShape kMemberListResponse;
extern const MessageShape kMemberPromoteRequest;
extern const MessageShape kMemberPromoteResponse;
extern const MessageShape kDefragmentRequest;
extern const MessageShape kDefragmentResponse;
extern const MessageShape kMoveLeaderRequest;
extern const MessageShape kMoveLeaderResponse;
extern const MessageShape kAlarmRequest;
extern const MessageShape kAlarmMember;
extern const MessageShape kAlarmResponse;
extern const MessageShape kDowngradeRequest;
extern const MessageShape kDowngradeResponse;
extern const MessageShape kDowngradeInfo;
extern const MessageShape kStatusRequest;
extern const MessageShape kStatusResponse;
extern const MessageShape kHashRequest;
extern const MessageShape kHashResponse;
extern const MessageShape kHashKVRequest;
extern const MessageShape kHashKVResponse;
extern const MessageShape kSnapshotRequest;
extern const MessageShape kSnapshotResponse;

// The messages of Auth.
extern const MessageShape kUserAddOptions;
extern const MessageShape kPermission;
extern const MessageShape kAuthEnableRequest;
extern const MessageShape kAuthEnableResponse;
extern const MessageShape kAuthDisableRequest;
extern const MessageShape kAuthDisableResponse;
extern const MessageShape kAuthStatusRequest;
extern const MessageShape kAuthStatusResponse;
extern const MessageShape kAuthenticateRequest;
extern const MessageShape kAuthenticateResponse;
extern const MessageShape kAuthUserAddRequest;
extern const MessageShape kAuthUserAddResponse;
extern const MessageShape kAuthUserGetRequest;
extern const MessageShape kAuthUserGetResponse;
extern const MessageShape kAuthUserListRequest;
extern const MessageShape kAuthUserListResponse;
extern const MessageShape kAuthUserDeleteRequest;
extern const MessageShape kAuthUserDeleteResponse;
extern const MessageShape kAuthUserChangePasswordRequest;
extern const MessageShape kAuthUserChangePasswordResponse;
extern const MessageShape kAuthUserGrantRoleRequest;
extern const MessageShape kAuthUserGrantRoleResponse;
extern const MessageShape kAuthUserRevokeRoleRequest;
extern const MessageShape kAuthUserRevokeRoleResponse;
extern const MessageShape kAuthRoleAddRequest;
extern const MessageShape kAuthRoleAddResponse;
extern const MessageShape kAuthRoleGetRequest;
extern const MessageShape kAuthRoleGetResponse;
extern const MessageShape kAuthRoleListRequest;
extern const MessageShape kAuthRoleListResponse;
extern const MessageShape kAuthRoleDeleteRequest;
extern const MessageShape kAuthRoleDeleteResponse;
extern const MessageShape kAuthRoleGrantPermissionRequest;
extern const MessageShape kAuthRoleGrantPermissionResponse;
extern const MessageShape kAuthRoleRevokePermissionRequest;
extern const MessageShape kAuthRoleRevokePermissionResponse;

// The messages of Lock and Election.
extern const MessageShape kLockRequest;
extern const MessageShape kLockResponse;
extern const MessageShape kUnlockRequest;
extern const MessageShape kUnlockResponse;
extern const MessageShape kLeaderKey;
extern const MessageShape kCampaignRequest;
extern const MessageShape kCampaignResponse;
extern const MessageShape kLeaderRequest;
extern const MessageShape kLeaderResponse;
extern const MessageShape kResignRequest;
extern const MessageShape kResignResponse;
extern const MessageShape kProclaimRequest;
extern const MessageShape kProclaimResponse;

// The fields of a response that has no others.
inline constexpr FieldShape kHeaderAlone[] = {Part(1, "header", kResponseHeader)};

}  // namespace kvorum::server::gateway
