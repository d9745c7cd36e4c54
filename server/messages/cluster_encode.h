// Requests and answers of the Cluster service on the wire.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "server/messages/kv_encode.h"
#include "server/messages/member.h"

namespace kvorum::server {

// MemberAddRequest and MemberUpdateRequest: each leaves what it does not have at its default.
struct MemberRequest {
  raft::MemberId id = raft::kNone;
  std::vector<std::string> peer_urls;
  bool is_learner = false;
};
Result<MemberRequest> DecodeMemberAddRequest(std::string_view bytes);
Result<MemberRequest> DecodeMemberUpdateRequest(std::string_view bytes);
// Reads MemberRemoveRequest and MemberPromoteRequest, which are an id and nothing else.
Result<raft::MemberId> DecodeMemberId(std::string_view bytes);
// MemberListRequest.linearizable.
Result<bool> DecodeMemberListRequest(std::string_view bytes);

SharedBytes EncodeMemberAddResponse(const ResponseHeader& header, const Member& added,
                                    const MembershipView& view);
// The answer of the other four.
SharedBytes EncodeMembersResponse(const ResponseHeader& header, const MembershipView& view);

}  // namespace kvorum::server
