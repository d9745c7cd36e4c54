// Member and cluster ids as the API level derives them: the first 8 bytes, big-endian, of SHA-1
// hashes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/raft_types.h"

namespace kvorum::server {

// Over the sorted peer URLs joined without a separator, then the cluster token, then, for a member
// that is added at run time only, the Unix time in decimal.
raft::MemberId ComputeMemberId(std::vector<std::string> peer_urls, std::string_view cluster_token,
                               std::optional<std::int64_t> added_at_unix_s);
// Over the sorted member ids, 8 bytes big-endian each.
std::uint64_t ComputeClusterId(std::vector<raft::MemberId> members);

// Lower-case hex without padding, as ids are shown.
std::string IdText(std::uint64_t id);
// Of the text as a whole; nullopt for anything else, such as digits with something behind them.
std::optional<std::uint64_t> ParseIdText(std::string_view text);

}  // namespace kvorum::server
