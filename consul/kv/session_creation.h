// Makes a session: looks at the node's life in the store and at its checks in the copy, and writes
// the session's key in a transaction that compares them.
//
// Runs on the work, and calls back there, once. Error: kFailedPrecondition with the API's text, or
// the store's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "consul/catalog/catalog_copy.h"
#include "consul/kv/kv_form.h"
#include "consul/kv/session_body.h"
#include "consul/kv/work.h"
#include "sync/store/store.h"

namespace kvorum::consul {

// The session's id.
using OnSession = std::move_only_function<void(Result<std::string> id)>;
void CreateSession(std::shared_ptr<sync::Store> store, CatalogCopy& copy, const KvKeys& keys,
                   const Work& work, WantedSession wanted, OnSession on_session);

}  // namespace kvorum::consul
