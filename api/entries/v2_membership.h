// The members as members up to 3.6 keep them a second time: in the store of etcd's v2 API, whose
// JSON travels as a snapshot's data and lies in their snapshot files. Those members end at a
// snapshot without it; 3.7 writes it and does not read it.
#pragma once

#include <string>

#include "api/member.h"

namespace kvorum::server {

std::string EncodeV2Membership(const MembershipView& view);

}  // namespace kvorum::server
