// Our identity among the members, and the headers that state it in requests between members.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/raft_types.h"
#include "rpc/http/http1_parser.h"

namespace kvorum::server {

// The oldest version of members that we talk to.
inline constexpr std::string_view kMinClusterVersion = "3.0.0";
// Sent with every answer under /raft, and with every snapshot that is posted in it: the format of a
// snapshot's content (mvcc/records/snapshot_format.h). A peer whose answers lack it is etcd's, and
// gets etcd's file. What is received tells its format by its first bytes, too; another value of
// this header, of a version to come, is refused before it is read.
inline constexpr std::string_view kSnapshotFormatHeader = "X-Kvorum-Snapshot-Format";
inline constexpr std::string_view kSnapshotFormat = "1";

inline constexpr std::string_view kPipelinePath = "/raft";
inline constexpr std::string_view kSnapshotPath = "/raft/snapshot";
inline constexpr std::string_view kProbingPath = "/raft/probing";
inline constexpr std::string_view kStreamPrefix = "/raft/stream/";

class IncarnationGuard;

struct PeerIdentity {
  raft::MemberId member_id = raft::kNone;
  std::uint64_t cluster_id = 0;
  std::string peer_urls;                     // ours, separated by commas
  IncarnationGuard* incarnations = nullptr;  // null: none is sent, and every peer is admitted
  bool callers_show_certificates = false;    // on all our peer URLs
};

// The head of a request to a peer, up to and including the line of X-PeerURLs. `more` has complete
// lines.
std::string RequestHead(const PeerIdentity& identity, std::string_view method,
                        std::string_view host, std::string_view path, std::string_view more);

}  // namespace kvorum::server
