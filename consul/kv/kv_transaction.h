// Operations of KV on a store, as one: the keys are read at one revision, the operations evaluated
// on them (kv_operation.h), and what they decided is written in one transaction that compares what
// was read. If somebody else wrote meanwhile, all of it is done again after a short random pause.
//
// Runs on the work, and calls back there, once. Errors: the store's; kAborted if others were faster
// every time; kResourceExhausted if it does not fit into a transaction of the store, or what it
// reads into an answer.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "consul/kv/kv_operation.h"
#include "consul/kv/work.h"
#include "sync/store/store.h"

namespace kvorum::consul {

struct KvDone {
  std::vector<KvResult> results = {};  // none if there are errors
  std::vector<KvError> errors = {};    // nothing was written if there are any
};
using OnKvDone = std::move_only_function<void(Result<KvDone> done)>;

// The keys and the work outlive the call's answer.
void RunOperations(std::shared_ptr<sync::Store> store, const KvKeys& keys, const Work& work,
                   std::vector<KvOperation> operations, OnKvDone on_done);

}  // namespace kvorum::consul
