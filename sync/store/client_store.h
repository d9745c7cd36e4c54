// A cluster, through its client, as a Store: blocking calls on a few threads, and a thread for each
// watch. A watch at a member that has lost the others ends, so that the watcher continues at
// another one.
//
// Thread-safe. The client outlives the store. Bounds: those of the options on calls that wait for a
// thread; one beyond them is answered at once, with kResourceExhausted. The destructor ends calls
// in progress, and waits for their answers to be taken.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>

#include "sync/store/store.h"

namespace kvorum::client {
class Client;
struct CallOptions;
}  // namespace kvorum::client

namespace kvorum::sync {

struct ClientStoreOptions {
  std::chrono::nanoseconds call_timeout = std::chrono::seconds(10);
  int call_threads = 2;
  // Calls that wait for a thread, and the bytes of their requests. An agent or an informer has a
  // few.
  std::size_t max_waiting_calls = 16'384;
  std::size_t max_waiting_bytes = std::size_t{64} << 20U;
};

class ClientStore final : public Store {
 public:
  explicit ClientStore(client::Client& client, const ClientStoreOptions& options = {});
  ~ClientStore() override;
  ClientStore(const ClientStore&) = delete;
  ClientStore& operator=(const ClientStore&) = delete;

  void Range(RangeRequest request, OnAnswer<RangeAnswer> on_answer) override;
  void Txn(TxnRequest request, OnAnswer<TxnAnswer> on_answer) override;
  std::unique_ptr<StoreWatch> Watch(WatchRequest request, WatchSink sink) override;
  void LeaseGrant(std::int64_t ttl_s, OnAnswer<LeaseAnswer> on_answer) override;
  void LeaseKeepAlive(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) override;
  void LeaseRevoke(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) override;
  // True until the version of a member is known, which is asked for when a watch begins; no
  // progress is requested before that. False if none could be asked.
  bool has_ordered_progress() const override;

 private:
  class Calls;
  class Watches;
  client::CallOptions Call() const;

  client::Client& client_;
  const ClientStoreOptions options_;
  std::stop_source stop_;  // of the calls, when the store goes
  std::unique_ptr<Calls> calls_;
  std::unique_ptr<Watches> watches_;
};

}  // namespace kvorum::sync
