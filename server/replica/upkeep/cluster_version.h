// The version that all members support: decided by the leader from the members' own versions,
// raised when the last of them can do more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/member.h"
#include "api/version_number.h"
#include "base/error.h"
#include "server/peer/transport/peer_request.h"

namespace kvorum::server {

// The answer of GET /version.
struct PeerVersions {
  std::string server;
  std::string cluster;
  bool is_etcd = true;  // not one of ours, which say so
};
// Decides whether members that do not answer are a matter for the log.
enum class Unreached : std::uint8_t { kIsLogged, kIsSilent };
// Asks all members at the same time; members that do not answer are left out.
std::map<raft::MemberId, PeerVersions> AskVersions(PeerRequester& peers,
                                                   const std::vector<Member>& members,
                                                   Duration timeout,
                                                   Unreached unreached = Unreached::kIsLogged);

// The version to propose, or nullopt if the current one stays. `servers` holds each member's own
// version, nullopt for one that does not answer. A downgrade lowers the version by one minor
// version, to its target.
std::optional<std::string> DecideClusterVersion(
    std::string_view current, const DowngradeInfo& downgrade,
    const std::vector<std::optional<std::string>>& servers);

// The target of a downgrade from a client's text, "3.6" or "3.6.0-rc.1+build", whose minor version
// alone counts. kErrWrongDowngradeVersionFormat for other texts.
Result<Version> ParseDowngradeTarget(std::string_view text);
// True if a cluster may go down from `from` to `target`: one minor version.
bool IsDowngrade(Version from, Version target);

}  // namespace kvorum::server
