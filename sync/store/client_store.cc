#include "sync/store/client_store.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "client/client.h"
#include "client/retry_rules.h"
#include "client/watch.h"
#include "proto/rpc.pb.h"
#include "sync/kernel/gate.h"
#include "sync/store/messages.h"
#include "sync/store/watch_window.h"

namespace kvorum::sync {
namespace {

constexpr std::chrono::seconds kVersionTimeout(2);

// The number at the front of the text, which it is taken off, with a dot behind it.
int TakeNumber(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('.')) text.remove_prefix(1);
  return error == std::errc() ? number : 0;
}

// etcd's versions whose progress notifications wait for the events before them.
bool OrdersProgress(std::string_view version) {
  const int major = TakeNumber(version);
  const int minor = TakeNumber(version);
  const int patch = TakeNumber(version);
  if (major != 3) return major > 3;
  if (minor == 4) return patch >= 25;
  if (minor == 5) return patch >= 8;
  return minor > 5;
}

std::size_t RequestBytes(const TxnRequest& request) {
  std::size_t bytes = 0;
  for (const Compare& compare : request.compares)
    bytes += compare.key.size() + compare.end.size() + compare.value.size();
  for (const auto* operations : {&request.then, &request.otherwise}) {
    for (const Operation& operation : *operations)
      bytes += operation.key.size() + operation.end.size() + operation.value.size();
  }
  return bytes;
}

}  // namespace

// Runs calls on its own threads, as many at a time as there are threads.
class ClientStore::Calls {
 public:
  explicit Calls(const ClientStoreOptions& options) : options_(options) {
    for (int i = 0; i < std::max(options.call_threads, 1); ++i)
      threads_.emplace_back([this] { Run(); });
  }
  ~Calls() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // Makes the call, whose request has so many bytes, and hands on what it returns.
  template <class T, class Make>
  void Add(std::size_t size_bytes, OnAnswer<T> on_answer, Make make) {
    Call call{.size_bytes = size_bytes,
              .run = [on_answer = std::move(on_answer),
                      make = std::move(make)](const Result<void>& is_wanted) mutable {
                if (is_wanted) return on_answer(make());
                on_answer(Fail(is_wanted.error()));
              }};
    if (!Queue(call)) call.run(Fail(Code::kResourceExhausted, "too many calls wait for the store"));
  }

 private:
  struct Call {
    std::size_t size_bytes = 0;
    std::move_only_function<void(const Result<void>& is_wanted)> run;
  };

  // Takes the call over unless there is no room for it.
  bool Queue(Call& call) {
    {
      const std::lock_guard lock(mutex_);
      const bool has_room = queue_.size() < options_.max_waiting_calls &&
                            call.size_bytes <= options_.max_waiting_bytes - bytes_;
      if (!has_room) return false;
      bytes_ += call.size_bytes;
      queue_.push_back(std::move(call));
    }
    wake_.notify_one();
    return true;
  }

  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Call call = std::move(queue_.front());
      queue_.pop_front();
      bytes_ -= call.size_bytes;
      const bool is_wanted = !stopping_;
      lock.unlock();
      call.run(is_wanted ? Result<void>() : Fail(Code::kCanceled, "the store is closed"));
      lock.lock();
    }
  }

  const ClientStoreOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Call> queue_;
  std::size_t bytes_ = 0;  // of the requests in the queue
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

namespace {

// One watch, shared by its thread and its owner.
class RunningWatch {
 public:
  RunningWatch(std::unique_ptr<client::Watch> watch, WatchSink sink)
      : watch_(std::move(watch)), sink_(std::move(sink)) {}

  void Run() {
    WatchEnd end;
    const Result<void> done = watch_->Run([&](const etcdserverpb::WatchResponse& response) {
      if (response.canceled()) {
        end = {.error = client::ParseReason(response.cancel_reason()),
               .compact_revision = response.compact_revision()};
        return Result<void>();
      }
      return response.created() ? Result<void>() : Deliver(response);
    });
    if (!done) end.error = done.error();
    const Gate::Visit visit(gate_);
    if (visit.is_in()) sink_.on_end(std::move(end));
  }
  void Cancel() {
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = true;
    }
    taken_.notify_all();
    watch_->Cancel();
    gate_.Close();
  }
  void Taken() {
    {
      const std::lock_guard lock(mutex_);
      window_.Take();
    }
    taken_.notify_all();
  }
  void RequestProgress() { watch_->RequestProgress(); }

 private:
  // Reads no further while the owner is a whole window behind.
  Result<void> Deliver(const etcdserverpb::WatchResponse& response) {
    {
      std::unique_lock lock(mutex_);
      taken_.wait(lock, [&] { return cancelled_ || window_.has_room(); });
      if (cancelled_) return Fail(Code::kCanceled, "the watch was cancelled");
      window_.Add(response.ByteSizeLong());
    }
    const Gate::Visit visit(gate_);
    if (visit.is_in()) sink_.on_batch(FromMessage(response));
    return {};
  }

  const std::unique_ptr<client::Watch> watch_;
  const WatchSink sink_;
  Gate gate_;
  std::mutex mutex_;
  std::condition_variable taken_;
  WatchWindow window_;
  bool cancelled_ = false;
};

// The server's version tells whether the answer to a progress request may overtake events.
enum class ProgressOrder : std::uint8_t { kUnknown, kOrdered, kUnordered };

class OwnedWatch final : public StoreWatch {
 public:
  OwnedWatch(std::shared_ptr<RunningWatch> watch, Executor& asker,
             const std::atomic<ProgressOrder>& order)
      : watch_(std::move(watch)), asker_(asker), order_(order) {}
  ~OwnedWatch() override { watch_->Cancel(); }
  OwnedWatch(const OwnedWatch&) = delete;
  OwnedWatch& operator=(const OwnedWatch&) = delete;

  void RequestProgress() override {
    asker_.Post([watch = watch_, &order = order_] {
      if (order == ProgressOrder::kOrdered) watch->RequestProgress();
    });
  }
  void Taken() override { watch_->Taken(); }

 private:
  const std::shared_ptr<RunningWatch> watch_;
  Executor& asker_;
  const std::atomic<ProgressOrder>& order_;
};

}  // namespace

class ClientStore::Watches {
 public:
  Watches(client::Client& client, std::stop_token stop) : client_(client), stop_(std::move(stop)) {}
  ~Watches() {
    for (Thread& thread : threads_) thread.thread.join();
  }
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  std::unique_ptr<StoreWatch> Begin(const WatchRequest& request, WatchSink sink) {
    // A member that is cut off from the others ends the watch, which goes on at another.
    auto running = client_.NewWatch(ToMessage(request), {.require_leader = true});
    const auto watch = std::make_shared<RunningWatch>(std::move(running), std::move(sink));
    const std::lock_guard lock(mutex_);
    std::erase_if(threads_, [](Thread& thread) {
      if (thread.is_done) thread.thread.join();
      return thread.is_done.load();
    });
    Thread& mine = threads_.emplace_back();
    mine.thread = std::thread([this, watch, &mine] {
      AskVersion();
      watch->Run();
      mine.is_done = true;
    });
    return std::make_unique<OwnedWatch>(watch, asker_, order_);
  }
  // A caller that asks before the version is known must ask again.
  bool has_ordered_progress() const { return order_ != ProgressOrder::kUnordered; }

 private:
  struct Thread {
    std::thread thread;
    std::atomic<bool> is_done = false;
  };

  void AskVersion() {
    client::CallOptions call = client::CallOptions::Within(kVersionTimeout);
    call.stop = stop_;
    const auto status = client_.Status(call);
    if (!status && order_ != ProgressOrder::kUnknown) return;
    order_ = status && OrdersProgress(status->version()) ? ProgressOrder::kOrdered
                                                         : ProgressOrder::kUnordered;
  }

  client::Client& client_;
  const std::stop_token stop_;
  std::atomic<ProgressOrder> order_ = ProgressOrder::kUnknown;
  // Apart from the calls, since a request may wait for a member that does not read.
  ThreadExecutor asker_{"sync-progress"};
  std::mutex mutex_;
  std::list<Thread> threads_;
};

ClientStore::ClientStore(client::Client& client, const ClientStoreOptions& options)
    : client_(client),
      options_(options),
      calls_(std::make_unique<Calls>(options)),
      watches_(std::make_unique<Watches>(client, stop_.get_token())) {}
ClientStore::~ClientStore() { stop_.request_stop(); }

client::CallOptions ClientStore::Call() const {
  client::CallOptions call = client::CallOptions::Within(options_.call_timeout);
  call.stop = stop_.get_token();
  return call;
}

void ClientStore::Range(RangeRequest request, OnAnswer<RangeAnswer> on_answer) {
  const std::size_t bytes = request.key.size() + request.end.size();
  calls_->Add(bytes, std::move(on_answer),
              [this, request = std::move(request)]() -> Result<RangeAnswer> {
                KV_TRY(auto answer, client_.Range(ToMessage(request), Call()));
                return FromMessage(std::move(answer));
              });
}

void ClientStore::Txn(TxnRequest request, OnAnswer<TxnAnswer> on_answer) {
  const std::size_t bytes = RequestBytes(request);
  calls_->Add(bytes, std::move(on_answer),
              [this, request = std::move(request)]() mutable -> Result<TxnAnswer> {
                KV_TRY(auto answer, client_.Txn(ToMessage(std::move(request)), Call()));
                return FromMessage(std::move(answer));
              });
}

std::unique_ptr<StoreWatch> ClientStore::Watch(WatchRequest request, WatchSink sink) {
  return watches_->Begin(request, std::move(sink));
}

void ClientStore::LeaseGrant(std::int64_t ttl_s, OnAnswer<LeaseAnswer> on_answer) {
  calls_->Add(0, std::move(on_answer), [this, ttl_s]() -> Result<LeaseAnswer> {
    etcdserverpb::LeaseGrantRequest request;
    request.set_ttl(ttl_s);
    KV_TRY(const auto answer, client_.LeaseGrant(request, Call()));
    return LeaseAnswer{.id = answer.id(), .ttl_s = answer.ttl()};
  });
}

void ClientStore::LeaseKeepAlive(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) {
  calls_->Add(0, std::move(on_answer), [this, lease]() -> Result<LeaseAnswer> {
    KV_TRY(const auto answer, client_.LeaseKeepAliveOnce(lease, Call()));
    return LeaseAnswer{.id = answer.id(), .ttl_s = answer.ttl()};
  });
}

void ClientStore::LeaseRevoke(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) {
  calls_->Add(0, std::move(on_answer), [this, lease]() -> Result<LeaseAnswer> {
    KV_RETURN_IF_ERROR(client_.LeaseRevoke(lease, Call()));
    return LeaseAnswer{.id = lease, .ttl_s = 0};
  });
}

bool ClientStore::has_ordered_progress() const { return watches_->has_ordered_progress(); }

}  // namespace kvorum::sync
