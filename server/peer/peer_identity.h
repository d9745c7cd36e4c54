// Who we are among the members, and how requests between members say so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/raft_types.h"
#include "rpc/http1_parser.h"

namespace kvorum::server {

// The oldest members that we speak with.
inline constexpr std::string_view kMinClusterVersion = "3.0.0";
// On every answer under /raft, and on every snapshot that is posted: the format of a snapshot's
// content (mvcc/snapshot_stream.h). A peer that does not say this one gets no snapshot of ours, and
// one that comes without it is not taken: an etcd member's is a file of another kind.
inline constexpr std::string_view kSnapshotFormatHeader = "X-Kvorum-Snapshot-Format";
inline constexpr std::string_view kSnapshotFormat = "1";

inline constexpr std::string_view kPipelinePath = "/raft";
inline constexpr std::string_view kSnapshotPath = "/raft/snapshot";
inline constexpr std::string_view kProbingPath = "/raft/probing";
inline constexpr std::string_view kStreamPrefix = "/raft/stream/";

struct PeerIdentity {
  raft::MemberId member_id = raft::kNone;
  std::uint64_t cluster_id = 0;
  std::string peer_urls;  // ours, separated by commas
};

// The head of a request to a peer, up to and with the line of X-PeerURLs. `more` are whole lines.
std::string RequestHead(const PeerIdentity& identity, std::string_view method,
                        std::string_view host, std::string_view path, std::string_view more);

}  // namespace kvorum::server
