// The saved key index of a store: reading it, and writing it at the end.
//
// Store::Close: on the apply executor the file's mark joins the last batch; on the backend executor
// all is committed; on the apply executor, which has nothing more to apply, the file is written.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/log/logging.h"
#include "mvcc/store/restore.h"
#include "mvcc/store/store.h"

namespace kvorum::mvcc {

RestoreRequest Store::RequestFor(const StoreOptions& options, const Restored& restored) {
  // A compaction may have removed the records of the newest revisions, which must not be used a
  // second time.
  const std::int64_t compacted = restored.compact_revision();
  return {.at_least_revision = std::max<std::int64_t>(1, compacted),
          .compact_revision = compacted,
          .threads = options.restore_threads,
          .on_lease_attachment = options.on_lease_attachment};
}

bool Store::LoadSavedIndex(const StoreOptions& options, StoreState& state, IndexKeeper& keeper,
                           Restored& restored) {
  if (!keeper.is_on()) return false;
  std::optional<LoadedIndex> loaded = keeper.Load([&] {
    return LoadIndex(*state.backend,
                     {.files = *options.index_file.files,
                      .database_path = options.index_file.database_path,
                      .marks = restored.index_marks,
                      .scheduled_compact = restored.scheduled_compact,
                      .finished_compact = restored.finished_compact},
                     RequestFor(options, restored));
  });
  if (!loaded.has_value()) return false;
  state.index = std::move(loaded->index);
  restored.index_file_revision = loaded->binding.revision;
  restored.later_records = loaded->later_records;
  return true;
}

void Store::Close(Committer::Callback done) {
  if (!keeper_.is_on()) return committer_.Close(std::move(done));
  executors_.apply.Post([this, done = std::move(done)]() mutable {
    saver_.End();
    std::optional<IndexBinding> binding = PutIndexMark();
    const bool is_damaged = !keeper_.MaySave();
    committer_.Close(
        [this, binding = std::move(binding), is_damaged, done = std::move(done)]() mutable {
          if (is_damaged) keeper_.Remove();
          if (!binding.has_value() || committer_.stalled()) return done();
          SaveIndex(*std::move(binding), std::move(done));
        });
  });
}

std::optional<IndexBinding> Store::PutIndexMark() {
  const bool is_between_batches = !installing_ && !txn_open_ && !dirty_ && !revisions_.hidden() &&
                                  UnpublishedBytes() == 0 && revision() == working_revision();
  if (!is_between_batches || compactor_.unfinished() >= 0 || !keeper_.MaySave())
    return std::nullopt;
  IndexBinding binding{.mark = keeper_.NewMark(),
                       .revision = revisions_.working(),
                       .compact_revision = revisions_.compacted()};
  saver_.PutMark(binding.mark);
  Publish(consistent_index_, term_);
  return binding;
}

// On the backend executor.
void Store::SaveIndex(IndexBinding binding, Committer::Callback done) {
  executors_.apply.Post([this, binding = std::move(binding), done = std::move(done)]() mutable {
    if (IsAt(binding)) keeper_.Save(*state_->index, std::move(binding));
    executors_.backend.Post(std::move(done));
  });
}

// Entries applied after the mark may not be durable.
bool Store::IsAt(const IndexBinding& binding) const {
  return !installing_ && !dirty_ && binding.revision == revisions_.working() &&
         binding.compact_revision == revisions_.compacted() && compactor_.unfinished() < 0;
}

}  // namespace kvorum::mvcc
