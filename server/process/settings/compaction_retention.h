// The meaning of --auto-compaction-retention in either mode.
#pragma once

#include <string_view>

#include "base/error.h"
#include "server/replica/upkeep/compaction_schedule.h"

namespace kvorum::server {

// A plain number is hours for "periodic", and revisions for "revision". Anything else is a
// duration, whose nanoseconds are the number of revisions for "revision", as in etcd. Zero and an
// empty text are off. kInvalidArgument, with etcd's text, for others, and for those with which etcd
// compacts without a pause: negative ones and overflows.
Result<CompactionPolicy> ParseCompactionRetention(std::string_view mode,
                                                  std::string_view retention);

}  // namespace kvorum::server
