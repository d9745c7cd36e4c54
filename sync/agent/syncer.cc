#include "sync/agent/syncer.h"

#include <algorithm>
#include <utility>

#include "sync/agent/check_machine.h"

namespace kvorum::sync {
namespace {

// A stalled disk does not delay a caller for longer.
constexpr Duration kPatienceWithSave = std::chrono::seconds(1);
// A state in which nothing but the times of reports is new is saved no more often.
constexpr Duration kReportsPause = std::chrono::seconds(1);

RegistryOptions RegistryOptionsOf(const SyncerOptions& options) {
  RegistryOptions registry = options.registry;
  registry.keeps_records = options.keeps_records;
  registry.node_details = options.node_details;
  return registry;
}

CatalogPassOptions PassOptions(const SyncerOptions& options) {
  return {.keys = CatalogKeys(options.root),
          .node = options.node,
          .keeps_records = options.keeps_records,
          .max_txn_operations = std::max<std::size_t>(options.max_txn_operations, 1),
          .store_of = options.store_of};
}

AgentSessionOptions SessionOptions(const SyncerOptions& options) {
  return {.key = CatalogKeys(options.root).Node(options.node),
          .node = options.node,
          .value = options.node_value,
          .life_key =
              options.keeps_records ? CatalogKeys(options.root).Life(options.node) : std::string(),
          .ttl_s = options.ttl_s,
          .backoff = options.schedule.backoff};
}

Result<void> Validate(const SyncerOptions& options) {
  KV_RETURN_IF_ERROR(ValidateName("the node's name", options.node));
  KV_RETURN_IF_ERROR(ValidateDetails("the node", options.node_details));
  if (options.ttl_s < 1) return Fail(Code::kInvalidArgument, "the time to live is below a second");
  if (options.ttl_s > kMaxTtl_s)
    return Fail(Code::kInvalidArgument, "the time to live is above 9000000000 s");
  return {};
}

}  // namespace

Syncer::Syncer(Store& store, Executor& executor, SyncerOptions options, const AgentState& restored)
    : executor_(executor),
      options_(std::move(options)),
      rng_(options_.seed == 0 ? EntropySeed() : options_.seed),
      output_rng_(rng_()),
      shared_(RegistryOptionsOf(options_)),
      loop_(executor, [this](TimePoint now) { return Step(now); }),
      triggers_{.full_now = Trigger([this] { loop_.Wake(); }),
                .full_soon = Trigger([this] { loop_.Wake(); }),
                .changed = Trigger([this] { loop_.Wake(); })},
      pause_([this](Pass due) {
        (due == Pass::kFull ? triggers_.full_now : triggers_.changed).Fire();
      }),
      session_(store, executor.clock(), loop_.handle(), SessionOptions(options_), rng_()),
      pass_(store, shared_, pause_, loop_.handle(), PassOptions(options_)),
      permission_(store, loop_.handle(), PassOptions(options_)),
      schedule_(options_.schedule) {
  if (restored.node == options_.node) {
    session_.Adopt(restored.lease, restored.session_revision);
    const std::int64_t unix_ns = executor.clock().WallNanos();
    for (Entry entry : restored.entries) {
      for (Check& check : entry.checks) ExpireTtl(check, unix_ns);
      if (auto added = shared_.registry.Register(entry); !added) Report(added.error());
    }
  }
  if (options_.metrics == nullptr) return;
  cells_.full_ok = options_.metrics->Get(CounterName::kAeFullSyncs, {"ok"});
  cells_.full_failed = options_.metrics->Get(CounterName::kAeFullSyncs, {"error"});
  cells_.dirty = options_.metrics->Get(GaugeName::kAeDirty);
  cells_.blocked = options_.metrics->Get(GaugeName::kAeBlocked);
  cells_.next_full = options_.metrics->Get(GaugeName::kAeNextFullSeconds);
}

Syncer::~Syncer() { Stop(); }

Result<void> Syncer::Start() {
  KV_RETURN_IF_ERROR(Validate(options_));
  is_started_ = true;
  loop_.Wake();
  return {};
}

void Syncer::Stop() {
  loop_.Stop();
  SaveReportsAtStop();
  if (!leaving_.is_cancelled.exchange(true)) leaving_.waiting.clear();
}

void Syncer::Leave(OnLeft on_left) {
  loop_.Post([this, left = Answer<void>(std::move(on_left))]() mutable {
    if (leaving_.is_over) return left(leaving_.outcome);
    leaving_.waiting.push_back(std::move(left));
  });
}

Result<void> Syncer::Register(Entry entry) {
  // A check that begins as passing has been reported just now; one that was here keeps its time.
  for (Check& check : entry.checks) {
    const bool counts =
        check.definition.kind == CheckKind::kTtl && check.health != Health::kCritical;
    check.reported_unix_ns = counts ? executor_.clock().WallNanos() : 0;
  }
  {
    const std::lock_guard lock(shared_.mutex);
    KV_RETURN_IF_ERROR(shared_.registry.Register(std::move(entry)));
  }
  triggers_.changed.Fire();
  return {};
}

void Syncer::AskToWrite(const std::vector<EntryPlace>& places, const std::string& token,
                        WritePermission::OnAnswer on_answer) {
  const std::int64_t lease = status().lease;
  // Answered on the loop, so within this object's life, but for kCanceled.
  permission_.Ask(
      places, token, lease,
      [this, places, token, on_answer = std::move(on_answer)](Result<void> answer) mutable {
        if (answer) {
          const std::lock_guard lock(shared_.mutex);
          for (const EntryPlace& place : places) shared_.registry.Allow(place.id, token);
        }
        on_answer(std::move(answer));
      });
}

Result<void> Syncer::Deregister(const std::string& id, const std::string& token) {
  {
    const std::lock_guard lock(shared_.mutex);
    KV_RETURN_IF_ERROR(shared_.registry.Deregister(id, token));
  }
  triggers_.changed.Fire();
  return {};
}

Result<void> Syncer::UpdateCheck(const std::string& id, const std::string& check, Health health,
                                 std::string_view output) {
  bool is_due = false;
  bool is_waiting = false;
  {
    const std::lock_guard lock(shared_.mutex);
    const TimePoint waited = shared_.registry.next_output();
    KV_TRY(is_due, shared_.registry.UpdateCheck(id, check, health, output, Now(), output_rng_));
    is_waiting = shared_.registry.next_output() < waited;
  }
  if (is_due) triggers_.changed.Fire();
  if (is_waiting) loop_.Wake();
  return {};
}

Result<void> Syncer::ReportCheck(const std::string& id, const std::string& check, Health health,
                                 std::string_view output) {
  KV_RETURN_IF_ERROR(UpdateCheck(id, check, health, output));
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.registry.NoteReport(id, check, executor_.clock().WallNanos());
  }
  loop_.Wake();
  return {};
}

std::vector<Registry::Listed> Syncer::List(Registry::Which which) const {
  const std::lock_guard lock(shared_.mutex);
  return shared_.registry.List(which);
}

SyncerStatus Syncer::status() const {
  SyncerStatus status;
  {
    const std::lock_guard lock(status_mutex_);
    status = status_;
  }
  const std::lock_guard lock(shared_.mutex);
  status.dirty = shared_.registry.dirty();
  status.blocked = shared_.registry.blocked();
  return status;
}

TimePoint Syncer::Step(TimePoint now) {
  if (!is_started_) return kNever;
  if (leaving_.is_over) return Save(now);
  TimePoint due = session_.Step(now);
  if (session_.TakeLeaseLost()) is_lease_lost_ = true;
  if (session_.TakeReachableAgain()) triggers_.full_soon.Fire();
  {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.registry.TakeDueOutputs(now)) schedule_.WantPartial();
    due = std::min(due, shared_.registry.next_output());
  }
  due = std::min(due, Save(now));
  if (!is_passing_) {
    if (!leaving_.waiting.empty()) {
      BeginLeaving();
      return kNever;
    }
    TakeTriggers(now);
    due = std::min(due, TakePass(now));
  }
  Publish(now);
  return due;
}

// Returns when there may be a pass to take.
TimePoint Syncer::TakePass(TimePoint now) {
  const TimePoint patience_ends = saving_.begun + kPatienceWithSave;
  if (saving_.is_under_way && now < patience_ends) return patience_ends;
  const Pass kind = schedule_.Take(now, pause_, rng_);
  if (kind == Pass::kNone) return schedule_.due();
  BeginPass(kind);
  return kNever;
}

void Syncer::TakeTriggers(TimePoint now) {
  if (std::exchange(is_lease_lost_, false)) {
    // And all keys with it.
    MarkAllDirty();
    schedule_.WantFullNow();
  }
  if (triggers_.full_soon.Take()) schedule_.WantFull(now, rng_);
  if (triggers_.full_now.Take()) schedule_.WantFullNow();
  if (triggers_.changed.Take()) schedule_.WantPartial();
}

void Syncer::BeginPass(Pass kind) {
  is_passing_ = true;
  const auto begin = [this, kind] {
    pass_.Begin(kind, {.lease = session_.lease(), .revision = session_.revision()},
                [this, kind](CatalogPass::Outcome outcome) { Ended(kind, std::move(outcome)); });
  };
  if (kind == Pass::kChanges) return begin();
  ++results_.full_passes;
  session_.Ensure([this, kind, begin](const Result<void>& held) {
    if (held) return begin();
    using End = CatalogPass::Outcome::End;
    const bool is_lease_gone = held.error().code == Code::kNotFound;
    Ended(kind, {.end = is_lease_gone ? End::kSessionLost : End::kFailed, .error = held.error()});
  });
}

void Syncer::Ended(Pass kind, CatalogPass::Outcome outcome) {
  using End = CatalogPass::Outcome::End;
  is_passing_ = false;
  const TimePoint now = Now();
  const bool is_full = kind == Pass::kFull;
  if (is_full && outcome.end != End::kPaused && cells_.full_ok) {
    (outcome.end == End::kOk ? cells_.full_ok : cells_.full_failed)->Add();
  }
  switch (outcome.end) {
    case End::kOk:
      results_.last_error.clear();
      if (!is_full) return schedule_.PartialSucceeded();
      ++results_.full_syncs;
      results_.nodes = outcome.nodes;
      schedule_.FullSucceeded(now, results_.nodes, rng_);
      Publish(now);
      if (options_.on_full_sync) options_.on_full_sync();
      return;
    case End::kFailed:
      Report(outcome.error);
      return is_full ? schedule_.FullFailed(now, rng_) : schedule_.PartialFailed(now, rng_);
    case End::kPaused:
      // The pause holds the pass back; a full one is also tried again as after an error.
      if (is_full) schedule_.FullFailed(now, rng_);
      return;
    case End::kSessionLost:
      Report(outcome.error.code == Code::kUnknown
                 ? Error{Code::kAborted, "the session of node " + options_.node + " was lost"}
                 : outcome.error);
      session_.Lose();
      MarkAllDirty();
      return schedule_.WantFullAfterBackoff(now, rng_);
  }
}

void Syncer::MarkAllDirty() {
  const std::lock_guard lock(shared_.mutex);
  shared_.registry.MarkAllDirty();
}

void Syncer::BeginLeaving() {
  is_passing_ = true;
  if (session_.revision() == 0) return RevokeAndEnd({});
  pass_.BeginRemoval({.lease = session_.lease(), .revision = session_.revision()},
                     [this](const CatalogPass::Outcome& removal) { RevokeAndEnd(removal); });
}

// Keys that could not be removed singly go with the lease, as far as they hang on it.
void Syncer::RevokeAndEnd(const CatalogPass::Outcome& removal) {
  Result<void> removed;
  if (removal.end == CatalogPass::Outcome::End::kFailed) removed = Fail(removal.error);
  session_.Revoke([this, removed = std::move(removed)](Result<void> revoked) mutable {
    leaving_.is_over = true;
    leaving_.outcome = revoked ? std::move(removed) : std::move(revoked);
    Publish(Now());
    for (Answer<void>& left : std::exchange(leaving_.waiting, {})) left(leaving_.outcome);
  });
}

// Returns when to try again.
TimePoint Syncer::Save(TimePoint now) {
  if (!options_.save || saving_.is_under_way) return kNever;
  if (saving_.again.is_set() && !saving_.again.TakeDue(now)) return saving_.again.due();
  AgentState state{.node = options_.node,
                   .lease = session_.lease(),
                   .session_revision = session_.last_revision()};
  {
    const std::lock_guard lock(shared_.mutex);
    const std::uint64_t version = shared_.registry.last_version();
    if (state == saving_.state && version == saving_.version) {
      if (shared_.registry.reports() == saving_.reports) return kNever;
      if (now < saving_.begun + kReportsPause) return saving_.begun + kReportsPause;
    }
    saving_.state = state;
    saving_.version = version;
    saving_.reports = shared_.registry.reports();
    state.entries = shared_.registry.Shown();
  }
  saving_.is_under_way = true;
  saving_.begun = now;
  options_.save(EncodeState(state), [this, loop = loop_.handle()](Result<void> saved) {
    loop.Post([this, saved = std::move(saved)] {
      saving_.is_under_way = false;
      if (saved) return;
      saving_.state = {};
      saving_.again.Set(Now() + saving_.backoff.Next(Now(), rng_));
      Report(saved.error());
    });
  });
  return kNever;
}

// Nothing else runs any more.
void Syncer::SaveReportsAtStop() {
  if (!options_.save || saving_.begun == TimePoint{}) return;
  AgentState state = saving_.state;
  {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.registry.reports() == saving_.reports) return;
    saving_.reports = shared_.registry.reports();
    state.entries = shared_.registry.Shown();
  }
  if (state.node.empty()) return;  // the last save has failed
  options_.save(EncodeState(state), [](const Result<void>&) {});
}

void Syncer::Publish(TimePoint now) {
  SyncerStatus status{.state = schedule_.state(),
                      .lease = session_.lease(),
                      .session_revision = session_.revision(),
                      .is_held_by_another = session_.is_held_by_another(),
                      .full_syncs = results_.full_syncs,
                      .nodes = results_.nodes,
                      .times_blocked = pass_.times_blocked(),
                      .last_error = results_.last_error,
                      .next_full = schedule_.next_full()};
  if (cells_.dirty) {
    const std::lock_guard lock(shared_.mutex);
    cells_.dirty->Set(static_cast<double>(shared_.registry.dirty()));
    cells_.blocked->Set(static_cast<double>(shared_.registry.blocked()));
  }
  if (cells_.next_full) {
    const bool is_known = status.next_full != kNever;
    cells_.next_full->Set(is_known ? std::chrono::duration<double>(status.next_full - now).count()
                                   : 0);
  }
  const std::lock_guard lock(status_mutex_);
  status_ = std::move(status);
}

void Syncer::Report(const Error& error) {
  results_.last_error = error.message;
  if (options_.on_error) options_.on_error(error);
}

}  // namespace kvorum::sync
