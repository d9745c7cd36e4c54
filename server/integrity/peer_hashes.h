// The client's side of /members/hashkv: other members' HashKV, asked at their peer ports in etcd's
// form, so that it works in mixed clusters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/member.h"
#include "base/clock.h"
#include "base/error.h"
#include "mvcc/store/hash.h"
#include "server/peer/transport/peer_request.h"

namespace kvorum::server {

struct PeerHash {
  mvcc::KvHash hash;
  std::int64_t current_revision = 0;
};

// A member's answer, or the error of its last URL.
struct PeerHashAnswer {
  raft::MemberId id = raft::kNone;
  std::vector<std::string> urls;
  Result<PeerHash> hash;
};

// kErrCompacted, kErrFutureRev, kClusterIdMismatch, or kUnknown with the answer's text.
inline constexpr ApiError kClusterIdMismatch{Code::kFailedPrecondition, "cluster ID mismatch"};
Result<PeerHash> ReadHashAnswer(const PeerAnswer& answer);

// The member whose peers are asked.
struct Asking {
  std::uint64_t cluster_id = 0;
  raft::MemberId self = raft::kNone;
  Duration timeout{};  // for each URL
};

// Asks each of the others in turn, URL by URL until one answers; logs each that does not. Members
// without a URL are left out.
std::vector<PeerHashAnswer> AskPeerHashes(PeerRequester& peers, const MembershipView& members,
                                          const Asking& asking, std::int64_t revision);

}  // namespace kvorum::server
