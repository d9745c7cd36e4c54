// The version that all members support: decided by the leader from the members' own versions,
// raised when the last of them can do more.
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

// The version of a cluster while one of its members is unknown, and the oldest that this program
// supports.
inline constexpr Version kLowestClusterVersion{.major = 3, .minor = 0, .patch = 0};
inline constexpr Version kOwnClusterVersion{.major = 3, .minor = 7, .patch = 0};

// The answer of GET /version.
struct PeerVersions {
  std::string server;
  std::string cluster;
};
// Asks all members at the same time; members that do not answer are left out.
std::map<raft::MemberId, PeerVersions> AskVersions(PeerRequester& peers,
                                                   const std::vector<Member>& members,
                                                   Duration timeout);

// The version to propose, or nullopt if it is to stay. `servers` holds each member's own version,
// nullopt for one that does not answer. While a downgrade is under way it falls to the target, from
// the minor version above it.
std::optional<std::string> DecideClusterVersion(
    std::string_view current, const DowngradeInfo& downgrade,
    const std::vector<std::optional<std::string>>& servers);

// The target of a downgrade from a client's text, "3.6" or "3.6.0-rc.1+build", whose minor version
// alone counts. kErrWrongDowngradeVersionFormat for other texts.
Result<Version> ParseDowngradeTarget(std::string_view text);
// True if a cluster may go down from `from` to `target`: one minor version.
bool IsDowngrade(Version from, Version target);

// The version that Status and /version tell of the storage, which follows the cluster's as in etcd,
// where it says that a member's data can be read by that version.
std::string StorageVersionIn(std::string_view cluster_version);
// The one that etcd's file of this database states, by which its members and tools know whether
// they can read it: none before 3.6 (empty), the backend's own (nullopt) while no version is
// decided.
std::optional<std::string> ImageStorageVersion(std::string_view cluster_version);
// True for a file of a version that this program can read: older ones state none.
bool IsReadableStorage(std::string_view storage_version);

}  // namespace kvorum::server
