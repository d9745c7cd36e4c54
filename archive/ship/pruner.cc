#include "archive/ship/pruner.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/ship/archive_reader.h"

namespace kvorum::archive {
namespace {

constexpr std::size_t kPruneBatch = 500;

class Pruner {
 public:
  explicit Pruner(ObjectStore& store) : store_(store) {}

  ShipResult<PruneCounts> Run(const Retention& retention) {
    bool are_manifests_gone = true;
    for (const Retention::OldBase& base : retention.bases) {
      if (base.has_manifest) {
        const ObjectKey key = {.history = base.history, .name = ManifestName{base.name}};
        KV_TRY(const bool is_gone, DeleteAll(std::vector{KeyText(key)}));
        are_manifests_gone = are_manifests_gone && is_gone;
        if (!is_gone) continue;
      }
      KV_RETURN_IF_ERROR(DeleteAll(base.parts));
    }
    if (are_manifests_gone) KV_RETURN_IF_ERROR(DeleteAll(retention.objects));
    return counts_;
  }

 private:
  // False if some are left.
  ShipResult<bool> DeleteAll(std::span<const std::string> keys) {
    bool are_gone = true;
    for (; !keys.empty(); keys = keys.subspan(std::min(keys.size(), kPruneBatch))) {
      const auto batch = keys.first(std::min(keys.size(), kPruneBatch));
      KV_TRY(const bool is_gone, DeleteBatch(batch));
      are_gone = are_gone && is_gone;
    }
    return are_gone;
  }

  ShipResult<bool> DeleteBatch(std::span<const std::string> batch) {
    const auto head = store_.Head(batch.back());
    if (!head.has_value() && head.error().kind != StoreErrorKind::kAbsent)
      return std::unexpected(head.error());
    if (head.has_value() && !head->lock.empty()) {
      CountLocked(batch.size(), head->lock);
      return false;
    }
    KV_TRY(const auto failures, store_.Delete(batch));
    counts_.deleted += batch.size() - failures.size();
    for (const DeleteFailure& failure : failures) {
      if (failure.error.kind != StoreErrorKind::kLocked)
        return ShipFail(ShipErrorKind::kStore, failure.key + ": " + failure.error.text);
      CountLocked(1, failure.error.text);
    }
    return failures.empty();
  }

  void CountLocked(std::uint64_t number, std::string_view text) {
    counts_.locked += number;
    if (counts_.lock.empty()) counts_.lock = text;
  }

  ObjectStore& store_;
  PruneCounts counts_;
};

}  // namespace

ShipResult<Retention> FindRetention(ObjectStore& store, HistoryId head,
                                    const RetentionOptions& options, UnixMillis now_ms) {
  KV_TRY(const std::vector<HistoryRecord> records, ReadHistories(store));
  Contents contents;
  std::map<HistoryId, UnixMillis> marks;
  for (const HistoryRecord& record : records) {
    contents.histories[record.id].record = record;
    KV_TRY(const auto mark, ReadMark(store, record.id));
    if (mark) marks[record.id] = mark->time_ms;
  }
  const std::vector<HistoryId> line = PrunableLine(contents, head, marks, now_ms,
                                                   std::max(options.keep_for_ms, kWriterDeadMs));
  for (const HistoryId id : line) {
    KV_RETURN_IF_ERROR(store.List({.prefix = HistoryPrefix(id), .after = {}},
                                  [&](std::string_view key, std::uint64_t) {
                                    contents.Add(key);
                                    return true;
                                  }));
  }
  contents.Sort();
  return PlanRetention(contents, line, options, now_ms);
}

ShipResult<PruneCounts> Prune(ObjectStore& store, const Retention& retention) {
  return Pruner(store).Run(retention);
}

}  // namespace kvorum::archive
