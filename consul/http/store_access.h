// The store with a request's credentials: a client for each token, in an LRU of bounded size.
//
// Thread-safe. The empty token is the agent's own client.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/executor.h"
#include "client/client.h"
#include "sync/store/store.h"

namespace kvorum::consul {

class StoreAccess {
 public:
  virtual ~StoreAccess() = default;
  // kUnauthenticated or kPermissionDenied: the token is refused; other errors: the store does not
  // answer. Calls back on any thread. The store lives as long as the reference.
  using OnStore = std::move_only_function<void(Result<std::shared_ptr<sync::Store>>)>;
  virtual void StoreOf(const std::string& token, OnStore on_store) = 0;
};

// A token `user:password` logs in as that user; any other is sent to the store as it is, as a token
// that somebody else obtained. Clients are made on a thread of their own, one after the other.
//
// Bounds: so many clients, so many tokens that wait for theirs, each with its requests (whose
// number the listener bounds); past it kResourceExhausted. A client that was not used for a
// while is closed, and so is the one that was used least recently when there are too many. A
// refused token is refused for a second without asking.
class TokenStores final : public StoreAccess {
 public:
  // Makes a store for a token that is not empty, and keeps no reference; may block. Errors as
  // StoreOf's.
  using Connect = std::function<Result<std::shared_ptr<sync::Store>>(const std::string& token)>;
  struct Options {
    std::size_t max_clients = 64;
    std::size_t max_waiting_tokens = 64;
    Duration idle_after = std::chrono::minutes(5);
    Duration refused_for = std::chrono::seconds(1);
  };
  // The own store and the clock outlive it.
  TokenStores(sync::Store& own, Connect connect, const Clock& clock, Options options);
  // Ends the calls in progress. No store is used any more.
  ~TokenStores() override;
  TokenStores(const TokenStores&) = delete;
  TokenStores& operator=(const TokenStores&) = delete;

  void StoreOf(const std::string& token, OnStore on_store) override;
  // Closes what has been idle for too long; called now and then.
  void CloseIdle();
  std::size_t clients() const;

 private:
  struct Kept;
  struct Closing;
  using Place = std::list<std::string>::iterator;
  struct Entry {
    std::shared_ptr<Kept> kept;
    TimePoint last_use;
    Place place;  // in order of use
  };
  struct Refusal {
    Error error;
    TimePoint until;
  };

  void Make(const std::string& token);
  void Keep(const std::string& token, const std::shared_ptr<Kept>& kept);
  static std::shared_ptr<sync::Store> StoreIn(const std::shared_ptr<Kept>& kept);

  sync::Store& own_;
  const Connect connect_;
  const Clock& clock_;
  const Options options_;
  const std::shared_ptr<Closing> closing_;
  mutable std::mutex mutex_;  // guards what follows
  bool is_ending_ = false;
  std::list<std::string> by_use_;  // the least recently used first
  std::map<std::string, Entry> entries_;
  std::vector<std::weak_ptr<Kept>> open_;  // those that have left the LRU in use as well
  std::map<std::string, std::vector<OnStore>> waiting_;
  std::map<std::string, Refusal> refusals_;
};

// A store of the cluster that the options name, with the token's credentials instead of theirs.
TokenStores::Connect ConnectWith(client::Options options);

}  // namespace kvorum::consul
