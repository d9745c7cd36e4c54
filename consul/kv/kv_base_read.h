// Reads what operations are evaluated on, at one revision of the store: their keys, the sessions
// that they name or that hold the keys, and the trees.
//
// Calls back on the work, once. Internal to consul/kv.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "consul/kv/kv_operation.h"
#include "consul/kv/work.h"
#include "sync/store/store.h"

namespace kvorum::consul {

using OnKvBase = std::move_only_function<void(Result<KvBase> base)>;
void ReadBase(std::shared_ptr<sync::Store> store, const KvKeys& keys, const Work& work,
              const std::vector<KvOperation>& operations, OnKvBase on_base);

}  // namespace kvorum::consul
