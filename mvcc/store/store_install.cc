// Store::Install: on the copier the content is opened and its index built; on the backend executor
// its file gets the database's name and the committer switches to it; on the apply executor readers
// get to see it. A crash leaves the old file under the database's name and the new one under its
// own, or the new one under the database's.
#include <utility>

#include "base/check.h"
#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "mvcc/store/store.h"

namespace kvorum::mvcc {
namespace {

// The interval for checking whether a replaced state still has readers.
constexpr Duration kCloseRetry = std::chrono::milliseconds(100);

}  // namespace

struct Store::Installation {
  InstallRequest request;
  Task done;
  std::int64_t shown_revision = 0;  // the newest that readers have seen
  std::vector<Compactor::Callback> compaction_waiters;
  std::shared_ptr<StoreState> state;
  Restored restored;
};

void Store::Install(InstallRequest request, Task done) {
  KV_CHECK(!installing_ && !txn_open_ && !dirty_, "an installation in the middle of a batch");
  installing_ = true;
  saver_.Cancel();
  auto installation = std::make_shared<Installation>();
  installation->request = std::move(request);
  installation->done = std::move(done);
  installation->shown_revision = working_revision();
  installation->compaction_waiters = compactor_.Abandon();
  executors_.copier.Post([this, installation = std::move(installation)]() mutable {
    const Result<void> built = BuildInstallation(*installation);
    executors_.backend.Post([this, built, installation = std::move(installation)]() mutable {
      if (!built.has_value()) return Fatal(built.error());
      PlaceInstallation(std::move(installation));
    });
  });
}

Result<void> Store::BuildInstallation(Installation& installation) const {
  const InstallRequest& request = installation.request;
  KV_FAILPOINT("applyBeforeOpenSnapshot");
  KV_TRY(auto backend, request.open(request.snapshot_path));
  installation.state = std::make_shared<StoreState>(std::move(backend), options_.buffer);
  KV_TRY(installation.restored, Restore(options_, *installation.state, /*keeper=*/nullptr));
  const std::uint64_t consistent_index = installation.restored.recovered.consistent_index;
  if (consistent_index != request.consistent_index) {
    return Fail(Code::kDataLoss, "mvcc: the snapshot in " + request.snapshot_path +
                                     " is of index " + std::to_string(consistent_index) +
                                     " and not of " + std::to_string(request.consistent_index));
  }
  // The log says that this content is the later one: the old one has records that the cluster never
  // had. Its readers saw them, and only this one ends that.
  if (installation.restored.revision < installation.shown_revision) {
    KV_ERROR("this member's revision goes back, since its database was not the cluster's",
             {"revision", installation.shown_revision},
             {"snapshot-revision", installation.restored.revision},
             {"path", request.snapshot_path});
  }
  installation.state->index->Publish({.current_revision = installation.restored.revision,
                                      .compact_revision = installation.restored.compact_revision(),
                                      .side_version = request.side_version});
  KV_FAILPOINT("applyAfterOpenSnapshot");
  if (!request.load) return {};
  KV_TRY(const Reader reader, installation.state->backend->NewReader());
  return request.load(*reader);
}

void Store::PlaceInstallation(std::shared_ptr<Installation> installation) {
  StoreState& state = *installation->state;
  keeper_.Remove();
  if (installation->request.before_place) installation->request.before_place();
  const Result<void> placed = state.backend->TakePlace(installation->request.path);
  if (!placed.has_value()) return Fatal(placed.error());
  committer_.Retarget(*state.backend, state.buffer, installation->state);
  sizes_.Refresh(*state.backend);
  saver_.OnReplaced(installation->restored.records);
  executors_.apply.Post(
      [this, installation = std::move(installation)] { ShowInstallation(*installation); });
}

void Store::ShowInstallation(Installation& installation) {
  installing_ = false;
  std::shared_ptr<StoreState> replaced = std::move(installation.state);
  {
    std::lock_guard lock(state_mutex_);
    state_.swap(replaced);
    // With the lock, so that no pass adds up one content's records for the other.
    BeginHistorySum(installation.restored);
  }
  hashes_.Clear();
  saver_.SetMarks({});
  GoOnFrom(installation.restored, installation.request.side_version);
  executors_.backend.Post(
      [this, replaced = std::move(replaced)]() mutable { CloseWhenUnused(std::move(replaced)); });
  ResumeCompaction(installation.restored);
  if (listener_ != nullptr) listener_->OnInstalled(working_revision());
  for (Compactor::Callback& waiter : installation.compaction_waiters)
    compactor_.WhenIdle(std::move(waiter));
  installation.done();
}

void Store::CloseWhenUnused(std::shared_ptr<StoreState> replaced) {
  if (replaced.use_count() == 1) return;  // closed here
  executors_.backend.PostAt(
      executors_.backend.clock().Now() + kCloseRetry,
      [this, replaced = std::move(replaced)]() mutable { CloseWhenUnused(std::move(replaced)); });
}

}  // namespace kvorum::mvcc
