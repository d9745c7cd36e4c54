// The order of a role's permissions: etcd's, which decides which permission a further grant
// changes, so that members of both kinds keep the same roles.
#pragma once

#include <vector>

#include "auth/permission.h"

namespace kvorum::auth {

// Sets a permission in a list sorted by key. One on the same range is changed if it is the first of
// its key; otherwise the list gets one more, and the range allows what both do. The new one is
// sorted in as Go's sort.Sort does it, which is not stable: among 13 to 49 permissions those of
// equal keys may swap, always in the same way. O(n log n), hardly any allocation.
void SetPermission(std::vector<Permission>& permissions, const Permission& permission);

}  // namespace kvorum::auth
