// Member and cluster ids, derived as the API level requires: the first 8 bytes, big-endian, of
// SHA-1 hashes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/raft_types.h"

namespace kvorum::server {

// Over the sorted peer URLs joined without a separator, then the cluster token, then, only for a
// member that is added at run time, the Unix time in decimal.
raft::MemberId ComputeMemberId(std::vector<std::string> peer_urls, std::string_view cluster_token,
                               std::optional<std::int64_t> added_at_unix_s);
// Over the sorted member ids, 8 bytes big-endian each.
std::uint64_t ComputeClusterId(std::vector<raft::MemberId> members);

// Lower-case hex without padding, the form in which ids are shown.
std::string IdText(std::uint64_t id);
std::string IdText(raft::MemberId id);
// Parses the whole text; nullopt for anything else, such as digits followed by something.
std::optional<std::uint64_t> ParseIdText(std::string_view text);
std::optional<raft::MemberId> ParseMemberId(std::string_view text);

}  // namespace kvorum::server
