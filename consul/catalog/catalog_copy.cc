#include "consul/catalog/catalog_copy.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "sync/informer/source.h"

namespace kvorum::consul {
namespace {

// A callback for whom comes first: what was waited for, its deadline, or the end.
class FirstOf {
 public:
  using Callback = std::move_only_function<void(Result<void>)>;
  explicit FirstOf(Callback callback) : callback_(std::move(callback)) {}
  void operator()(Result<void> result) {
    if (!taken_.exchange(true)) std::exchange(callback_, nullptr)(std::move(result));
  }

 private:
  std::atomic<bool> taken_ = false;
  Callback callback_;
};

template <class Record>
std::shared_ptr<const Record> WithRevisions(Record record, const sync::KeyValue& kv) {
  record.create_revision = kv.create_revision;
  record.mod_revision = kv.mod_revision;
  return std::make_shared<const Record>(std::move(record));
}

}  // namespace

class CatalogCopy::State final : public sync::SourceSink,
                                 public std::enable_shared_from_this<State> {
 public:
  State(sync::Store& store, Executor& executor, Options options)
      : store_(store),
        executor_(executor),
        keys_(options.root),
        on_report_(std::move(options.on_report)) {}

  void Start() {
    const std::lock_guard lock(source_mutex_);
    if (is_stopped_ || source_ != nullptr) return;
    source_ = NewSource();
    source_->Start();
  }

  void Stop() {
    std::unique_ptr<sync::Source> source;
    {
      const std::lock_guard lock(source_mutex_);
      is_stopped_ = true;
      source = std::move(source_);
    }
    source = nullptr;  // waits for a step in progress
    Callbacks all;
    {
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
      TakeAll(all);
    }
    Call(all);
  }

  void Restart() {
    is_listed_ = false;
    executor_.Post([weak = weak_from_this()] {
      if (const std::shared_ptr<State> self = weak.lock()) self->RestartHere();
    });
  }

  void WaitForRevision(std::int64_t revision, TimePoint deadline, FirstOf::Callback on_reached) {
    auto first = std::make_shared<FirstOf>(std::move(on_reached));
    if (is_listed() && revision <= revision_) return executor_.Post([first] { (*first)({}); });
    executor_.PostAt(deadline, [first] {
      (*first)(Fail(Code::kDeadlineExceeded, "the catalog's copy is behind the store"));
    });
    // Behind a restart that was asked for before.
    executor_.Post([weak = weak_from_this(), revision, first] {
      if (const std::shared_ptr<State> self = weak.lock()) self->WaitHere(revision, first);
    });
  }

  bool is_listed() const { return is_listed_; }
  std::int64_t revision() const { return revision_; }
  TimePoint last_news() const { return {last_news_ns_}; }

  // Reads the tables under the lock.
  template <class Read>
  auto With(Read read) const {
    const std::lock_guard lock(mutex_);
    return read(tables_);
  }

  // Nothing: the callback has been posted.
  std::optional<std::uint64_t> AddWaiter(const Topic& topic, std::uint64_t after,
                                         std::move_only_function<void()> on_moved) {
    const std::lock_guard lock(mutex_);
    if (has_ended_ || tables_.IndexOf(topic) > after) {
      executor_.Post(std::move(on_moved));
      return std::nullopt;
    }
    waiters_[topic].emplace(++last_waiter_, Waiter{after, std::move(on_moved)});
    return last_waiter_;
  }
  void DropWaiter(const Topic& topic, std::uint64_t id) {
    std::move_only_function<void()> dropped;  // its captures go away outside the lock
    const std::lock_guard lock(mutex_);
    const auto found = waiters_.find(topic);
    if (found == waiters_.end()) return;
    const auto waiter = found->second.find(id);
    if (waiter == found->second.end()) return;
    dropped = std::move(waiter->second.on_moved);
    found->second.erase(waiter);
    if (found->second.empty()) waiters_.erase(found);
  }

  void SetObserver(std::function<void(const Change& change)> observer) {
    observer_ = std::move(observer);
  }

  void OnListBegin(std::int64_t revision) override {
    TakeNews();
    listed_ = {};
    list_revision_ = revision;
  }
  void OnListPage(std::vector<sync::KeyValue> kvs) override {
    TakeNews();
    Touched touched;
    for (const sync::KeyValue& kv : kvs) Apply(listed_, Decode(kv, false), touched);
  }
  void OnListEnd() override;
  void OnRevision(std::int64_t revision, std::vector<sync::Event> events) override;
  void OnProgress(std::int64_t revision) override {
    TakeNews();
    revision_ = revision;
  }
  void OnError(const Error& error) override { Report("the catalog's copy: " + error.message); }

 private:
  struct Waiter {
    std::uint64_t after;
    std::move_only_function<void()> on_moved;
  };
  using Callbacks = std::vector<std::move_only_function<void()>>;

  // A key's new state.
  struct Put {
    RegistryKeys::Parsed key;
    std::int64_t revision = 0;
    bool is_delete = false;
    NodeRef node = nullptr;
    ServiceRef service = nullptr;
    SessionRef session = nullptr;
  };

  std::unique_ptr<sync::Source> NewSource() {
    return std::make_unique<sync::Source>(store_, executor_, *this,
                                          sync::SourceOptions{.prefix = keys_.prefix()});
  }
  // On the executor, where no step of the source is in progress.
  void RestartHere() {
    std::unique_ptr<sync::Source> old;
    {
      const std::lock_guard lock(source_mutex_);
      if (is_stopped_ || std::exchange(is_restarting_, true)) return;
      old = std::move(source_);
    }
    old = nullptr;
    const std::lock_guard lock(source_mutex_);
    if (is_stopped_) return;
    source_ = NewSource();
    source_->Start();
  }
  void WaitHere(std::int64_t revision, std::shared_ptr<FirstOf> first) {
    std::unique_lock lock(source_mutex_);
    if (source_ == nullptr) {
      lock.unlock();
      return (*first)(Fail(Code::kCanceled, "the catalog's copy has stopped"));
    }
    source_->WaitForRevision(revision, [first](Result<void> reached) {
      if (!reached && reached.error().code == Code::kUnimplemented) reached = {};
      (*first)(std::move(reached));
    });
  }
  void TakeNews() { last_news_ns_ = executor_.clock().Now().ns; }
  void Report(const std::string& text) const {
    if (on_report_) on_report_(text);
  }

  Put Decode(const sync::KeyValue& kv, bool is_delete) const;
  static void Apply(CatalogTables& tables, Put put, Touched& touched);
  // A malformed record is as good as none.
  template <class Record>
  std::shared_ptr<const Record> Sound(Result<Record> record, const sync::KeyValue& kv) const {
    if (record) return WithRevisions(*std::move(record), kv);
    Report("the record " + kv.key + " is malformed: " + record.error().message);
    return nullptr;
  }

  void TakeAll(Callbacks& all) {
    for (auto& [topic, waiters] : waiters_) {
      for (auto& [id, waiter] : waiters) all.push_back(std::move(waiter.on_moved));
    }
    waiters_.clear();
  }
  void TakeMoved(const Topic& topic, Callbacks& moved) {
    const auto found = waiters_.find(topic);
    if (found == waiters_.end()) return;
    const std::uint64_t index = tables_.IndexOf(topic);
    for (auto waiter = found->second.begin(); waiter != found->second.end();) {
      if (waiter->second.after >= index) {
        ++waiter;
        continue;
      }
      moved.push_back(std::move(waiter->second.on_moved));
      waiter = found->second.erase(waiter);
    }
    if (found->second.empty()) waiters_.erase(found);
  }
  static void Call(Callbacks& callbacks) {
    for (auto& callback : callbacks) callback();
  }

  sync::Store& store_;
  Executor& executor_;
  const RegistryKeys keys_;
  const std::function<void(const std::string&)> on_report_;
  std::function<void(const Change& change)> observer_;

  std::mutex source_mutex_;
  std::unique_ptr<sync::Source> source_;
  bool is_stopped_ = false;
  bool is_restarting_ = false;  // until the next list has ended

  // The executor's own.
  CatalogTables listed_;  // while a list comes
  std::int64_t list_revision_ = 0;

  std::atomic<bool> is_listed_ = false;
  std::atomic<std::int64_t> revision_ = 0;
  std::atomic<std::int64_t> last_news_ns_ = 0;

  mutable std::mutex mutex_;  // guards what follows
  CatalogTables tables_;
  bool has_ended_ = false;
  std::map<Topic, std::unordered_map<std::uint64_t, Waiter>> waiters_;
  std::uint64_t last_waiter_ = 0;
};

CatalogCopy::State::Put CatalogCopy::State::Decode(const sync::KeyValue& kv, bool is_delete) const {
  Put put{.key = keys_.Parse(kv.key), .revision = kv.mod_revision, .is_delete = is_delete};
  if (is_delete) return put;
  switch (put.key.kind) {
    case RegistryKeys::Kind::kNode:
      put.node = Sound(DecodeNode(put.key.node, kv.value), kv);
      break;
    case RegistryKeys::Kind::kService:
      put.service = Sound(DecodeService(put.key.node, put.key.id, kv.value), kv);
      break;
    case RegistryKeys::Kind::kSession: {
      auto session = DecodeSession(put.key.id, kv.value);
      if (session) session->lease = kv.lease;
      put.session = Sound(std::move(session), kv);
      break;
    }
    case RegistryKeys::Kind::kLife:
    case RegistryKeys::Kind::kOther:
      break;
  }
  return put;
}

void CatalogCopy::State::Apply(CatalogTables& tables, Put put, Touched& touched) {
  switch (put.key.kind) {
    case RegistryKeys::Kind::kNode:
      return tables.PutNode(put.key.node, std::move(put.node), put.revision, touched);
    case RegistryKeys::Kind::kLife:
      return tables.PutLife(put.key.node, !put.is_delete, put.revision, touched);
    case RegistryKeys::Kind::kService:
      return tables.PutService(put.key.node, put.key.id, std::move(put.service), put.revision,
                               touched);
    case RegistryKeys::Kind::kSession:
      return tables.PutSession(put.key.id, std::move(put.session), put.revision, touched);
    case RegistryKeys::Kind::kOther:
      return;
  }
}

void CatalogCopy::State::OnRevision(std::int64_t revision, std::vector<sync::Event> events) {
  TakeNews();
  std::vector<Put> puts;
  for (const sync::Event& event : events) puts.push_back(Decode(event.kv, event.is_delete));
  Touched touched;
  Callbacks moved;
  {
    const std::lock_guard lock(mutex_);
    for (Put& put : puts) Apply(tables_, std::move(put), touched);
    for (const Topic& topic : touched.topics) TakeMoved(topic, moved);
  }
  revision_ = revision;
  if (observer_)
    observer_({.nodes = {touched.nodes.begin(), touched.nodes.end()},
               .ended_sessions = std::move(touched.ended_sessions)});
  Call(moved);
}

void CatalogCopy::State::OnListEnd() {
  TakeNews();
  {
    const std::lock_guard lock(source_mutex_);
    is_restarting_ = false;
  }
  listed_.RaiseAll(list_revision_);
  Change change{.is_relist = true};
  CatalogTables before;
  Callbacks all;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(tables_, std::exchange(listed_, {}));
    TakeAll(all);
    for (const NodeView& view : tables_.Nodes()) change.nodes.push_back(view.node->node);
    for (const SessionRef& session : before.Sessions()) {
      if (tables_.Session(session->id) == nullptr) change.ended_sessions.push_back(session);
    }
  }
  revision_ = list_revision_;
  is_listed_ = true;
  if (observer_) observer_(change);
  Call(all);
}

class CatalogCopy::Wait {
 public:
  Wait(std::shared_ptr<State> state, Topic topic, std::uint64_t id)
      : state_(std::move(state)), topic_(std::move(topic)), id_(id) {}
  ~Wait() { state_->DropWaiter(topic_, id_); }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

 private:
  const std::shared_ptr<State> state_;
  const Topic topic_;
  const std::uint64_t id_;
};

void CatalogCopy::DropWait::operator()(Wait* wait) const { delete wait; }

CatalogCopy::CatalogCopy(sync::Store& store, Executor& executor, Options options)
    : state_(std::make_shared<State>(store, executor, std::move(options))) {}
CatalogCopy::~CatalogCopy() { Stop(); }
void CatalogCopy::Start() { state_->Start(); }
void CatalogCopy::Stop() { state_->Stop(); }
bool CatalogCopy::is_listed() const { return state_->is_listed(); }
std::int64_t CatalogCopy::revision() const { return state_->revision(); }
TimePoint CatalogCopy::last_news() const { return state_->last_news(); }
void CatalogCopy::WaitForRevision(std::int64_t revision, TimePoint deadline,
                                  std::move_only_function<void(Result<void>)> on_reached) {
  state_->WaitForRevision(revision, deadline, std::move(on_reached));
}
void CatalogCopy::StoreWentBack() { state_->Restart(); }

std::vector<NodeView> CatalogCopy::Nodes() const {
  return state_->With([](const CatalogTables& tables) { return tables.Nodes(); });
}
NodeView CatalogCopy::Node(std::string_view node) const {
  return state_->With([&](const CatalogTables& tables) { return tables.Node(node); });
}
std::vector<ServiceRef> CatalogCopy::ServicesOf(std::string_view node) const {
  return state_->With([&](const CatalogTables& tables) { return tables.ServicesOf(node); });
}
ServiceRef CatalogCopy::Service(std::string_view node, std::string_view id) const {
  return state_->With([&](const CatalogTables& tables) { return tables.Service(node, id); });
}
std::vector<Instance> CatalogCopy::Instances(std::string_view service) const {
  return state_->With([&](const CatalogTables& tables) { return tables.Instances(service); });
}
std::vector<Instance> CatalogCopy::AllInstances() const {
  return state_->With([](const CatalogTables& tables) { return tables.AllInstances(); });
}
std::vector<SessionRef> CatalogCopy::Sessions() const {
  return state_->With([](const CatalogTables& tables) { return tables.Sessions(); });
}
SessionRef CatalogCopy::Session(std::string_view id) const {
  return state_->With([&](const CatalogTables& tables) { return tables.Session(id); });
}
std::uint64_t CatalogCopy::IndexOf(const Topic& topic) const {
  return state_->With([&](const CatalogTables& tables) { return tables.IndexOf(topic); });
}

CatalogCopy::WaitHandle CatalogCopy::WaitFor(Topic topic, std::uint64_t after,
                                             std::move_only_function<void()> on_moved) {
  const auto id = state_->AddWaiter(topic, after, std::move(on_moved));
  return WaitHandle(id ? new Wait(state_, std::move(topic), *id) : nullptr);
}

void CatalogCopy::SetObserver(std::function<void(const Change& change)> observer) {
  state_->SetObserver(std::move(observer));
}

}  // namespace kvorum::consul
