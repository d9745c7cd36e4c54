// Requests and answers of the Cluster service on the wire.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/kv_encode.h"
#include "api/member.h"
#include "base/error.h"
#include "base/shared_bytes.h"

namespace kvorum::server {

// MemberAddRequest and MemberUpdateRequest; fields that one lacks keep their default.
struct MemberRequest {
  raft::MemberId id = raft::kNone;
  std::vector<std::string> peer_urls;
  bool is_learner = false;
};
Result<MemberRequest> DecodeMemberAddRequest(std::string_view bytes);
Result<MemberRequest> DecodeMemberUpdateRequest(std::string_view bytes);
// A member of etcd that gets an invalid URL through the log crashes, again at each start.
Result<void> CheckPeerUrls(const std::vector<std::string>& urls);
// Decodes MemberRemoveRequest, MemberPromoteRequest and MoveLeaderRequest, which consist of an id.
Result<raft::MemberId> DecodeMemberId(std::string_view bytes);
// Returns MemberListRequest.linearizable.
Result<bool> DecodeMemberListRequest(std::string_view bytes);

SharedBytes EncodeMemberAddResponse(const ResponseHeader& header, const Member& added,
                                    const MembershipView& view);
// The answer of the other four.
SharedBytes EncodeMembersResponse(const ResponseHeader& header, const MembershipView& view);

}  // namespace kvorum::server
