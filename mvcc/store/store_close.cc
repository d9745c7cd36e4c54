// The saved key index of a store: its binding, reading it, and writing it at the end.
//
// Store::Close: on the apply executor the file's mark joins the last batch; on the backend executor
// all is committed, and the state that the backend is in now is read from it; on the apply
// executor, which has nothing more to apply, the file is written. If something is committed after
// all, the file is of another state.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/log/logging.h"
#include "mvcc/records/bucket.h"
#include "mvcc/store/restore.h"
#include "mvcc/store/store.h"

namespace kvorum::mvcc {

Result<IndexBinding> Store::ReadBinding(Snapshot& content) {
  KV_TRY(const Restored marks, ReadMarks(content));
  KV_TRY(const std::int64_t newest, NewestMain(content));
  KV_TRY(const std::uint64_t records, content.CountRevisions());
  KV_TRY(const std::optional<std::string_view> mark,
         content.Get(Bucket::kMeta, meta_key::kIndexMark));
  return IndexBinding{
      .mark = std::string(mark.value_or("")),
      .commit_number = content.CommitNumber(),
      .consistent_index = marks.recovered.consistent_index,
      .term = marks.recovered.term,
      .revision = std::max({std::int64_t{1}, marks.compact_revision(), newest}),
      .compact_revision = marks.compact_revision(),
      .records = records,
  };
}

Result<bool> Store::LoadSavedIndex(const StoreOptions& options, StoreState& state,
                                   IndexKeeper& keeper) {
  IndexBinding expected;
  {
    KV_TRY(const Reader reader, state.backend->NewReader());
    KV_TRY(expected, ReadBinding(*reader));
  }
  std::optional<LoadedIndex> loaded = keeper.Load(expected);
  if (!loaded.has_value()) return false;
  state.index = std::move(loaded->index);
  if (options.on_lease_attachment) {
    for (const auto& [key, lease] : loaded->attachments) options.on_lease_attachment(key, lease);
  }
  return true;
}

void Store::Close(Committer::Callback done) {
  if (!keeper_.is_on()) return committer_.Close(std::move(done));
  executors_.apply.Post([this, done = std::move(done)]() mutable {
    const bool is_marked = PutIndexMark();
    committer_.Close([this, is_marked, done = std::move(done)]() mutable {
      if (!is_marked || committer_.stalled()) return done();
      SaveIndex(std::move(done));
    });
  });
}

bool Store::PutIndexMark() {
  const bool is_between_batches = !installing_ && !txn_open_ && !dirty_ && !revisions_.hidden() &&
                                  UnpublishedBytes() == 0 && revision() == working_revision();
  if (!is_between_batches || compactor_.unfinished() >= 0 || !keeper_.MaySave()) return false;
  PutBucket(Bucket::kMeta, meta_key::kIndexMark, keeper_.NewMark());
  Publish(consistent_index_, term_);
  return true;
}

// On the backend executor.
void Store::SaveIndex(Committer::Callback done) {
  const auto read = [this]() -> Result<IndexBinding> {
    KV_TRY(const Reader reader, State()->backend->OpenReader(ReaderPlace::kReserved));
    return ReadBinding(*reader);
  };
  Result<IndexBinding> binding = read();
  if (!binding.has_value()) {
    KV_WARN("failed to save the key index; the next start reads every record",
            {"error", binding.error().message});
    return done();
  }
  keeper_.Expect();
  executors_.apply.Post([this, binding = *std::move(binding), done = std::move(done)]() mutable {
    if (IsAt(binding)) keeper_.Save(*state_->index, std::move(binding));
    executors_.backend.Post(std::move(done));
  });
}

bool Store::IsAt(const IndexBinding& binding) const {
  return !installing_ && !dirty_ && binding.consistent_index == consistent_index_ &&
         binding.term == term_ && binding.revision == revisions_.working() &&
         binding.compact_revision == revisions_.compacted() && compactor_.unfinished() < 0;
}

}  // namespace kvorum::mvcc
