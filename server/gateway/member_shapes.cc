// The messages of Lease, Cluster and Maintenance.
#include "server/gateway/message_shapes.h"

namespace kvorum::server::gateway {
namespace {

using enum ValueType;

constexpr std::string_view kAlarmRequestAlarmActionNames[] = {"GET", "ACTIVATE", "DEACTIVATE"};
constexpr std::string_view kAlarmTypeNames[] = {"NONE", "NOSPACE", "CORRUPT"};
constexpr std::string_view kDowngradeRequestDowngradeActionNames[] = {"VALIDATE", "ENABLE",
                                                                      "CANCEL"};

constexpr FieldShape kLeaseGrantRequestFields[] = {One(1, "TTL", kInt64), One(2, "ID", kInt64)};
constexpr FieldShape kLeaseGrantResponseFields[] = {
    Part(1, "header", kResponseHeader),
    One(2, "ID", kInt64),
    One(3, "TTL", kInt64),
    One(4, "error", kString),
};
constexpr FieldShape kLeaseRevokeRequestFields[] = {One(1, "ID", kInt64)};
constexpr FieldShape kLeaseKeepAliveRequestFields[] = {One(1, "ID", kInt64)};
constexpr FieldShape kLeaseKeepAliveResponseFields[] = {
    Part(1, "header", kResponseHeader),
    One(2, "ID", kInt64),
    One(3, "TTL", kInt64),
};
constexpr FieldShape kLeaseTimeToLiveRequestFields[] = {One(1, "ID", kInt64),
                                                        One(2, "keys", kBool)};
constexpr FieldShape kLeaseTimeToLiveResponseFields[] = {
    Part(1, "header", kResponseHeader), One(2, "ID", kInt64),         One(3, "TTL", kInt64),
    One(4, "grantedTTL", kInt64),       Many(One(5, "keys", kBytes)),
};
constexpr FieldShape kLeaseStatusFields[] = {One(1, "ID", kInt64)};
constexpr FieldShape kLeaseLeasesResponseFields[] = {Part(1, "header", kResponseHeader),
                                                     Many(Part(2, "leases", kLeaseStatus))};
constexpr FieldShape kMemberFields[] = {
    One(1, "ID", kUint64),
    One(2, "name", kString),
    Many(One(3, "peerURLs", kString)),
    Many(One(4, "clientURLs", kString)),
    One(5, "isLearner", kBool),
};
constexpr FieldShape kMemberAddRequestFields[] = {Many(One(1, "peerURLs", kString)),
                                                  One(2, "isLearner", kBool)};
constexpr FieldShape kMemberAddResponseFields[] = {
    Part(1, "header", kResponseHeader),
    Part(2, "member", kMember),
    Many(Part(3, "members", kMember)),
};
constexpr FieldShape kMemberRemoveRequestFields[] = {One(1, "ID", kUint64)};
constexpr FieldShape kMemberRemoveResponseFields[] = {Part(1, "header", kResponseHeader),
                                                      Many(Part(2, "members", kMember))};
constexpr FieldShape kMemberUpdateRequestFields[] = {One(1, "ID", kUint64),
                                                     Many(One(2, "peerURLs", kString))};
constexpr FieldShape kMemberUpdateResponseFields[] = {Part(1, "header", kResponseHeader),
                                                      Many(Part(2, "members", kMember))};
constexpr FieldShape kMemberListRequestFields[] = {One(1, "linearizable", kBool)};
constexpr FieldShape kMemberListResponseFields[] = {Part(1, "header", kResponseHeader),
                                                    Many(Part(2, "members", kMember))};
constexpr FieldShape kMemberPromoteRequestFields[] = {One(1, "ID", kUint64)};
constexpr FieldShape kMemberPromoteResponseFields[] = {Part(1, "header", kResponseHeader),
                                                       Many(Part(2, "members", kMember))};
constexpr FieldShape kMoveLeaderRequestFields[] = {One(1, "targetID", kUint64)};
constexpr FieldShape kAlarmRequestFields[] = {
    Enum(1, "action", kAlarmRequestAlarmActionNames),
    One(2, "memberID", kUint64),
    Enum(3, "alarm", kAlarmTypeNames),
};
constexpr FieldShape kAlarmMemberFields[] = {One(1, "memberID", kUint64),
                                             Enum(2, "alarm", kAlarmTypeNames)};
constexpr FieldShape kAlarmResponseFields[] = {Part(1, "header", kResponseHeader),
                                               Many(Part(2, "alarms", kAlarmMember))};
constexpr FieldShape kDowngradeRequestFields[] = {
    Enum(1, "action", kDowngradeRequestDowngradeActionNames), One(2, "version", kString)};
constexpr FieldShape kDowngradeResponseFields[] = {Part(1, "header", kResponseHeader),
                                                   One(2, "version", kString)};
constexpr FieldShape kDowngradeInfoFields[] = {One(1, "enabled", kBool),
                                               One(2, "targetVersion", kString)};
constexpr FieldShape kStatusResponseFields[] = {
    Part(1, "header", kResponseHeader),
    One(2, "version", kString),
    One(3, "dbSize", kInt64),
    One(4, "leader", kUint64),
    One(5, "raftIndex", kUint64),
    One(6, "raftTerm", kUint64),
    One(7, "raftAppliedIndex", kUint64),
    Many(One(8, "errors", kString)),
    One(9, "dbSizeInUse", kInt64),
    One(10, "isLearner", kBool),
    One(11, "storageVersion", kString),
    One(12, "dbSizeQuota", kInt64),
    Part(13, "downgradeInfo", kDowngradeInfo),
};
constexpr FieldShape kHashResponseFields[] = {Part(1, "header", kResponseHeader),
                                              One(2, "hash", kUint32)};
constexpr FieldShape kHashKVRequestFields[] = {One(1, "revision", kInt64)};
constexpr FieldShape kHashKVResponseFields[] = {
    Part(1, "header", kResponseHeader),
    One(2, "hash", kUint32),
    One(3, "compact_revision", kInt64),
    One(4, "hash_revision", kInt64),
};
constexpr FieldShape kSnapshotResponseFields[] = {
    Part(1, "header", kResponseHeader),
    One(2, "remaining_bytes", kUint64),
    One(3, "blob", kBytes),
    One(4, "version", kString),
};

}  // namespace

constinit const MessageShape kLeaseGrantRequest{"etcdserverpb.LeaseGrantRequest",
                                                kLeaseGrantRequestFields};
constinit const MessageShape kLeaseGrantResponse{"etcdserverpb.LeaseGrantResponse",
                                                 kLeaseGrantResponseFields};
constinit const MessageShape kLeaseRevokeRequest{"etcdserverpb.LeaseRevokeRequest",
                                                 kLeaseRevokeRequestFields};
constinit const MessageShape kLeaseRevokeResponse{"etcdserverpb.LeaseRevokeResponse", kHeaderAlone};
constinit const MessageShape kLeaseKeepAliveRequest{"etcdserverpb.LeaseKeepAliveRequest",
                                                    kLeaseKeepAliveRequestFields};
constinit const MessageShape kLeaseKeepAliveResponse{"etcdserverpb.LeaseKeepAliveResponse",
                                                     kLeaseKeepAliveResponseFields};
constinit const MessageShape kLeaseTimeToLiveRequest{"etcdserverpb.LeaseTimeToLiveRequest",
                                                     kLeaseTimeToLiveRequestFields};
constinit const MessageShape kLeaseTimeToLiveResponse{"etcdserverpb.LeaseTimeToLiveResponse",
                                                      kLeaseTimeToLiveResponseFields};
constinit const MessageShape kLeaseLeasesRequest{"etcdserverpb.LeaseLeasesRequest", {}};
constinit const MessageShape kLeaseStatus{"etcdserverpb.LeaseStatus", kLeaseStatusFields};
constinit const MessageShape kLeaseLeasesResponse{"etcdserverpb.LeaseLeasesResponse",
                                                  kLeaseLeasesResponseFields};
constinit const MessageShape kMember{"etcdserverpb.Member", kMemberFields};
constinit const MessageShape kMemberAddRequest{"etcdserverpb.MemberAddRequest",
                                               kMemberAddRequestFields};
constinit const MessageShape kMemberAddResponse{"etcdserverpb.MemberAddResponse",
                                                kMemberAddResponseFields};
constinit const MessageShape kMemberRemoveRequest{"etcdserverpb.MemberRemoveRequest",
                                                  kMemberRemoveRequestFields};
constinit const MessageShape kMemberRemoveResponse{"etcdserverpb.MemberRemoveResponse",
                                                   kMemberRemoveResponseFields};
constinit const MessageShape kMemberUpdateRequest{"etcdserverpb.MemberUpdateRequest",
                                                  kMemberUpdateRequestFields};
constinit const MessageShape kMemberUpdateResponse{"etcdserverpb.MemberUpdateResponse",
                                                   kMemberUpdateResponseFields};
constinit const MessageShape kMemberListRequest{"etcdserverpb.MemberListRequest",
                                                kMemberListRequestFields};
constinit const MessageShape kMemberListResponse{"etcdserverpb.MemberListResponse",
                                                 kMemberListResponseFields};
constinit const MessageShape kMemberPromoteRequest{"etcdserverpb.MemberPromoteRequest",
                                                   kMemberPromoteRequestFields};
constinit const MessageShape kMemberPromoteResponse{"etcdserverpb.MemberPromoteResponse",
                                                    kMemberPromoteResponseFields};
constinit const MessageShape kDefragmentRequest{"etcdserverpb.DefragmentRequest", {}};
constinit const MessageShape kDefragmentResponse{"etcdserverpb.DefragmentResponse", kHeaderAlone};
constinit const MessageShape kMoveLeaderRequest{"etcdserverpb.MoveLeaderRequest",
                                                kMoveLeaderRequestFields};
constinit const MessageShape kMoveLeaderResponse{"etcdserverpb.MoveLeaderResponse", kHeaderAlone};
constinit const MessageShape kAlarmRequest{"etcdserverpb.AlarmRequest", kAlarmRequestFields};
constinit const MessageShape kAlarmMember{"etcdserverpb.AlarmMember", kAlarmMemberFields};
constinit const MessageShape kAlarmResponse{"etcdserverpb.AlarmResponse", kAlarmResponseFields};
constinit const MessageShape kDowngradeRequest{"etcdserverpb.DowngradeRequest",
                                               kDowngradeRequestFields};
constinit const MessageShape kDowngradeResponse{"etcdserverpb.DowngradeResponse",
                                                kDowngradeResponseFields};
constinit const MessageShape kDowngradeInfo{"etcdserverpb.DowngradeInfo", kDowngradeInfoFields};
constinit const MessageShape kStatusRequest{"etcdserverpb.StatusRequest", {}};
constinit const MessageShape kStatusResponse{"etcdserverpb.StatusResponse", kStatusResponseFields};
constinit const MessageShape kHashRequest{"etcdserverpb.HashRequest", {}};
constinit const MessageShape kHashResponse{"etcdserverpb.HashResponse", kHashResponseFields};
constinit const MessageShape kHashKVRequest{"etcdserverpb.HashKVRequest", kHashKVRequestFields};
constinit const MessageShape kHashKVResponse{"etcdserverpb.HashKVResponse", kHashKVResponseFields};
constinit const MessageShape kSnapshotRequest{"etcdserverpb.SnapshotRequest", {}};
constinit const MessageShape kSnapshotResponse{"etcdserverpb.SnapshotResponse",
                                               kSnapshotResponseFields};

}  // namespace kvorum::server::gateway
