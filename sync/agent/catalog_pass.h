// One pass of anti-entropy. A full pass reads what the store has of the node and compares it with
// the registry; both kinds then write what differs, as few transactions as the store's limits
// allow, each of which compares the session. Kept records (catalog.h) go with the keys on the
// lease.
//
// An entry that is refused does not stop the others: a transaction that fails is tried again entry
// by entry, one for want of permission is blocked, the other errors are joined. When the store
// itself does not answer the pass ends at once. Runs on its owner's loop; one pass at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "sync/agent/catalog.h"
#include "sync/agent/registry.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/pause.h"
#include "sync/store/store.h"

namespace kvorum::sync {

// A registry that callers of any thread change while a pass runs. The lock is never held over a
// call to the store.
struct SharedRegistry {
  explicit SharedRegistry(RegistryOptions options) : registry(std::move(options)) {}
  std::mutex mutex;
  Registry registry;
};

struct CatalogPassOptions {
  CatalogKeys keys;
  std::string node;
  bool keeps_records = false;
  std::size_t max_txn_operations = 128;  // etcd's default
  std::size_t max_txn_bytes = std::size_t{1} << 20U;
  std::int64_t page_keys = 64;
  using OnStore = std::move_only_function<void(Result<std::shared_ptr<Store>>)>;
  // SyncerOptions::store_of.
  std::function<void(const std::string& token, OnStore on_store)> store_of = {};
};

class CatalogPass {
 public:
  struct Outcome {
    enum class End : std::uint8_t {
      kOk,
      kFailed,
      kPaused,       // before it wrote; the pause remembers it
      kSessionLost,  // the session compared unequal, or its lease is gone
    };
    End end = End::kOk;
    Error error = {};         // of kFailed and kSessionLost
    std::uint64_t nodes = 0;  // in the store, as a full pass counted them
  };
  using OnEnd = std::move_only_function<void(Outcome)>;

  // All outlive the pass.
  CatalogPass(Store& store, SharedRegistry& registry, Pause& pause, Loop::Handle loop,
              CatalogPassOptions options);

  struct Session {
    std::int64_t lease = 0;
    std::int64_t revision = 0;
  };
  // kFull or kChanges. Without a lease or a revision the session is lost.
  void Begin(Pass kind, Session session, OnEnd on_end);
  // Deletes all keys of the node, on any lease, the node's own last.
  void BeginRemoval(Session session, OnEnd on_end);
  // Entries that were refused for want of permission, since the start.
  std::uint64_t times_blocked() const { return times_blocked_; }

 private:
  // The operations that make the store right about one id; one transaction takes all of them.
  struct Write {
    std::string id;
    std::uint64_t version = 0;  // 0: made by another agent, and without a waiter
    std::vector<Operation> operations;
    std::size_t size_bytes = 0;
    std::string token = {};  // with which it is written
  };
  struct Stray {
    bool is_leased = false;
    std::string name = {};  // the service's, if it is known
    bool is_kept = false;
  };
  // The store's keys of the node, as a full pass has read them.
  struct Found {
    std::map<std::string, KeyValue> entries = {};   // by id, of those that the registry has
    std::map<std::string, KeyValue> services = {};  // likewise
    std::map<std::string, KeyValue> kept = {};      // likewise
    std::optional<KeyValue> kept_node = {};
    std::map<std::string, Stray> strays = {};  // by id
  };
  bool Prepare(Pass kind, Session session, OnEnd on_end);
  void CountNodes();
  enum class Listing : std::uint8_t { kLeased, kKept };
  std::string PrefixOf(Listing listing) const;
  void ListPage(Listing listing, std::string from, std::int64_t revision);
  void TakePage(Listing listing, const std::vector<KeyValue>& kvs);
  void Listed(Listing listing);
  void ReadNode();
  void ReadServices();
  void TakeServices(std::size_t count, const std::vector<RangeAnswer>& ranges);
  void CompareAll();
  void CollectWrites();
  void AddChange(Registry::Change change);
  void AddStrays();
  void Push();
  void PushAs(const std::string& token, TxnRequest request, std::size_t count);
  void Pushed(std::size_t count, Result<TxnAnswer> answer);
  void Refused(const Write& write, const Error& error);
  void End(Outcome::End end, const Error& error = {});
  std::vector<Compare> SessionCompare() const;
  static Operation Delete(std::string key);
  static Operation DeleteAll(std::string prefix);

  Store& store_;
  SharedRegistry& shared_;
  Pause& pause_;
  const Loop::Handle loop_;
  const CatalogPassOptions options_;

  Pass kind_ = Pass::kNone;
  Session session_;
  OnEnd on_end_;
  std::uint64_t nodes_ = 0;
  Found found_;
  std::vector<std::pair<std::string, std::string>> services_;  // id, name: to be read
  std::size_t services_read_ = 0;
  std::size_t services_one_by_one_until_ = 0;  // those before this are not read together
  std::vector<Write> writes_;
  std::size_t writes_done_ = 0;
  std::size_t one_by_one_until_ = 0;       // the writes before this are not put together
  std::shared_ptr<Store> store_of_token_;  // of the call under way
  std::string errors_;
  Code error_code_ = Code::kOk;
  std::uint64_t times_blocked_ = 0;
};

}  // namespace kvorum::sync
