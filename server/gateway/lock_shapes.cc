// The messages of Lock and Election.
#include "server/gateway/message_shapes.h"

namespace kvorum::server::gateway {
namespace {

using enum ValueType;

constexpr FieldShape kLockRequestFields[] = {One(1, "name", kBytes), One(2, "lease", kInt64)};
constexpr FieldShape kLockResponseFields[] = {Part(1, "header", kResponseHeader),
                                              One(2, "key", kBytes)};
constexpr FieldShape kUnlockRequestFields[] = {One(1, "key", kBytes)};
constexpr FieldShape kLeaderKeyFields[] = {
    One(1, "name", kBytes),
    One(2, "key", kBytes),
    One(3, "rev", kInt64),
    One(4, "lease", kInt64),
};
constexpr FieldShape kCampaignRequestFields[] = {
    One(1, "name", kBytes),
    One(2, "lease", kInt64),
    One(3, "value", kBytes),
};
constexpr FieldShape kCampaignResponseFields[] = {Part(1, "header", kResponseHeader),
                                                  Part(2, "leader", kLeaderKey)};
constexpr FieldShape kLeaderRequestFields[] = {One(1, "name", kBytes)};
constexpr FieldShape kLeaderResponseFields[] = {Part(1, "header", kResponseHeader),
                                                Part(2, "kv", kKeyValue)};
constexpr FieldShape kResignRequestFields[] = {Part(1, "leader", kLeaderKey)};
constexpr FieldShape kProclaimRequestFields[] = {Part(1, "leader", kLeaderKey),
                                                 One(2, "value", kBytes)};

}  // namespace

constinit const MessageShape kLockRequest{"v3lockpb.LockRequest", kLockRequestFields};
constinit const MessageShape kLockResponse{"v3lockpb.LockResponse", kLockResponseFields};
constinit const MessageShape kUnlockRequest{"v3lockpb.UnlockRequest", kUnlockRequestFields};
constinit const MessageShape kUnlockResponse{"v3lockpb.UnlockResponse", kHeaderAlone};
constinit const MessageShape kLeaderKey{"v3electionpb.LeaderKey", kLeaderKeyFields};
constinit const MessageShape kCampaignRequest{"v3electionpb.CampaignRequest",
                                              kCampaignRequestFields};
constinit const MessageShape kCampaignResponse{"v3electionpb.CampaignResponse",
                                               kCampaignResponseFields};
constinit const MessageShape kLeaderRequest{"v3electionpb.LeaderRequest", kLeaderRequestFields};
constinit const MessageShape kLeaderResponse{"v3electionpb.LeaderResponse", kLeaderResponseFields};
constinit const MessageShape kResignRequest{"v3electionpb.ResignRequest", kResignRequestFields};
constinit const MessageShape kResignResponse{"v3electionpb.ResignResponse", kHeaderAlone};
constinit const MessageShape kProclaimRequest{"v3electionpb.ProclaimRequest",
                                              kProclaimRequestFields};
constinit const MessageShape kProclaimResponse{"v3electionpb.ProclaimResponse", kHeaderAlone};

}  // namespace kvorum::server::gateway
