// The life of the saved key index beside a store: read at the start, removed before the first write
// to the backend, written anew at a clean stop.
//
// A failure with the file is logged and costs the start the time of reading every record. Threads:
// Load before the executors run; BeforeWrite and Expect belong to the backend executor; NewMark and
// Save to the apply executor. Save blocks it while the file is written.
#pragma once

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

struct IndexFileOptions {
  FileSystem* files = nullptr;  // of the database; null: the index is not saved
  std::string database_path = {};
  bool load = true;        // false: a start reads every record, whether or not there is a file
  std::uint64_t seed = 0;  // of the marks; another one at each start
  // Writing that takes longer is given up, so that a stop ends.
  Duration limit = std::chrono::seconds(8);
  // Asked when the store is closed, on the apply executor; null: yes. No for a database that is
  // known to be damaged, which the next start is to find out.
  std::function<bool()> may_save = {};
  // The lease that a key is attached to, 0 for none; on the apply executor. Null: no key is.
  std::function<std::int64_t(std::string_view key)> lease_of = {};
};

class IndexKeeper {
 public:
  IndexKeeper(IndexFileOptions options, const Clock& clock);

  bool is_on() const { return options_.files != nullptr; }
  // The index, if there is a file of this state that is whole.
  std::optional<LoadedIndex> Load(const IndexBinding& expected);
  bool has_loaded() const { return has_loaded_; }

  // The backend is about to be changed or replaced: removes the file, durably.
  void BeforeWrite();
  // A file is about to be written.
  void Expect() { may_exist_ = true; }

  bool MaySave() const { return is_on() && (!options_.may_save || options_.may_save()); }
  std::string NewMark();
  void Save(const KeyIndex& index, IndexBinding binding);

 private:
  const IndexFileOptions options_;
  const Clock& clock_;
  Rng rng_;
  bool has_loaded_ = false;
  bool may_exist_ = true;
};

}  // namespace kvorum::mvcc
