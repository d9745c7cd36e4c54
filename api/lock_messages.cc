#include "api/lock_messages.h"

#include "api/tables.h"

namespace kvorum::server {
namespace {

constexpr auto kLock = Describe<LockRequest, Field<1, &LockRequest::name, "name">,
                                Field<2, &LockRequest::lease, "lease">>("v3lockpb.LockRequest");
constexpr auto kOnlyKey =
    Describe<std::string_view, Only<1, std::string_view, "key">>("v3lockpb.UnlockRequest");
constexpr auto kOnlyName =
    Describe<std::string_view, Only<1, std::string_view, "name">>("v3electionpb.LeaderRequest");

constexpr auto kCampaign =
    Describe<CampaignRequest, Field<1, &CampaignRequest::name, "name">,
             Field<2, &CampaignRequest::lease, "lease">,
             Field<3, &CampaignRequest::value, "value">>("v3electionpb.CampaignRequest");

constexpr auto kLeaderKey =
    Describe<LeaderKey, Field<1, &LeaderKey::name, "name">, Field<2, &LeaderKey::key, "key">,
             Field<3, &LeaderKey::created, "rev">, Field<4, &LeaderKey::lease, "lease">>(
        "v3electionpb.LeaderKey");
constexpr auto kProclaim =
    Describe<LeadershipRequest, Nested<1, &LeadershipRequest::leader, kLeaderKey, "leader">,
             Field<2, &LeadershipRequest::value, "value">>("v3electionpb.ProclaimRequest");
constexpr auto kResign =
    Describe<LeadershipRequest, Nested<1, &LeadershipRequest::leader, kLeaderKey, "leader">>(
        "v3electionpb.ResignRequest");

struct LockAnswer {
  ResponseHeader header;
  std::string_view key;
};
constexpr auto kLockAnswer =
    Describe<LockAnswer, Nested<1, &LockAnswer::header, kResponseHeader, "header">,
             Field<2, &LockAnswer::key, "key">>("v3lockpb.LockResponse");

struct CampaignAnswer {
  ResponseHeader header;
  LeaderKey leader;
};
constexpr auto kCampaignAnswer =
    Describe<CampaignAnswer, Nested<1, &CampaignAnswer::header, kResponseHeader, "header">,
             Nested<2, &CampaignAnswer::leader, kLeaderKey, "leader">>(
        "v3electionpb.CampaignResponse");

struct LeaderAnswer {
  ResponseHeader header;
  std::string_view kv;
};
constexpr auto kLeaderAnswer =
    Describe<LeaderAnswer, Nested<1, &LeaderAnswer::header, kResponseHeader, "header">,
             wire::Always<wire::Encoded<2, &LeaderAnswer::kv, kKeyValue, "kv">>>(
        "v3electionpb.LeaderResponse");

constexpr const wire::Table* kLockTables[] = {
    &kLock,     &kOnlyKey, &kOnlyName,   &kCampaign,       &kLeaderKey,
    &kProclaim, &kResign,  &kLockAnswer, &kCampaignAnswer, &kLeaderAnswer};

}  // namespace

MessageTables LockTables() { return kLockTables; }

Result<LockRequest> DecodeLock(std::string_view bytes) { return wire::DecodeRequest(kLock, bytes); }

Result<std::string_view> DecodeOnlyBytes(std::string_view bytes) {
  return wire::DecodeRequest(kOnlyKey, bytes);
}

Result<CampaignRequest> DecodeCampaign(std::string_view bytes) {
  return wire::DecodeRequest(kCampaign, bytes);
}

Result<LeadershipRequest> DecodeProclaim(std::string_view bytes) {
  return wire::DecodeRequest(kProclaim, bytes);
}

Result<LeadershipRequest> DecodeResign(std::string_view bytes) {
  return wire::DecodeRequest(kResign, bytes);
}

SharedBytes EncodeLockResponse(const ResponseHeader& header, std::string_view key) {
  return wire::EncodeShared(kLockAnswer, {.header = header, .key = key});
}

SharedBytes EncodeCampaignResponse(const ResponseHeader& header, const LeaderKey& leader) {
  return wire::EncodeShared(kCampaignAnswer, {.header = header, .leader = leader});
}

SharedBytes EncodeLeaderResponse(const ResponseHeader& header, std::string_view kv) {
  return wire::EncodeShared(kLeaderAnswer, {.header = header, .kv = kv});
}

}  // namespace kvorum::server
