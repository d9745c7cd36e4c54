// The checks of a request's sender under /raft, in the order in which etcd's peers make them, and
// the answers for those that fail. Pure.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "api/member.h"
#include "rpc/http/http.h"
#include "rpc/http/http1_parser.h"
#include "rpc/http/http_error.h"
#include "server/peer/codec/stream_codec.h"
#include "server/peer/io/peer_identity.h"

namespace kvorum::server {

using rpc::HttpError;

// 405 with Allow, then 412 for a version or cluster that differs from ours.
std::optional<rpc::HttpResponse> RefuseRequest(const rpc::HttpHead& head, std::string_view method,
                                               std::uint64_t cluster_id);

struct StreamRequest {
  StreamKind kind = StreamKind::kMessage;
  raft::MemberId from = raft::kNone;
};
struct StreamRefusal {
  rpc::HttpResponse response;
  raft::MemberId unknown_sender = raft::kNone;  // if that is the reason
};
// Comes after RefuseRequest, for a path under /raft/stream/.
std::expected<StreamRequest, StreamRefusal> CheckStreamRequest(const rpc::HttpHead& head,
                                                               raft::MemberId local,
                                                               const MembershipView& view);

}  // namespace kvorum::server
