// The store as the library's state machines see it: calls that are begun and answered later, so
// that no step ever waits. ClientStore (client_store.h) is a cluster; tests have one of their own.
//
// Threading: thread-safe. An answer may come on any thread, also before the call has returned; it
// comes exactly once, with an error at the latest when the call's deadline has passed or the store
// is destroyed. The receiver of an answer posts to its own loop (loop.h) and does no more. The
// store outlives its watches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace kvorum::sync {

struct KeyValue {
  std::string key = {};
  std::string value = {};
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
  std::int64_t version = 0;
  std::int64_t lease = 0;

  friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

struct RangeRequest {
  std::string key = {};
  std::string end = {};       // the API's range_end: empty for the key alone
  std::int64_t revision = 0;  // 0: the newest, read through the leader
  std::int64_t limit = 0;     // keys; 0: all
  bool keys_only = false;
  bool count_only = false;
  bool newest_first = false;  // in falling order of the mod revisions, instead of the keys'
  // Any member answers from its own state, also without a leader.
  bool is_serializable = false;
};

struct RangeAnswer {
  std::int64_t revision = 0;       // the store's when it answered
  std::vector<KeyValue> kvs = {};  // in order of keys, unless asked otherwise
  std::int64_t count = 0;          // of the range, without the limit
  bool has_more = false;
};

// A condition of a transaction on one key, or on each key of a range; a key that does not exist,
// and a range without keys, has revisions and version 0.
struct Compare {
  enum class Target : std::uint8_t { kCreateRevision, kModRevision, kVersion, kLease, kValue };
  enum class Result : std::uint8_t { kEqual, kNotEqual, kLess, kGreater };
  std::string key = {};
  Target target = Target::kModRevision;
  Result result = Result::kEqual;
  std::int64_t number = 0;  // for all targets but kValue
  std::string value = {};
  std::string end = {};  // of the range; empty: the key alone
};

struct Operation {
  enum class Kind : std::uint8_t { kPut, kDelete, kRange };
  Kind kind = Kind::kPut;
  std::string key = {};
  std::string end = {};  // of a deleted or read range
  std::string value = {};
  std::int64_t lease = 0;
  // The two of a read range are those of RangeRequest.
  std::int64_t revision = 0;
  bool keys_only = false;
};

struct TxnRequest {
  std::vector<Compare> compares = {};
  std::vector<Operation> then = {};
  std::vector<Operation> otherwise = {};
};

struct TxnAnswer {
  std::int64_t revision = 0;             // of what it wrote, or the store's
  bool succeeded = false;                // `then` was done
  std::vector<RangeAnswer> ranges = {};  // those of the branch that was done, in its order
};

struct LeaseAnswer {
  std::int64_t id = 0;
  std::int64_t ttl_s = 0;  // not positive: the lease is gone
};

struct Event {
  bool is_delete = false;
  KeyValue kv = {};  // of a deleted key, the key and the revision of its deletion
  KeyValue prev =
      {};  // mod_revision 0: there was none, the server no longer has it, or was not asked
};

struct WatchRequest {
  std::string key = {};
  std::string end = {};
  std::int64_t from_revision = 0;
  bool with_previous = false;  // Event::prev is asked for
};

// One response: whole revisions, in order. Without events it tells that everything up to the
// revision has been delivered.
struct WatchBatch {
  std::int64_t revision = 0;
  std::vector<Event> events = {};
};

struct WatchEnd {
  Error error = {};
  // The revision asked for is gone, and this is the oldest there is; 0: another end.
  std::int64_t compact_revision = 0;
};

// Called in order, one at a time; nothing comes after the end, nor after the watch was destroyed.
struct WatchSink {
  std::function<void(WatchBatch batch)> on_batch;
  std::function<void(WatchEnd end)> on_end;
};

// A watch, over lost connections and changes of the leader, until its end. Destroying it ends it
// and waits for nothing.
class StoreWatch {
 public:
  virtual ~StoreWatch() = default;
  // The answer is a batch without events, once all that was before it has been delivered.
  virtual void RequestProgress() = 0;
  // Tells that a batch has been used. Only so many are delivered ahead of it (kWatchWindow), of so
  // many bytes and the one that exceeds them (kWatchWindowBytes).
  virtual void Taken() = 0;
};
inline constexpr int kWatchWindow = 64;
inline constexpr std::size_t kWatchWindowBytes = 16 * 1024 * 1024;

class Store {
 public:
  template <class T>
  using OnAnswer = std::move_only_function<void(Result<T> answer)>;

  virtual ~Store() = default;
  virtual void Range(RangeRequest request, OnAnswer<RangeAnswer> on_answer) = 0;
  virtual void Txn(TxnRequest request, OnAnswer<TxnAnswer> on_answer) = 0;
  virtual std::unique_ptr<StoreWatch> Watch(WatchRequest request, WatchSink sink) = 0;

  virtual void LeaseGrant(std::int64_t ttl_s, OnAnswer<LeaseAnswer> on_answer) = 0;
  // Renews once.
  virtual void LeaseKeepAlive(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) = 0;
  virtual void LeaseRevoke(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) = 0;

  // False if the answer to RequestProgress may overtake events (etcd before 3.4.25 and 3.5.8);
  // it must not be asked for then.
  virtual bool has_ordered_progress() const = 0;
};

}  // namespace kvorum::sync
