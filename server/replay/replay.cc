#include "server/replay/replay.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "server/apply/applier.h"
#include "server/apply/wait_table.h"
#include "server/replica/member/member_state.h"
#include "server/replica/recovery/backend_recovery.h"
#include "server/replica/recovery/local_member_options.h"

namespace kvorum::server {
namespace {

// Enough to make a publish cheap.
constexpr std::size_t kReplayBatch = 1'000;
// A full disk runs no callback, so it is looked for.
constexpr std::chrono::milliseconds kLook(50);

// The executors' own threads, and the wait for them.
class ReplayThreads {
 public:
  ~ReplayThreads() { Stop(); }

  ReplayExecutors executors() {
    return {.apply = apply_,
            .backend = backend_,
            .copier = copier_,
            .wait = [this](const std::function<bool()>& condition) { Wait(condition); }};
  }
  void Notify() {
    // A waiter has looked at its condition, or looks after this.
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  void Stop() {
    for (ThreadExecutor* executor : {&apply_, &backend_, &copier_}) executor->Stop();
  }

 private:
  void Wait(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    while (!condition()) changed_.wait_for(lock, kLook);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  ThreadExecutor apply_{"replay"};
  ThreadExecutor backend_{"replay-backend"};
  ThreadExecutor copier_{"replay-copier"};
};

}  // namespace

// Members used by both the replay's thread and the executors' are guarded by the mutex, or change
// hands with a task and its end.
class Replay::Work {
 public:
  explicit Work(ReplayOptions options) : options_(std::move(options)) {
    if (!options_.executors) {
      threads_ = std::make_unique<ReplayThreads>();
      options_.executors.emplace(threads_->executors());
    }
  }
  ~Work() {
    if (threads_ != nullptr) threads_->Stop();
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  Result<void> Open(FileSystem& fs);
  Result<std::size_t> ApplySome(std::span<const raft::Entry> entries);
  Result<void> Close();

  bool IsAtTarget() const { return options_.to_revision && revision_ >= *options_.to_revision; }
  // The number of entries that may be applied without going past the revision that was asked for:
  // an entry adds one at most.
  std::size_t BatchSize(std::size_t entries) const {
    std::size_t size = std::min(entries, kReplayBatch);
    if (options_.to_revision)
      size = std::min(size, static_cast<std::size_t>(*options_.to_revision - revision_));
    return size;
  }

  raft::Index applied() const { return applied_; }
  raft::Term term() const { return term_; }
  std::int64_t revision() const { return revision_; }
  mvcc::Store& store() { return state_->store(); }

 private:
  // Runs a task on the apply executor, and waits until that has called `done`.
  Result<void> OnApply(std::move_only_function<void(Task done)> task);
  Result<void> WaitForEnd();
  void End();
  void Fatal(const Error& error);
  std::optional<Error> Failure();

  // On the apply executor.
  void ApplyWithRoom(Task done);

  ReplayOptions options_;
  std::unique_ptr<ReplayThreads> threads_;
  WaitTable waiters_;
  std::unique_ptr<MemberState> state_;
  std::unique_ptr<Applier> applier_;

  // These belong to the task that runs.
  std::vector<raft::Entry> batch_;
  std::size_t batch_applied_ = 0;

  raft::Index applied_ = 0;
  raft::Term term_ = 0;
  std::int64_t revision_ = 0;

  std::mutex mutex_;  // guards what follows
  bool is_ended_ = false;
  std::optional<Error> fatal_;
};

Result<void> Replay::Work::Open(FileSystem& fs) {
  LocalMemberOptions member;
  member.snap_dir = options_.folder;
  const ReplayExecutors& executors = *options_.executors;
  KV_TRY(auto backend, options_.open(DatabasePath(options_.folder)));
  KV_TRY(state_,
         MemberState::Open(
             fs, std::move(backend),
             {.apply = executors.apply, .backend = executors.backend, .copier = executors.copier},
             member,
             {.on_fatal = [this](const Error& error) { Fatal(error); }, .on_durable = nullptr}));
  KV_RETURN_IF_ERROR(state_->Load(raft::kNone, nullptr));
  mvcc::Store& store = state_->store();
  store.SetPublishListener(options_.listener);
  applied_ = raft::Index{store.recovered().consistent_index};
  term_ = raft::Term{store.recovered().term};
  revision_ = store.revision();
  applier_ = std::make_unique<Applier>(
      store, state_->membership(), state_->alarms(), state_->quota(), state_->leases(),
      state_->auth_applier(), waiters_,
      Applier::Hooks{.on_conf_change = [](raft::Index, const raft::ConfChange&) {},
                     .on_no_space = [](Task answer) { answer(); },
                     .on_fatal = [this](const Error& error) { Fatal(error); }},
      Applier::Bounds{});
  return {};
}

Result<std::size_t> Replay::Work::ApplySome(std::span<const raft::Entry> entries) {
  if (entries.front().index != applied_ + 1) {
    return Fail(Code::kDataLoss, "entry " + std::to_string(entries.front().index.value()) +
                                     " does not follow entry " + std::to_string(applied_.value()));
  }
  batch_.assign(entries.begin(), entries.end());
  KV_RETURN_IF_ERROR(OnApply([this](Task done) { ApplyWithRoom(std::move(done)); }));
  return batch_applied_;
}

void Replay::Work::ApplyWithRoom(Task done) {
  mvcc::Store& store = state_->store();
  if (!store.HasRoom()) {
    store.WhenRoom([this, done = std::move(done)]() mutable { ApplyWithRoom(std::move(done)); });
    return;
  }
  batch_applied_ = applier_->Apply(batch_);
  if (applier_->failed()) return;  // Fatal was called
  applied_ = applier_->applied_index();
  term_ = applier_->applied_term();
  revision_ = store.working_revision();
  done();
}

Result<void> Replay::Work::Close() {
  if (const auto failure = Failure()) return Fail(*failure);
  state_->store().Close([this] { End(); });
  return WaitForEnd();
}

Result<void> Replay::Work::OnApply(std::move_only_function<void(Task done)> task) {
  if (const auto failure = Failure()) return Fail(*failure);
  options_.executors->apply.Post(
      [this, task = std::move(task)]() mutable { task([this] { End(); }); });
  return WaitForEnd();
}

Result<void> Replay::Work::WaitForEnd() {
  options_.executors->wait([this] {
    const std::lock_guard lock(mutex_);
    return is_ended_ || fatal_.has_value() || state_->store().CommitStalled();
  });
  if (const auto failure = Failure()) return Fail(*failure);
  const std::lock_guard lock(mutex_);
  is_ended_ = false;
  return {};
}

void Replay::Work::End() {
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  if (threads_ != nullptr) threads_->Notify();
}

void Replay::Work::Fatal(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!fatal_) fatal_ = error;
  }
  if (threads_ != nullptr) threads_->Notify();
}

// A stall does not end: a person has to make room, and to begin again.
std::optional<Error> Replay::Work::Failure() {
  const std::lock_guard lock(mutex_);
  if (!fatal_ && state_->store().CommitStalled()) {
    fatal_ = Error{Code::kResourceExhausted,
                   "the disk that holds " + options_.folder + " has no space left"};
  }
  return fatal_;
}

Replay::Replay(std::unique_ptr<Work> work) : work_(std::move(work)) {}

Replay::~Replay() = default;

Result<std::unique_ptr<Replay>> Replay::Open(FileSystem& fs, ReplayOptions options) {
  auto work = std::make_unique<Work>(std::move(options));
  KV_RETURN_IF_ERROR(work->Open(fs));
  return std::unique_ptr<Replay>(new Replay(std::move(work)));
}

Result<bool> Replay::Apply(std::span<const raft::Entry> entries) {
  while (!entries.empty() && !work_->IsAtTarget()) {
    const std::size_t size = work_->BatchSize(entries.size());
    KV_TRY(const std::size_t applied, work_->ApplySome(entries.first(size)));
    entries = entries.subspan(applied);
  }
  return work_->IsAtTarget();
}

Result<void> Replay::Close() { return work_->Close(); }

raft::Index Replay::applied() const { return work_->applied(); }

raft::Term Replay::term() const { return work_->term(); }

std::int64_t Replay::revision() const { return work_->revision(); }

mvcc::Store& Replay::store() { return work_->store(); }

}  // namespace kvorum::server
