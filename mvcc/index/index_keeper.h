// The saved key index beside a store: read at the start, written now and then while the store
// serves (mvcc/store/index_saver.h), and at a clean stop.
//
// A failure with the file is logged and costs the start the time of reading every record. Threads:
// Load before the executors run; Remove belongs to the backend executor; NewMark and Save to the
// apply executor. Save blocks it while the file is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/rng.h"
#include "mvcc/index/index_file.h"
#include "mvcc/index/index_file_reader.h"
#include "mvcc/index/key_index.h"

namespace kvorum::mvcc {

// The keys that are attached to leases, which the store's owner keeps. Apply executor.
struct IndexAttachments {
  using Visit = std::function<void(std::string_view key, std::int64_t lease)>;

  std::function<std::size_t()> count;
  // They are read in parts, a few at a time. A key stays in its part.
  std::size_t parts = 0;
  std::function<void(std::size_t part, const Visit& visit)> visit_part;
};

// The index is saved while the store serves, so that a killed member starts like one that was
// stopped. A start reads what was written after the newest file; a file costs the processor and the
// disk as much as all keys together.
struct IndexSaving {
  bool is_on = true;
  // With fewer records a start that reads all of them takes no time worth it.
  std::uint64_t least_records = 50'000;
  // A new file is due when one in as many of all records was written since the last. So for each of
  // them as many entries are written to disk, of about 9 bytes.
  std::uint64_t share = 16;
  // Between two files; or this many times what the last has taken, if that is longer.
  Duration pause = std::chrono::seconds(10);
  int pauses = 4;
  // The pieces in which a file is written: after each the thread and the disk are free for the
  // interval.
  std::size_t piece_bytes = std::size_t{64} * 1024;
  Duration piece_interval = std::chrono::milliseconds(4);
  std::size_t sync_bytes = std::size_t{1} << 20;
  // The space that must be left on the disk.
  std::uint64_t free_bytes = std::uint64_t{256} << 20;
  // They are copied for the time that a file takes. With more, none is written.
  std::size_t most_attachments = 250'000;
};

struct IndexFileOptions {
  FileSystem* files = nullptr;  // of the database; null: the index is not saved
  std::string database_path = {};
  bool load = true;        // false: a start reads every record, whether or not there is a file
  std::uint64_t seed = 0;  // of the marks; another one at each start
  // Writing at a stop that takes longer is given up, so that a stop ends.
  Duration limit = std::chrono::seconds(8);
  // Asked before a file is written, on the apply executor; null: yes. No for a database that is
  // known to be damaged, which the next start is to find out: a file of before goes.
  std::function<bool()> may_save = {};
  // The lease that a key is attached to, 0 for none; on the apply executor. Null: no key is.
  std::function<std::int64_t(std::string_view key)> lease_of = {};
  // The same for the saving while the store serves. Null: no key is.
  IndexAttachments attachments = {};
  IndexSaving saving = {};
};

class IndexKeeper {
 public:
  IndexKeeper(IndexFileOptions options, const Clock& clock);

  bool is_on() const { return options_.files != nullptr; }
  const IndexFileOptions& options() const { return options_; }
  // The index that `read` has made of the file, if there is a file of this state that is whole.
  std::optional<LoadedIndex> Load(const std::function<Result<LoadedIndex>()>& read);
  bool has_loaded() const { return has_loaded_; }

  // The backend is about to be replaced, or is known to be damaged.
  void Remove();

  bool MaySave() const { return is_on() && (!options_.may_save || options_.may_save()); }
  std::string NewMark();
  void Save(const KeyIndex& index, IndexBinding binding);

 private:
  const IndexFileOptions options_;
  const Clock& clock_;
  Rng rng_;
  bool has_loaded_ = false;
};

}  // namespace kvorum::mvcc
