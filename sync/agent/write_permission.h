// Asks the store whether it would let the owner of a token write entries of the node, without
// writing anything: a transaction whose compare never holds names the keys that would be written,
// and a store checks the rights of both branches before it compares. The keys are named with their
// lease: a store may ask for the right to write all keys of a lease.
//
// Thread-safe and without state; an answer comes on the loop. A question of more keys than a
// transaction may have is asked in parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "sync/agent/catalog_pass.h"
#include "sync/agent/entry.h"
#include "sync/kernel/loop.h"
#include "sync/store/store.h"

namespace kvorum::sync {

// The place of an entry in the catalog: a service's id and name; of a check of the node, the node's
// record.
struct EntryPlace {
  std::string id = {};
  std::string name = {};
  EntryKind kind = EntryKind::kService;
};
EntryPlace PlaceOf(const Entry& entry);
inline EntryPlace PlaceOfNode() { return {.id = ".", .kind = EntryKind::kNode}; }

class WritePermission {
 public:
  // The store outlives the answers.
  WritePermission(Store& store, Loop::Handle loop, CatalogPassOptions options)
      : store_(store), loop_(std::move(loop)), options_(std::move(options)) {}

  // kPermissionDenied: the store refuses the token or one of the places. Any other error: it did
  // not say, kCanceled if the loop has stopped. An empty token is the agent itself.
  using OnAnswer = std::move_only_function<void(Result<void>)>;
  void Ask(const std::vector<EntryPlace>& places, const std::string& token, std::int64_t lease,
           OnAnswer on_answer) const;

 private:
  struct Question;
  std::vector<TxnRequest> RequestsAbout(const std::vector<EntryPlace>& places,
                                        std::int64_t lease) const;
  static void AskNext(const std::shared_ptr<Question>& question, Store& store,
                      const Loop::Handle& loop);

  Store& store_;
  const Loop::Handle loop_;
  const CatalogPassOptions options_;
};

}  // namespace kvorum::sync
