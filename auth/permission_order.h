// The order in which a role keeps its permissions: that of etcd, where it decides which one a
// further grant changes, so that members of both kinds keep the same roles.
#pragma once

#include <vector>

#include "auth/permission.h"

namespace kvorum::auth {

// Sets a permission in a list that is sorted by key. One on the same range is changed if it is the
// first of its key; else there is one more, and the range has what both allow. The new one is
// sorted in as Go's sort.Sort does it, which is not stable: among 13 to 49 permissions those of
// equal keys may change places, always in the same way. O(n log n), next to no allocation.
void SetPermission(std::vector<Permission>& permissions, const Permission& permission);

}  // namespace kvorum::auth
