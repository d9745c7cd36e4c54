#include "mvcc/store/hash_run.h"

#include <utility>

#include "base/api_errors.h"
#include "base/background/aside.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/store/store.h"

namespace kvorum::mvcc {

Result<HashRun> HashRun::Begin(Store& store, std::int64_t revision, const Options& options) {
  KV_TRY(ReadView view, store.Read());
  KV_TRY(const KvHasher hasher, view.BeginHash(revision));
  return HashRun(store, revision, options, std::move(view), hasher);
}

HashRun::HashRun(Store& store, std::int64_t revision, const Options& options, ReadView view,
                 KvHasher hasher)
    : store_(store),
      revision_(revision),
      options_(options),
      state_(view.state_),
      compact_revision_(view.compact_revision()),
      end_{.main = hasher.revision() + 1, .sub = 0},
      view_(std::move(view)),
      hasher_(hasher) {}

Result<bool> HashRun::Step() {
  KV_RETURN_IF_ERROR(TakeView());
  std::size_t records = 0;
  std::size_t bytes = 0;
  bool is_last = true;
  Result<void> added;
  const auto add = [&](const RevisionRecord& record) {
    const bool is_full = records == options_.piece_records || bytes >= options_.piece_bytes;
    if (is_full || (records > 0 && records % kRecordsBetweenLooks == 0 && view_->MustEnd())) {
      next_ = record.revision;
      is_last = false;
      return false;
    }
    ++records;
    bytes += record.value.size();
    added = hasher_.Add(view_->index(), record);
    return added.has_value();
  };
  Result<void> scanned;
  RunAside([&] { scanned = view_->ScanRecords(next_, end_, add); });
  KV_RETURN_IF_ERROR(scanned);
  KV_RETURN_IF_ERROR(added);
  if (is_last) view_.reset();
  return is_last;
}

// The next piece's view. The last one goes no sooner: it is the one to go on with, if a compaction
// has been asked for since.
Result<void> HashRun::TakeView() {
  const std::int64_t compact_revision = store_.compact_revision();
  if (view_.has_value() && IsOvertaken(compact_revision)) {
    const bool could_answer = revision_ <= 0 || revision_ >= compact_revision;
    const bool stays = options_.overtaken == Overtaken::kKeepsView || !could_answer;
    if (stays && !view_->MustEnd()) return {};
    view_.reset();
    return kReaderMustEnd.Fail();
  }
  view_.reset();
  KV_TRY(ReadView view, store_.Read());
  // In this moment.
  if (view.state_ != state_ || IsOvertaken(view.compact_revision())) return kReaderMustEnd.Fail();
  view_.emplace(std::move(view));
  return {};
}

// By one that deletes of what is still to be read.
bool HashRun::IsOvertaken(std::int64_t compact_revision) const {
  return compact_revision > compact_revision_ && compact_revision >= next_.main;
}

}  // namespace kvorum::mvcc
