// The members of a new cluster as --initial-cluster tells them, and what every one of them derives
// from that alone: ids, and the first entries of the log. Pure functions, but for the given
// resolver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/member.h"
#include "base/error.h"
#include "base/net/resolved_url.h"
#include "raft/bootstrap.h"

namespace kvorum::datadir {

// kInvalidArgument if there is none of that name.
Result<const server::Member*> FindSelf(const std::vector<server::Member>& members,
                                       std::string_view name);

// kInvalidArgument unless a member of a new cluster advertises the URLs that --initial-cluster has
// for it: the others would look for it elsewhere. Names of one address are equal.
Result<void> CheckAdvertisedUrls(const UrlResolver& resolve, const server::Member& self,
                                 const std::vector<std::string>& advertised);

std::uint64_t ClusterIdOf(const std::vector<server::Member>& members);

// One configuration change for each member.
raft::Bootstrap FirstEntriesOf(const std::vector<server::Member>& members);

}  // namespace kvorum::datadir
