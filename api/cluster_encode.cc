#include "api/cluster_encode.h"

#include <ranges>

#include "api/tables.h"
#include "base/api_errors.h"
#include "base/net/url.h"

namespace kvorum::server {
namespace {

constexpr auto kAddRequest =
    Describe<MemberRequest, Text<1, &MemberRequest::peer_urls, "peerURLs">,
             Field<2, &MemberRequest::is_learner, "isLearner">>("etcdserverpb.MemberAddRequest");
constexpr auto kUpdateRequest =
    Describe<MemberRequest, Field<1, &MemberRequest::id, "ID">,
             Text<2, &MemberRequest::peer_urls, "peerURLs">>("etcdserverpb.MemberUpdateRequest");
constexpr auto kId = Describe<raft::MemberId, Only<1, raft::MemberId, "ID">>(
    "etcdserverpb.MemberRemoveRequest etcdserverpb.MemberPromoteRequest");
constexpr auto kTargetId =
    Describe<raft::MemberId, Only<1, raft::MemberId, "targetID">>("etcdserverpb.MoveLeaderRequest");
constexpr auto kLinearizable =
    Describe<bool, Only<1, bool, "linearizable">>("etcdserverpb.MemberListRequest");

constexpr auto kMember =
    Describe<Member, Field<1, &Member::id, "ID">, Text<2, &Member::name, "name">,
             Text<3, &Member::peer_urls, "peerURLs">, Text<4, &Member::client_urls, "clientURLs">,
             Field<5, &Member::is_learner, "isLearner">>("etcdserverpb.Member");

struct AddAnswer {
  ResponseHeader header;
  Member added;
  std::vector<Member> members;
};
constexpr auto kAddAnswer =
    Describe<AddAnswer, Nested<1, &AddAnswer::header, kResponseHeader, "header">,
             Nested<2, &AddAnswer::added, kMember, "member">,
             Nested<3, &AddAnswer::members, kMember, "members">>("etcdserverpb.MemberAddResponse");

struct MembersAnswer {
  ResponseHeader header;
  std::vector<Member> members;
};
constexpr auto kMembersAnswer =
    Describe<MembersAnswer, Nested<1, &MembersAnswer::header, kResponseHeader, "header">,
             Nested<2, &MembersAnswer::members, kMember, "members">>(
        "etcdserverpb.MemberListResponse etcdserverpb.MemberRemoveResponse "
        "etcdserverpb.MemberUpdateResponse etcdserverpb.MemberPromoteResponse");

constexpr const wire::Table* kClusterTables[] = {&kAddRequest, &kUpdateRequest, &kId,
                                                 &kTargetId,   &kLinearizable,  &kMember,
                                                 &kAddAnswer,  &kMembersAnswer};

std::vector<Member> MembersOf(const MembershipView& view) {
  const auto members = std::views::values(view.members);
  return {members.begin(), members.end()};
}

}  // namespace

MessageTables ClusterTables() { return kClusterTables; }

Result<MemberRequest> DecodeMemberAddRequest(std::string_view bytes) {
  return wire::DecodeRequest(kAddRequest, bytes);
}

Result<MemberRequest> DecodeMemberUpdateRequest(std::string_view bytes) {
  return wire::DecodeRequest(kUpdateRequest, bytes);
}

Result<void> CheckPeerUrls(const std::vector<std::string>& urls) {
  if (!ParseUrlList(urls).has_value()) return kErrMemberBadUrls.Fail();
  return {};
}

Result<raft::MemberId> DecodeMemberId(std::string_view bytes) {
  return wire::DecodeRequest(kId, bytes);
}

Result<bool> DecodeMemberListRequest(std::string_view bytes) {
  return wire::DecodeRequest(kLinearizable, bytes);
}

SharedBytes EncodeMemberAddResponse(const ResponseHeader& header, const Member& added,
                                    const MembershipView& view) {
  return wire::EncodeShared(kAddAnswer,
                            {.header = header, .added = added, .members = MembersOf(view)});
}

SharedBytes EncodeMembersResponse(const ResponseHeader& header, const MembershipView& view) {
  return wire::EncodeShared(kMembersAnswer, {.header = header, .members = MembersOf(view)});
}

}  // namespace kvorum::server
