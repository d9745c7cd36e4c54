#include "api/lock_messages.h"

#include "api/tables.h"

namespace kvorum::server {
namespace {

constexpr auto kLock =
    Describe<LockRequest, Field<1, &LockRequest::name>, Field<2, &LockRequest::lease>>(
        "v3lockpb.LockRequest");
constexpr auto kOnlyBytes = Describe<std::string_view, Only<1, std::string_view>>(
    "v3lockpb.UnlockRequest v3electionpb.LeaderRequest");

constexpr auto kCampaign =
    Describe<CampaignRequest, Field<1, &CampaignRequest::name>, Field<2, &CampaignRequest::lease>,
             Field<3, &CampaignRequest::value>>("v3electionpb.CampaignRequest");

constexpr auto kLeaderKey =
    Describe<LeaderKey, Field<1, &LeaderKey::name>, Field<2, &LeaderKey::key>,
             Field<3, &LeaderKey::created>, Field<4, &LeaderKey::lease>>("v3electionpb.LeaderKey");
constexpr auto kProclaim =
    Describe<LeadershipRequest, Nested<1, &LeadershipRequest::leader, kLeaderKey>,
             Field<2, &LeadershipRequest::value>>("v3electionpb.ProclaimRequest");
constexpr auto kResign =
    Describe<LeadershipRequest, Nested<1, &LeadershipRequest::leader, kLeaderKey>>(
        "v3electionpb.ResignRequest");

struct LockAnswer {
  ResponseHeader header;
  std::string_view key;
};
constexpr auto kLockAnswer = Describe<LockAnswer, Nested<1, &LockAnswer::header, kResponseHeader>,
                                      Field<2, &LockAnswer::key>>("v3lockpb.LockResponse");

struct CampaignAnswer {
  ResponseHeader header;
  LeaderKey leader;
};
constexpr auto kCampaignAnswer =
    Describe<CampaignAnswer, Nested<1, &CampaignAnswer::header, kResponseHeader>,
             Nested<2, &CampaignAnswer::leader, kLeaderKey>>("v3electionpb.CampaignResponse");

struct LeaderAnswer {
  ResponseHeader header;
  std::string_view kv;
};
constexpr auto kLeaderAnswer =
    Describe<LeaderAnswer, Nested<1, &LeaderAnswer::header, kResponseHeader>,
             wire::Always<wire::Encoded<2, &LeaderAnswer::kv>>>("v3electionpb.LeaderResponse");

constexpr const wire::Table* kLockTables[] = {&kLock,       &kOnlyBytes,      &kCampaign,
                                              &kLeaderKey,  &kProclaim,       &kResign,
                                              &kLockAnswer, &kCampaignAnswer, &kLeaderAnswer};

}  // namespace

MessageTables LockTables() { return kLockTables; }

Result<LockRequest> DecodeLock(std::string_view bytes) { return wire::DecodeRequest(kLock, bytes); }

Result<std::string_view> DecodeOnlyBytes(std::string_view bytes) {
  return wire::DecodeRequest(kOnlyBytes, bytes);
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
