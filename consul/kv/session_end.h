// The end of a session: its key goes, then the keys that it holds are released or deleted, as the
// session wanted it, and may not be locked for its lock-delay.
//
// Safe against others who do the same: every write compares what it leans on.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "consul/kv/kv_form.h"
#include "consul/kv/work.h"
#include "sync/store/store.h"

namespace kvorum::consul {

using OnEnded = std::move_only_function<void(Result<void>)>;

// Clears the keys of a session whose key is gone. Calls back on the work, once; the store, the keys
// and the work outlive that. kFailedPrecondition: the session lives.
void ClearSession(sync::Store& store, const KvKeys& keys, const Work& work, std::string session,
                  OnEnded on_ended);

}  // namespace kvorum::consul
