#include "consul/http/store_access.h"

#include <algorithm>
#include <utility>

#include "sync/store/client_store.h"

namespace kvorum::consul {
namespace {

// A client with its store, in the order in which they have to end.
struct ClientWithStore {
  explicit ClientWithStore(std::unique_ptr<client::Client> its_client)
      : client(std::move(its_client)), store(*client, {.call_threads = 1}) {}

  const std::unique_ptr<client::Client> client;
  sync::ClientStore store;
};

// A log-in is refused with kInvalidArgument, and so is a token that no header can carry.
bool IsRefusal(Code code) {
  return code == Code::kInvalidArgument || code == Code::kUnauthenticated ||
         code == Code::kPermissionDenied || code == Code::kFailedPrecondition;
}

}  // namespace

struct TokenStores::Kept {
  std::shared_ptr<sync::Store> store;  // the only reference
};

// Closing a client waits for its calls, whose answers may hold the last reference to it: so it is
// closed on a separate thread.
struct TokenStores::Closing {
  void Close(Kept* kept) {
    const std::lock_guard lock(mutex);
    if (has_ended) return delete kept;
    executor.Post([kept] { delete kept; });
  }
  // Those that are still held have no store any more.
  void End() {
    {
      const std::lock_guard lock(mutex);
      has_ended = true;
    }
    executor.Stop();
  }

  std::mutex mutex;
  bool has_ended = false;
  ThreadExecutor executor{"http-clients"};
};

TokenStores::TokenStores(sync::Store& own, Connect connect, const Clock& clock, Options options)
    : own_(own),
      connect_(std::move(connect)),
      clock_(clock),
      options_(options),
      closing_(std::make_shared<Closing>()) {}

TokenStores::~TokenStores() {
  std::map<std::string, Entry> entries;
  std::vector<std::shared_ptr<Kept>> open;
  std::map<std::string, std::vector<OnStore>> waiting;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    entries.swap(entries_);
    waiting.swap(waiting_);
    for (const std::weak_ptr<Kept>& kept : open_) open.push_back(kept.lock());
  }
  for (const std::shared_ptr<Kept>& kept : open) {
    if (kept != nullptr) kept->store = nullptr;
  }
  open.clear();
  entries.clear();
  for (auto& [token, callbacks] : waiting) {
    for (OnStore& on_store : callbacks) on_store(Fail(Code::kCanceled, "the agent stops"));
  }
  closing_->End();
}

std::shared_ptr<sync::Store> TokenStores::StoreIn(const std::shared_ptr<Kept>& kept) {
  return {kept, kept->store.get()};
}

void TokenStores::StoreOf(const std::string& token, OnStore on_store) {
  if (token.empty()) return on_store(std::shared_ptr<sync::Store>(std::shared_ptr<void>(), &own_));
  std::unique_lock lock(mutex_);
  const TimePoint now = clock_.Now();
  if (const auto found = entries_.find(token); found != entries_.end()) {
    found->second.last_use = now;
    by_use_.splice(by_use_.end(), by_use_, found->second.place);
    auto store = StoreIn(found->second.kept);
    lock.unlock();
    return on_store(std::move(store));
  }
  const auto refuse = [&](Error error) {
    lock.unlock();
    on_store(Fail(std::move(error)));
  };
  if (is_ending_) return refuse({Code::kCanceled, "the agent stops"});
  if (const auto found = refusals_.find(token); found != refusals_.end()) {
    if (now < found->second.until) return refuse(found->second.error);
    refusals_.erase(found);
  }
  const auto found = waiting_.find(token);
  if (found != waiting_.end()) {
    found->second.push_back(std::move(on_store));
    return;
  }
  if (waiting_.size() >= options_.max_waiting_tokens)
    return refuse({Code::kResourceExhausted, "too many tokens wait for a connection"});
  waiting_[token].push_back(std::move(on_store));
  lock.unlock();
  closing_->executor.Post([this, token] { Make(token); });
}

// On the thread of the clients, which ends with this object.
void TokenStores::Make(const std::string& token) {
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.contains(token)) return;
  }
  Result<std::shared_ptr<sync::Store>> made = connect_(token);
  std::shared_ptr<Kept> kept;
  Result<std::shared_ptr<sync::Store>> answer;
  if (made) {
    kept = std::shared_ptr<Kept>(new Kept{*std::move(made)},
                                 [closing = closing_](Kept* gone) { closing->Close(gone); });
    answer = StoreIn(kept);
  } else {
    const Code code = made.error().code;
    answer = Fail(IsRefusal(code) ? Code::kUnauthenticated : code, made.error().message);
  }
  std::vector<OnStore> callbacks;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = waiting_.find(token); found != waiting_.end())
      callbacks = std::move(waiting_.extract(found).mapped());
    if (kept != nullptr && !is_ending_) Keep(token, kept);
    if (answer.has_value() || answer.error().code != Code::kUnauthenticated) {
      refusals_.erase(token);
    } else {
      std::erase_if(refusals_,
                    [now = clock_.Now()](const auto& entry) { return entry.second.until <= now; });
      // They are made one after the other and forgotten after a moment, so they are few.
      refusals_[token] = {answer.error(), clock_.Now() + options_.refused_for};
    }
  }
  for (OnStore& on_store : callbacks) on_store(answer);
}

// Under the lock.
void TokenStores::Keep(const std::string& token, const std::shared_ptr<Kept>& kept) {
  std::erase_if(open_, [](const std::weak_ptr<Kept>& gone) { return gone.expired(); });
  open_.push_back(kept);
  while (!entries_.empty() && entries_.size() >= options_.max_clients) {
    entries_.erase(by_use_.front());
    by_use_.pop_front();
  }
  entries_[token] = {
      .kept = kept, .last_use = clock_.Now(), .place = by_use_.insert(by_use_.end(), token)};
}

void TokenStores::CloseIdle() {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.Now();
  while (!by_use_.empty()) {
    const auto oldest = entries_.find(by_use_.front());
    if (now - oldest->second.last_use < options_.idle_after) return;
    entries_.erase(oldest);
    by_use_.pop_front();
  }
}

std::size_t TokenStores::clients() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

TokenStores::Connect ConnectWith(client::Options options) {
  return [options = std::move(options)](
             const std::string& token) -> Result<std::shared_ptr<sync::Store>> {
    client::Options with = options;
    with.user.clear();
    with.password.clear();
    with.token.clear();
    if (const std::size_t colon = token.find(':'); colon != std::string::npos) {
      with.user = token.substr(0, colon);
      with.password = token.substr(colon + 1);
      if (with.user.empty() || with.password.empty())
        return Fail(Code::kUnauthenticated, "the token is not USER:PASSWORD");
    } else {
      with.token = token;
    }
    KV_TRY(auto client, client::Client::Connect(with));
    const auto both = std::make_shared<ClientWithStore>(std::move(client));
    return std::shared_ptr<sync::Store>(both, &both->store);
  };
}

}  // namespace kvorum::consul
