#include "sync/informer/informer_core.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include "sync/informer/resync.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/metrics.h"
#include "sync/store/answer.h"
#include "sync/store/copy.h"
#include "sync/store/list_merge.h"

namespace kvorum::sync {

class InformerCore::Machine final : public SourceSink {
 public:
  Machine(Store& store, Executor& executor, InformerOptions options, Make make)
      : store_(store),
        executor_(executor),
        options_(std::move(options)),
        make_(std::move(make)),
        copy_({.revisions = options_.window, .bytes = options_.window_bytes}),
        schedule_(options_.resync, [this](std::string_view text) { Report(std::string(text)); }),
        loop_(executor, [this](TimePoint now) { return Step(now); }),
        source_(store, executor, *this, options_.source) {
    if (Metrics* metrics = options_.source.metrics) {
      object_count_ = metrics->Get(GaugeName::kInformerObjects);
      rounds_ = metrics->Get(CounterName::kInformerResyncRounds);
      value_errors_ = metrics->Get(CounterName::kInformerValueErrors);
    }
  }
  ~Machine() override {
    Stop();
    for (const auto& listener : Listeners()) listener->StopAndWait();
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Result<void> Run() {
    State expected = State::kNew;
    if (!state_.compare_exchange_strong(expected, State::kRunning))
      return Fail(Code::kFailedPrecondition, "the informer has been run before");
    loop_.Post([this] { schedule_.Start(executor_.clock().Now()); });
    source_.Start();
    return {};
  }

  void Stop() {
    state_ = State::kStopped;
    source_.Stop();
    loop_.Stop();
    for (const auto& listener : Listeners()) listener->Stop();
  }

  Result<std::weak_ptr<Listener>> AddListener(ListenerOptions options, Listener::Handler handler) {
    auto listener =
        std::make_shared<Listener>(++last_listener_, std::move(options), std::move(handler),
                                   OwnerOfListeners(), options_.source.metrics);
    {
      const std::lock_guard lock(mutex_);
      if (state_ == State::kStopped)
        return Fail(Code::kFailedPrecondition, "the informer was stopped");
      std::erase_if(listeners_, [](const auto& other) { return other->has_ended(); });
      listeners_.push_back(listener);
    }
    loop_.Post([this, listener] { Attach(listener); });
    return listener;
  }

  Result<void> AddIndex(const std::string& name, IndexFunction function) {
    return copy_.AddIndex(name, [this, name, function = std::move(function)](const Object& object) {
      try {
        return function(object);
      } catch (const std::exception& thrown) {
        ReportValue("index " + name + " of key " + std::string(object.key()) +
                    " threw: " + thrown.what());
      } catch (...) {
        ReportValue("index " + name + " of key " + std::string(object.key()) + " threw something");
      }
      return std::vector<std::string>();
    });
  }

  void ConsistentGet(const std::string& key, Answer<ObjectRef> on_got) {
    // Only the revision at which the store answers counts.
    Ask({.key = key, .count_only = true}, std::move(on_got),
        [this, key](RangeAnswer&& answer, Answer<ObjectRef> got) {
          GetAt(answer.revision, key, std::move(got));
        });
  }

  const Copy& copy() const { return copy_; }
  bool is_listed() const { return is_listed_; }

  // The source calls these, on the executor.
  void OnListBegin(std::int64_t revision) override {
    list_revision_ = revision;
    merge_.emplace(copy_.objects(), [this](KeyValue&& kv) { return MakeObject(std::move(kv)); });
  }
  void OnListPage(std::vector<KeyValue> kvs) override {
    for (KeyValue& kv : kvs) {
      if (state_ == State::kStopped) return;  // by a report
      merge_->Add(std::move(kv));
    }
  }
  void OnListEnd() override {
    const ObjectMap after = merge_->Take();
    merge_.reset();
    const ObjectMap before = copy_.Replace(list_revision_, after);
    CountObjects();
    const bool is_first = !is_listed_.exchange(true);
    loop_.Wake();  // rounds may begin
    for (const auto& listener : attached_) {
      if (is_first) {
        listener->AddInitial(after);
      } else {
        listener->AddDifference(before, after);
      }
    }
  }
  void OnRevision(std::int64_t revision, std::vector<Event> events) override {
    std::vector<Change> changes;
    const ObjectMap known = copy_.objects();
    for (Event& event : events) {
      if (state_ == State::kStopped) return;  // by a report
      Change change{.before = known.Find(event.kv.key), .after = nullptr};
      if (!event.is_delete) change.after = MakeObject(std::move(event.kv));
      if (change.before || change.after) changes.push_back(std::move(change));
    }
    const auto [before, after] = copy_.Apply(revision, changes);
    if (changes.empty()) return;
    CountObjects();
    for (const auto& listener : attached_) listener->Add(changes, before, after);
    has_news_ = true;
  }
  // A wake for each listener and revision took most of the time of an informer with many.
  void OnDelivered() override {
    if (!std::exchange(has_news_, false)) return;
    for (const auto& listener : attached_) listener->Wake();
  }
  void OnProgress(std::int64_t revision) override { copy_.Reach(revision); }
  void OnError(const Error& error) override { Report(error.message); }
  bool is_ready() override {
    return std::ranges::none_of(attached_, [](const auto& listener) { return listener->blocks(); });
  }

 private:
  enum class State : std::uint8_t { kNew, kRunning, kStopped };

  std::vector<std::shared_ptr<Listener>> Listeners() {
    const std::lock_guard lock(mutex_);
    return listeners_;
  }

  Listener::Owner OwnerOfListeners() {
    return {.find_current = [this](std::string_view key) { return copy_.Find(key); },
            .on_room = [this] { source_.Resume(); },
            .on_removed = [handle = loop_.handle()] { handle.Wake(); },
            .on_round_end =
                [this, handle = loop_.handle()](std::uint64_t listener) {
                  handle.Post(
                      [this, listener] { schedule_.EndRound(listener, executor_.clock().Now()); });
                },
            .on_report = [this](const std::string& text) { Report(text); }};
  }

  void Attach(const std::shared_ptr<Listener>& listener) {
    if (listener->is_stopped()) return;
    const Duration asked = listener->options().resync;
    const bool is_default = asked < Duration::zero();
    schedule_.Add(listener->id(), is_default ? options_.resync : asked, is_default,
                  executor_.clock().Now());
    attached_.push_back(listener);
    if (is_listed_) listener->AddInitial(copy_.objects());
  }

  TimePoint Step(TimePoint now) {
    const auto removed = std::erase_if(attached_, [&](const auto& listener) {
      if (!listener->is_stopped()) return false;
      schedule_.Remove(listener->id());
      return true;
    });
    if (removed != 0) source_.Resume();  // it may have been the one that blocked
    if (is_listed_) BeginRound(schedule_.TakeDue(now));
    return is_listed_ ? schedule_.next_check() : kNever;
  }

  // A round is decided here, once: these listeners, and the objects that there are now.
  void BeginRound(const std::vector<ResyncSchedule::ListenerId>& due) {
    if (due.empty()) return;
    if (rounds_) rounds_->Add();
    ++last_round_;
    const ObjectMap objects = copy_.objects();
    for (const auto& listener : attached_) {
      if (std::ranges::find(due, listener->id()) != due.end())
        listener->AddRound(last_round_, objects);
    }
  }

  // Hands the store's answer on, on the executor.
  template <class Then>
  void Ask(RangeRequest request, Answer<ObjectRef> got, Then then) {
    store_.Range(std::move(request),
                 OnLoop<RangeAnswer>(loop_.handle(), [got = std::move(got), then = std::move(then)](
                                                         Result<RangeAnswer> answer) mutable {
                   if (!answer) return got(Fail(answer.error()));
                   then(*std::move(answer), std::move(got));
                 }));
  }

  void GetAt(std::int64_t revision, const std::string& key, Answer<ObjectRef> got) {
    source_.WaitForRevision(revision,
                            [this, key, got = std::move(got)](Result<void> reached) mutable {
                              if (reached) return got(copy_.Find(key));
                              if (reached.error().code != Code::kUnimplemented)
                                return got(Fail(reached.error()));
                              GetFromStore(key, std::move(got));
                            });
  }

  void GetFromStore(const std::string& key, Answer<ObjectRef> got) {
    Ask({.key = key}, std::move(got), [this](RangeAnswer&& answer, Answer<ObjectRef> last) {
      if (answer.kvs.empty()) return last(ObjectRef());
      last(TryMake(std::move(answer.kvs.front())));
    });
  }

  // Null for what is filtered out, or does not decode.
  ObjectRef MakeObject(KeyValue&& kv) {
    std::string key = kv.key;
    Result<ObjectRef> made = TryMake(std::move(kv));
    if (made) return *std::move(made);
    ReportValue("key " + key + ": " + made.error().message);
    return nullptr;
  }
  Result<ObjectRef> TryMake(KeyValue&& kv) {
    try {
      return make_(std::move(kv));
    } catch (const std::exception& thrown) {
      return Fail(Code::kUnknown, std::string("threw: ") + thrown.what());
    } catch (...) {
      return Fail(Code::kUnknown, "threw something");
    }
  }
  void ReportValue(const std::string& text) {
    value_errors_->Add();
    Report(text);
  }

  void CountObjects() {
    if (object_count_) object_count_->Set(static_cast<double>(copy_.objects().size()));
  }
  void Report(const std::string& text) {
    if (options_.on_report) options_.on_report(text);
  }

  Store& store_;
  Executor& executor_;
  const InformerOptions options_;
  const Make make_;
  Copy copy_;
  std::shared_ptr<Gauge> object_count_;
  std::shared_ptr<Counter> rounds_;
  std::shared_ptr<Counter> value_errors_ = std::make_shared<Counter>();
  std::atomic<State> state_ = State::kNew;
  std::atomic<bool> is_listed_ = false;
  std::atomic<std::uint64_t> last_listener_ = 0;

  std::mutex mutex_;
  std::vector<std::shared_ptr<Listener>> listeners_;  // guarded; those removed, until they ended

  // The executor's tasks alone use these.
  std::vector<std::shared_ptr<Listener>> attached_;
  ResyncSchedule schedule_;
  ListenerQueue::RoundId last_round_ = 0;
  std::int64_t list_revision_ = 0;
  std::optional<ListMerge> merge_;
  bool has_news_ = false;  // for the listeners, which have not been woken

  Loop loop_;
  Source source_;
};

void ListenerHandle::Remove() {
  if (const auto listener = listener_.lock()) listener->Remove();
}
bool ListenerHandle::is_synced() const {
  const auto listener = listener_.lock();
  return listener != nullptr && listener->is_synced();
}
std::uint64_t ListenerHandle::handler_errors() const {
  const auto listener = listener_.lock();
  return listener != nullptr ? listener->handler_errors() : 0;
}
std::uint64_t ListenerHandle::overflows() const {
  const auto listener = listener_.lock();
  return listener != nullptr ? listener->overflows() : 0;
}

InformerCore::InformerCore(Store& store, Executor& executor, InformerOptions options, Make make)
    : machine_(std::make_unique<Machine>(store, executor, std::move(options), std::move(make))) {}
InformerCore::~InformerCore() = default;
Result<void> InformerCore::Run() { return machine_->Run(); }
void InformerCore::Stop() { machine_->Stop(); }
Result<ListenerHandle> InformerCore::AddListener(ListenerOptions options,
                                                 Listener::Handler handler) {
  KV_TRY(auto listener, machine_->AddListener(std::move(options), std::move(handler)));
  return ListenerHandle(std::move(listener));
}
Result<void> InformerCore::AddIndex(const std::string& name, IndexFunction function) {
  return machine_->AddIndex(name, std::move(function));
}
bool InformerCore::is_listed() const { return machine_->is_listed(); }
std::int64_t InformerCore::revision() const { return machine_->copy().revision(); }
ObjectRef InformerCore::Get(std::string_view key) const { return machine_->copy().Find(key); }
ObjectMap InformerCore::Objects() const { return machine_->copy().objects(); }
Result<ObjectMap> InformerCore::Snapshot(std::int64_t revision) const {
  return machine_->copy().Snapshot(revision);
}
Result<std::vector<ObjectRef>> InformerCore::ByIndex(std::string_view name,
                                                     std::string_view value) const {
  return machine_->copy().ByIndex(name, value);
}
Result<std::vector<std::string>> InformerCore::IndexValues(std::string_view name) const {
  return machine_->copy().IndexValues(name);
}
void InformerCore::CheckInvariants() const { machine_->copy().CheckInvariants(); }
void InformerCore::ConsistentGet(std::string key, OnGot on_got) {
  machine_->ConsistentGet(key, Answer<ObjectRef>(std::move(on_got)));
}
Result<ObjectRef> InformerCore::ConsistentGet(std::string key, Duration timeout) {
  const auto promise = std::make_shared<std::promise<Result<ObjectRef>>>();
  auto future = promise->get_future();
  ConsistentGet(std::move(key),
                [promise](Result<ObjectRef> got) { promise->set_value(std::move(got)); });
  if (future.wait_for(timeout) != std::future_status::ready)
    return Fail(Code::kDeadlineExceeded, "the copy did not reach the store's revision in time");
  return future.get();
}

}  // namespace kvorum::sync
