// Keeps a mirror's folder equal to a prefix: what a source delivers, made as batches of files.
//
// Everything runs on the executor, whose thread also waits for the disk; nothing else may be on it.
// A change that cannot be made is reported once and tried again every two seconds, and later
// changes wait with it: beyond kMaxPendingBytes the source delivers no more. Start and Stop are
// thread-safe. Store, executor and folder outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/task.h"
#include "sync/informer/source.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/timer.h"
#include "sync/store/store.h"
#include "tools/mirror/mirror_folder.h"
#include "tools/mirror/mirror_plan.h"

namespace kvorum::ctl {

struct MirrorBatch {
  std::int64_t revision = 0;
  std::size_t changed = 0;  // files, since the last batch
  std::size_t files = 0;    // that there are
  std::size_t skipped = 0;  // keys without a file
  bool ends_list = false;
};

// Called on the executor.
struct MirrorEvents {
  std::function<void(const std::string& path)> on_written;
  std::function<void(const std::string& path)> on_removed;
  std::function<void(const std::string& text)> on_warning;
  // The folder is as the store was at the revision, except for what could not be made.
  std::function<void(const MirrorBatch& batch)> on_batch;
};

class MirrorSync final : private sync::SourceSink {
 public:
  static constexpr std::size_t kMaxPendingBytes = std::size_t{64} << 20U;

  MirrorSync(sync::Store& store, Executor& executor, MirrorFolder& folder,
             const sync::SourceOptions& options, MirrorEvents events);
  ~MirrorSync() override;
  MirrorSync(const MirrorSync&) = delete;
  MirrorSync& operator=(const MirrorSync&) = delete;

  void Start() { source_.Start(); }
  void Stop();

 private:
  void OnListBegin(std::int64_t revision) override;
  void OnListPage(std::vector<sync::KeyValue> kvs) override;
  void OnListEnd() override;
  void OnRevision(std::int64_t revision, std::vector<sync::Event> events) override;
  void OnProgress(std::int64_t /*revision*/) override {}
  void OnError(const Error& error) override { events_.on_warning(error.message); }
  bool is_ready() override { return plan_.pending_bytes() < kMaxPendingBytes; }

  enum class Failures : std::uint8_t { kTold, kKept };  // those of a list may mend themselves

  TimePoint Step(TimePoint now);
  void Flush(Failures failures);
  void Make(std::vector<FileChange> changes, Failures failures);
  void Fetch(const std::string& key);

  sync::Store& store_;
  MirrorFolder& folder_;
  const MirrorEvents events_;
  MirrorPlan plan_;
  std::map<std::string, std::string> failed_;  // path to the reason that was reported
  MirrorBatch batch_;                          // as it has come so far
  bool is_dirty_ = false;
  sync::Timer retry_;
  sync::Loop loop_;
  sync::Source source_;
};

}  // namespace kvorum::ctl
