// The version that all members can take part in: decided by the leader from what the members say
// they are, raised when the last of them can do more.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/messages/member.h"
#include "server/peer/peer_request.h"

namespace kvorum::server {

struct Version {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t patch = 0;

  // "3.7.1", maybe with a "-suffix"; nullopt for anything else.
  static std::optional<Version> Parse(std::string_view text);
  std::string text() const;
  friend auto operator<=>(const Version&, const Version&) = default;
};

// What a cluster is at while somebody in it is not known, and the oldest that is taken part in.
inline constexpr Version kLowestClusterVersion{.major = 3, .minor = 0, .patch = 0};
inline constexpr Version kOwnClusterVersion{.major = 3, .minor = 7, .patch = 0};

// What GET /version says.
struct PeerVersions {
  std::string server;
  std::string cluster;
};
// Of each of the members, all asked at the same time; nothing of those that do not answer.
std::map<raft::MemberId, PeerVersions> AskVersions(PeerRequester& peers,
                                                   const std::vector<Member>& members,
                                                   Duration timeout);

// The version to propose, or nullopt if it is to stay. `servers` holds what each member says it is,
// nullopt for one that does not answer.
std::optional<std::string> DecideClusterVersion(
    std::string_view current, const std::vector<std::optional<std::string>>& servers);

}  // namespace kvorum::server
