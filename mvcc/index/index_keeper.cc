#include "mvcc/index/index_keeper.h"

#include <utility>

#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"
#include "mvcc/index/index_file_writer.h"

namespace kvorum::mvcc {

IndexKeeper::IndexKeeper(IndexFileOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), rng_(options_.seed) {}

std::optional<LoadedIndex> IndexKeeper::Load(const std::function<Result<LoadedIndex>()>& read) {
  if (!is_on() || !options_.load) return std::nullopt;
  const TimePoint begun = clock_.Now();
  Result<LoadedIndex> loaded = read();
  const std::string path = IndexFilePath(options_.database_path);
  if (!loaded.has_value()) {
    if (loaded.error().code != Code::kNotFound)
      KV_WARN("the saved key index is not used; every record is read instead", {"path", path},
              {"error", loaded.error().message});
    return std::nullopt;
  }
  has_loaded_ = true;
  KV_INFO("read the saved key index", {"path", path}, {"keys", loaded->index->live_keys()},
          {"revision", loaded->binding.revision}, {"later-records", loaded->later_records},
          {"took", FormatDuration(clock_.Now() - begun)});
  return *std::move(loaded);
}

void IndexKeeper::Remove() {
  if (!is_on()) return;
  KV_FAILPOINT("dropIndexBeforeRemove");
  const Result<void> removed = RemoveIndexFile(*options_.files, options_.database_path);
  // Another database has no mark of it.
  if (!removed.has_value())
    KV_WARN("failed to remove the saved key index, which is out of date",
            {"path", IndexFilePath(options_.database_path)}, {"error", removed.error().message});
  KV_FAILPOINT("dropIndexAfterRemove");
}

std::string IndexKeeper::NewMark() {
  std::string mark;
  while (mark.size() < IndexBinding::kMarkBytes) {
    const std::uint64_t bits = rng_();
    mark.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  }
  return mark;
}

void IndexKeeper::Save(const KeyIndex& index, IndexBinding binding) {
  const TimePoint begun = clock_.Now();
  // A file that was given up may be left.
  const std::string left_over = NextIndexFilePath(options_.database_path);
  if (options_.files->Exists(left_over).value_or(false))
    static_cast<void>(options_.files->Remove(left_over));
  const auto in_time = [&] { return clock_.Now() - begun < options_.limit; };
  const Result<IndexFileSize> saved = WriteIndexFile(
      *options_.files, options_.database_path,
      {.view = index.working(), .binding = std::move(binding), .lease_of = options_.lease_of},
      in_time);
  if (saved.has_value()) {
    KV_INFO("saved the key index", {"path", IndexFilePath(options_.database_path)},
            {"keys", saved->keys}, {"bytes", saved->bytes},
            {"took", FormatDuration(clock_.Now() - begun)});
    return;
  }
  KV_WARN("failed to save the key index; the next start reads more records",
          {"path", IndexFilePath(options_.database_path)}, {"error", saved.error().message});
  // The rest of it may be all that fills the disk.
  static_cast<void>(options_.files->Remove(UnfinishedIndexFilePath(options_.database_path)));
}

}  // namespace kvorum::mvcc
