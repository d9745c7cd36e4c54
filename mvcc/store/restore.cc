#include "mvcc/store/restore.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mvcc/index/key_index_builder.h"
#include "mvcc/records/key_value.h"

namespace kvorum::mvcc {
namespace {

constexpr std::int64_t kMaxMain = std::numeric_limits<std::int64_t>::max();
// With fewer records a second thread is not worth its start.
constexpr std::uint64_t kRecordsPerThread = 20'000;
// Old revisions are sparse after a compaction: smaller chunks share the work more evenly.
constexpr unsigned kChunksPerThread = 4;

// The first record's main revision at or above `from`, if there is one.
Result<std::optional<std::int64_t>> FirstMain(Snapshot& snapshot, std::int64_t from) {
  std::optional<std::int64_t> first;
  KV_RETURN_IF_ERROR(snapshot.ScanRevisions({.main = from, .sub = 0}, {.main = kMaxMain, .sub = 0},
                                            [&](const RevisionRecord& record) {
                                              first = record.revision.main;
                                              return false;
                                            }));
  return first;
}

struct MainSpan {
  std::int64_t first = 0;
  std::int64_t last = -1;
};

// The span of the records. The backend only scans upwards, so the last is found by halving.
Result<MainSpan> FindSpan(Snapshot& snapshot) {
  KV_TRY(const std::optional<std::int64_t> first, FirstMain(snapshot, 0));
  if (!first) return MainSpan{};
  MainSpan span{.first = *first, .last = *first};
  for (std::int64_t beyond = kMaxMain; beyond - span.last > 1;) {
    const std::int64_t middle = span.last + (beyond - span.last) / 2;
    KV_TRY(const std::optional<std::int64_t> found, FirstMain(snapshot, middle));
    if (found) {
      span.last = *found;
    } else {
      beyond = middle;
    }
  }
  return span;
}

struct Attachment {
  std::string key;
  Revision revision;
  std::int64_t lease;
};

// A stretch of revisions, read by one thread.
class ChunkScan {
 public:
  ChunkScan(MainSpan span, KeyIndexBuilder::Chunk& chunk) : span_(span), chunk_(chunk) {}

  Result<void> Run(Snapshot& snapshot) {
    Result<void> added;
    KV_RETURN_IF_ERROR(snapshot.ScanRevisions({.main = span_.first, .sub = 0},
                                              {.main = span_.last + 1, .sub = 0},
                                              [&](const RevisionRecord& record) {
                                                added = Add(record);
                                                return added.has_value();
                                              }));
    KV_RETURN_IF_ERROR(added);
    chunk_.Finish();
    return {};
  }

  std::uint64_t records() const { return records_; }
  const std::vector<Attachment>& attachments() const { return attachments_; }

 private:
  Result<void> Add(const RevisionRecord& record) {
    KV_TRY(const KeyValue kv, DecodeKeyValue(record.value));
    ++records_;
    if (kv.lease != 0 && !record.tombstone) {
      attachments_.push_back({std::string(kv.key), record.revision, kv.lease});
    }
    return chunk_.Add({.key = kv.key,
                       .revision = record.revision,
                       .create_revision = kv.create_revision,
                       .version = kv.version,
                       .tombstone = record.tombstone});
  }

  MainSpan span_;
  KeyIndexBuilder::Chunk& chunk_;
  std::uint64_t records_ = 0;
  std::vector<Attachment> attachments_;
};

std::vector<ChunkScan> Divide(MainSpan span, unsigned chunks, KeyIndexBuilder& builder) {
  std::vector<ChunkScan> scans;
  const std::int64_t width = (span.last - span.first) / chunks + 1;
  for (std::int64_t first = span.first; first <= span.last; first += width) {
    const MainSpan part{.first = first, .last = std::min(span.last, first + width - 1)};
    scans.emplace_back(part, builder.AddChunk());
  }
  return scans;
}

// Takes chunk after chunk until none is left.
Result<void> ScanChunks(Backend& backend, std::vector<ChunkScan>& scans,
                        std::atomic<std::size_t>& next) {
  KV_TRY(const Reader reader, backend.NewReader());
  for (std::size_t i = next++; i < scans.size(); i = next++) {
    KV_RETURN_IF_ERROR(scans[i].Run(*reader));
  }
  return {};
}

Result<void> ScanAll(Backend& backend, std::vector<ChunkScan>& scans, unsigned threads) {
  std::atomic<std::size_t> next{0};
  std::vector<Result<void>> results(threads);
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < threads; ++i) {
      helpers.emplace_back([&, i] { results[i] = ScanChunks(backend, scans, next); });
    }
    results[0] = ScanChunks(backend, scans, next);
  }
  for (const Result<void>& result : results) KV_RETURN_IF_ERROR(result);
  return {};
}

unsigned ThreadsFor(const RestoreRequest& request, std::uint64_t records) {
  const unsigned wanted = request.threads != 0
                              ? request.threads
                              : std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(records / kRecordsPerThread, 1, wanted));
}

// Only the newest record of each key tells its lease.
void ReportAttachments(const KeyIndex& index, const std::vector<ChunkScan>& scans,
                       const RestoreRequest& request) {
  if (!request.on_lease_attachment) return;
  for (const ChunkScan& scan : scans) {
    for (const Attachment& attachment : scan.attachments()) {
      const std::optional<IndexItem> item = index.working().Get(attachment.key, 0);
      if (item && item->modified == attachment.revision) {
        request.on_lease_attachment(attachment.key, attachment.lease);
      }
    }
  }
}

struct Layout {
  MainSpan span;
  std::uint64_t records = 0;
};

Result<Layout> FindLayout(Backend& backend) {
  KV_TRY(const Reader reader, backend.NewReader());
  Layout layout;
  KV_TRY(layout.span, FindSpan(*reader));
  KV_TRY(layout.records, reader->CountRevisions());
  return layout;
}

// `records` is about as many as there are in the span.
Result<std::vector<ChunkScan>> ScanSpan(Backend& backend, MainSpan span, std::uint64_t records,
                                        const RestoreRequest& request, KeyIndexBuilder& builder) {
  const unsigned threads = ThreadsFor(request, records);
  std::vector<ChunkScan> scans =
      Divide(span, threads == 1 ? 1 : threads * kChunksPerThread, builder);
  KV_RETURN_IF_ERROR(ScanAll(backend, scans, threads));
  return scans;
}

// Deletions at the compacted revision itself stay in the backend, also those that the same txn has
// undone, which the index does not keep.
Result<std::uint64_t> CountUndone(Snapshot& snapshot, const IndexView& index,
                                  std::int64_t compact_revision) {
  std::uint64_t undone = 0;
  Result<void> counted;
  KV_RETURN_IF_ERROR(snapshot.ScanRevisions(
      {.main = compact_revision, .sub = 0}, {.main = compact_revision + 1, .sub = 0},
      [&](const RevisionRecord& record) {
        if (!record.tombstone) return true;
        const Result<KeyValue> kv = DecodeKeyValue(record.value);
        if (!kv.has_value()) {
          counted = std::unexpected(kv.error());
          return false;
        }
        if (!index.IsKept(kv->key, record.revision, compact_revision, KeepRule::kCompaction))
          ++undone;
        return true;
      }));
  KV_RETURN_IF_ERROR(counted);
  return undone;
}

Result<void> CheckIsWhole(Backend& backend, const LoadedIndex& loaded, const Layout& layout,
                          std::int64_t compact_revision, bool is_compacted) {
  std::uint64_t undone = 0;
  if (compact_revision >= 0) {
    KV_TRY(const Reader reader, backend.NewReader());
    KV_TRY(undone, CountUndone(*reader, loaded.index->working(), compact_revision));
  }
  const std::uint64_t expected = loaded.revisions + undone;
  if (is_compacted ? expected != layout.records : expected > layout.records)
    return Fail(Code::kDataLoss, "with the database's later records it knows " +
                                     std::to_string(expected) + " revisions, and the database " +
                                     std::to_string(layout.records));
  return {};
}

}  // namespace

Result<LoadedIndex> LoadIndex(Backend& backend, const SavedIndexRequest& saved,
                              const RestoreRequest& request) {
  KV_TRY(const Layout layout, FindLayout(backend));
  const bool is_compacted = saved.scheduled_compact <= saved.finished_compact;
  std::vector<ChunkScan> scans;
  const auto read_later = [&](std::int64_t revision) -> Result<SortedRecords> {
    if (!is_compacted && request.compact_revision > revision)
      return Fail(Code::kDataLoss, "a compaction beyond it is unfinished");
    KeyIndexBuilder builder;
    const MainSpan later{.first = std::max(revision + 1, layout.span.first),
                         .last = layout.span.last};
    const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(later.last - revision, 0));
    KV_TRY(scans, ScanSpan(backend, later, std::min(most, layout.records), request, builder));
    return builder.Sort();
  };
  const IndexedState state{.marks = saved.marks,
                           .revision = std::max(request.at_least_revision, layout.span.last),
                           .compact_revision = request.compact_revision};
  KV_TRY(LoadedIndex loaded, ReadIndexFile(saved.files, saved.database_path, state, read_later));
  KV_RETURN_IF_ERROR(CheckIsWhole(backend, loaded, layout, request.compact_revision, is_compacted));
  if (request.on_lease_attachment) {
    for (const auto& [key, lease] : loaded.attachments) request.on_lease_attachment(key, lease);
  }
  ReportAttachments(*loaded.index, scans, request);
  return loaded;
}

Result<std::int64_t> NewestMain(Snapshot& snapshot) {
  KV_TRY(const MainSpan span, FindSpan(snapshot));
  return span.last;
}

Result<std::unique_ptr<KeyIndex>> RestoreIndex(Backend& backend, const RestoreRequest& request) {
  KV_TRY(const Layout layout, FindLayout(backend));
  KeyIndexBuilder builder;
  KV_TRY(const std::vector<ChunkScan> scans,
         ScanSpan(backend, layout.span, layout.records, request, builder));
  std::uint64_t scanned = 0;
  for (const ChunkScan& scan : scans) scanned += scan.records();
  if (scanned != layout.records) {
    return Fail(Code::kDataLoss, "mvcc: the backend counts " + std::to_string(layout.records) +
                                     " revisions, but holds " + std::to_string(scanned));
  }
  KV_TRY(std::unique_ptr<KeyIndex> index,
         builder.Build({.current_revision = std::max(request.at_least_revision, layout.span.last),
                        .compact_revision = request.compact_revision}));
  ReportAttachments(*index, scans, request);
  return index;
}

}  // namespace kvorum::mvcc
