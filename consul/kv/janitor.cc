#include "consul/kv/janitor.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/key_range.h"
#include "consul/kv/janitor_lock.h"
#include "consul/kv/janitor_write.h"
#include "consul/kv/kv_form.h"
#include "consul/kv/session_end.h"
#include "consul/kv/work.h"
#include "sync/kernel/gate.h"
#include "sync/kernel/timer.h"

namespace kvorum::consul {
namespace {

constexpr std::size_t kTasksAtOnce = 8;
// The next full round finds again what does not fit.
constexpr std::size_t kMaxWaitingTasks = 100'000;
constexpr std::chrono::seconds kRoundInterval(60);
// Changes are looked at together.
constexpr std::chrono::milliseconds kGathering(50);
constexpr std::int64_t kPageKeys = 1000;

}  // namespace

// The loop's tasks alone use its members, but is_elected_.
class Janitor::Machine {
 public:
  explicit Machine(JanitorParts parts)
      : parts_(std::move(parts)),
        keys_(parts_.root, parts_.kv_root),
        dead_(parts_.root),
        work_(parts_.executor, [this](TimePoint now) { return Step(now); }),
        lock_(parts_.store, parts_.executor,
              {.key = parts_.root + "/registry-janitor",
               .holder = parts_.node,
               .on_change =
                   [this](bool is_held) {
                     work_.Post([this, is_held] { is_held ? Lead() : Follow(); });
                   },
               .on_error = [this](const Error& error) { Report(error); },
               .seed = parts_.seed}) {
    // The copy may outlive the machine.
    parts_.copy.SetObserver([this, gate = observing_](const CatalogCopy::Change& change) {
      const sync::Gate::Visit visit(*gate);
      if (visit.is_in()) work_.Post([this, change] { Observe(change); });
    });
  }
  ~Machine() { Stop(); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void Start() { lock_.Start(); }
  void Stop() {
    observing_->Close();
    lock_.Stop();
    work_.Stop();
    is_elected_ = false;
  }
  bool is_elected() const { return is_elected_; }

  void RemoveNode(const std::string& node, OnEnded on_done) {
    work_.Post([this, node, answer = sync::Answer<void>(std::move(on_done))]() mutable {
      if (!parts_.copy.is_listed())
        return answer(Fail(Code::kUnavailable, "the catalog has not been read yet"));
      const NodeView view = parts_.copy.Node(node);
      if (view.node == nullptr || view.node->is_external)
        return answer(Fail(Code::kNotFound, "no agent had that node"));
      if (view.is_alive) return answer({});
      // A node that comes back meanwhile stays.
      parts_.store.Txn(Remove(node, parts_.copy.Sessions(), keys_.registry(), dead_),
                       work_.On<sync::TxnAnswer>([answer = std::move(answer)](
                                                     const Result<sync::TxnAnswer>& done) mutable {
                         answer(done ? Result<void>() : Fail(done.error()));
                       }));
    });
  }

 private:
  using Task = std::move_only_function<void()>;

  void Report(const Error& error) const {
    if (parts_.on_report) parts_.on_report("janitor: " + error.message);
  }

  // --- who is the janitor

  void Lead() {
    is_elected_ = true;
    ++term_;
    marks_.clear();
    are_marks_read_ = false;
    began_ = work_.clock().Now();
    began_wall_ns_ = work_.clock().WallNanos();
    round_.Set(began_);
  }

  void Follow() {
    is_elected_ = false;
    ++term_;
    tasks_.clear();
    waiting_.clear();
    changed_.clear();
    round_.Clear();
    look_.Clear();
    reap_.Clear();
  }

  // The time of day as it was when the term began, and what has passed since: a clock that is set
  // meanwhile makes no node older.
  std::int64_t WallNow_ns() const {
    return began_wall_ns_ + (work_.clock().Now() - began_).count();
  }

  // --- what is to be done

  void Observe(const CatalogCopy::Change& change) {
    if (!is_elected_) return;
    const TimePoint now = work_.clock().Now();
    if (change.is_relist) round_.Set(now);
    changed_.insert(change.nodes.begin(), change.nodes.end());
    if (!changed_.empty() && !look_.is_set()) look_.Set(now + kGathering);
    for (const SessionRef& session : change.ended_sessions) AddClearing(session->id);
  }

  TimePoint Step(TimePoint now) {
    if (!is_elected_) return sync::kNever;
    if (round_.TakeDue(now)) BeginRound(now);
    const bool can_look = are_marks_read_ && parts_.copy.is_listed();
    const bool is_changed = can_look && look_.TakeDue(now);
    const bool is_reaping = can_look && reap_.TakeDue(now);
    if (is_changed || is_reaping) Look(now);
    while (running_ < kTasksAtOnce && !tasks_.empty()) {
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      ++running_;
      task();
    }
    TimePoint next = round_.due();
    if (can_look) next = std::min({next, look_.due(), reap_.due()});
    return next;
  }

  // Everything that may have been missed.
  void BeginRound(TimePoint now) {
    round_.Set(now + kRoundInterval);
    look_.Set(now);
    is_round_ = true;
    if (!are_marks_read_) Add("marks", [this] { ReadMarks(dead_.prefix()); });
    Add("locks", [this] { ReadLocks(keys_.locks()); });
  }

  void Add(const std::string& name, Task task) {
    if (tasks_.size() >= kMaxWaitingTasks || !waiting_.insert(name).second) return;
    tasks_.push_back(std::move(task));
  }
  // The task with that name has ended.
  void Done(const std::string& name, std::uint64_t term, const Result<void>& result) {
    --running_;
    if (term == term_) waiting_.erase(name);
    if (!result && result.error().code != Code::kFailedPrecondition) Report(result.error());
  }

  void AddClearing(const std::string& session) {
    const std::string name = "session/" + session;
    Add(name, [this, session, name] {
      ClearSession(
          parts_.store, keys_, work_, session,
          [this, name, term = term_](const Result<void>& done) { Done(name, term, done); });
    });
  }

  // A transaction that was refused came too late: what it leaned on has changed, and that was, or
  // will be, looked at.
  void AddWrite(const std::string& name, sync::TxnRequest request,
                std::move_only_function<void()> on_written = nullptr) {
    Add(name, [this, name, request = std::move(request),
               on_written = std::move(on_written)]() mutable {
      parts_.store.Txn(
          std::move(request),
          work_.On<sync::TxnAnswer>([this, name, term = term_, on_written = std::move(on_written)](
                                        Result<sync::TxnAnswer> answer) mutable {
            Done(name, term, answer ? Result<void>() : std::unexpected(answer.error()));
            if (term == term_ && answer && answer->succeeded && on_written) on_written();
          }));
    });
  }

  // --- lists of the store

  // Reads the keys from `from` on that have the prefix, page by page.
  void ReadKeys(const std::string& name, const std::string& from, const std::string& prefix,
                bool keys_only, std::function<void(const sync::KeyValue&)> take,
                std::function<void()> on_end) {
    parts_.store.Range(
        {.key = from, .end = PrefixEnd(prefix), .limit = kPageKeys, .keys_only = keys_only},
        work_.On<sync::RangeAnswer>([this, name, prefix, keys_only, take, on_end,
                                     term = term_](const Result<sync::RangeAnswer>& answer) {
          if (!answer || term != term_)
            return Done(name, term, answer ? Result<void>() : std::unexpected(answer.error()));
          for (const sync::KeyValue& kv : answer->kvs) take(kv);
          if (answer->has_more && !answer->kvs.empty())
            return ReadKeys(name, answer->kvs.back().key + '\0', prefix, keys_only, take, on_end);
          Done(name, term, {});
          on_end();
        }));
  }

  void ReadMarks(const std::string& from) {
    ReadKeys(
        "marks", from, dead_.prefix(), false,
        [this](const sync::KeyValue& kv) {
          std::int64_t since_s = 0;
          std::from_chars(kv.value.data(), kv.value.data() + kv.value.size(), since_s);
          marks_[dead_.NodeOf(kv.key)] = since_s;
        },
        [this] { are_marks_read_ = true; });
  }

  // Locks of sessions that ended while there was no janitor.
  void ReadLocks(const std::string& from) {
    ReadKeys(
        "locks", from, keys_.locks(), true,
        [this](const sync::KeyValue& kv) {
          const std::string session = keys_.SessionOf(kv.key);
          if (!session.empty() && parts_.copy.Session(session) == nullptr) AddClearing(session);
        },
        [] {});
  }

  // --- nodes and the sessions on them

  void Look(TimePoint now) {
    const std::set<std::string> changed = std::exchange(changed_, {});
    const bool is_round = std::exchange(is_round_, false);
    const std::int64_t revision = parts_.copy.revision();
    std::map<std::string, std::vector<SessionRef>> sessions;
    for (SessionRef& session : parts_.copy.Sessions()) {
      if (is_round || changed.contains(session->node))
        sessions[session->node].push_back(std::move(session));
    }
    for (const auto& [node, its] : sessions) LookAtSessions(node, its, revision);
    if (is_round) {
      for (const NodeView& view : parts_.copy.Nodes()) LookAtNode(view.node->node, view);
      for (const auto& [node, since_s] : marks_) LookAtNode(node, parts_.copy.Node(node));
    } else {
      for (const std::string& node : changed) LookAtNode(node, parts_.copy.Node(node));
    }
    ReapDue(now);
  }

  void LookAtSessions(const std::string& node, const std::vector<SessionRef>& sessions,
                      std::int64_t revision) {
    const SessionGround ground{.node = parts_.copy.Node(node),
                               .services = parts_.copy.ServicesOf(node)};
    for (const SessionRef& session : sessions) {
      auto request = EndOfSession(*session, ground, revision, keys_.registry());
      if (request) AddWrite("end/" + session->id, *std::move(request));
    }
  }

  void LookAtNode(const std::string& node, const NodeView& view) {
    if (parts_.reap_after <= Duration::zero()) return;
    const bool is_marked = marks_.contains(node);
    const bool is_dead = view.node != nullptr && !view.node->is_external && !view.is_alive;
    if (is_dead && !is_marked) {
      const std::int64_t since_s = WallNow_ns() / 1'000'000'000;
      AddWrite("mark/" + node, MarkDead(node, since_s, keys_.registry(), dead_),
               [this, node, since_s] {
                 marks_[node] = since_s;
                 ReapDue(work_.clock().Now());
               });
    } else if (!is_dead && is_marked) {
      AddWrite("unmark/" + node, Unmark(node, view.is_alive, keys_.registry(), dead_),
               [this, node] { marks_.erase(node); });
    }
  }

  // Reaps what is due, and sets the timer for the next.
  void ReapDue(TimePoint now) {
    if (parts_.reap_after <= Duration::zero()) return;
    reap_.Clear();
    const std::int64_t now_ns = WallNow_ns();
    for (const auto& [node, since_s] : marks_) {
      const Duration left = std::chrono::seconds(since_s) + parts_.reap_after - Duration(now_ns);
      if (left > Duration::zero()) {
        if (now + left < reap_.due()) reap_.Set(now + left);
        continue;
      }
      const NodeView view = parts_.copy.Node(node);
      if (view.node == nullptr || view.is_alive || view.node->is_external) continue;
      AddWrite("reap/" + node, Reap(node, view.node->mod_revision, keys_.registry(), dead_),
               [this, node] { marks_.erase(node); });
    }
  }

  const JanitorParts parts_;
  const KvKeys keys_;
  const DeadKeys dead_;
  std::atomic<bool> is_elected_ = false;
  std::uint64_t term_ = 0;                     // answers to tasks of an earlier one change nothing
  std::map<std::string, std::int64_t> marks_;  // since when a node is dead
  bool are_marks_read_ = false;
  TimePoint began_;
  std::int64_t began_wall_ns_ = 0;
  std::set<std::string> changed_;  // nodes that are to be looked at
  bool is_round_ = false;          // all are
  std::deque<Task> tasks_;
  std::set<std::string> waiting_;  // the names of those and of the running ones
  std::size_t running_ = 0;
  sync::Timer round_;
  sync::Timer look_;
  sync::Timer reap_;
  const std::shared_ptr<sync::Gate> observing_ = std::make_shared<sync::Gate>();
  Work work_;
  JanitorLock lock_;
};

Janitor::Janitor(JanitorParts parts) : machine_(std::make_unique<Machine>(std::move(parts))) {}
Janitor::~Janitor() = default;

void Janitor::Start() { machine_->Start(); }
void Janitor::Stop() { machine_->Stop(); }
bool Janitor::is_elected() const { return machine_->is_elected(); }
void Janitor::RemoveNode(const std::string& node,
                         std::move_only_function<void(Result<void>)> on_done) {
  machine_->RemoveNode(node, std::move(on_done));
}

}  // namespace kvorum::consul
