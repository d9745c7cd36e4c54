#include "tools/mirror/mirror_sync.h"

#include <chrono>
#include <utility>

#include "sync/store/answer.h"
#include "tools/shell/reporter.h"

namespace kvorum::ctl {
namespace {

constexpr std::size_t kBatchFiles = 1000;
constexpr std::size_t kListBatchBytes = std::size_t{16} << 20U;
constexpr Duration kMirrorRetryPause = std::chrono::seconds(2);

}  // namespace

MirrorSync::MirrorSync(sync::Store& store, Executor& executor, MirrorFolder& folder,
                       const sync::SourceOptions& options, MirrorEvents events)
    : store_(store),
      folder_(folder),
      events_(std::move(events)),
      plan_(options.prefix),
      loop_(executor, [this](TimePoint now) { return Step(now); }),
      source_(store, executor, *this, options) {}

MirrorSync::~MirrorSync() { Stop(); }

void MirrorSync::Stop() {
  source_.Stop();
  loop_.Stop();
}

void MirrorSync::OnListBegin(std::int64_t revision) {
  plan_.BeginList();
  batch_.revision = revision;
}

void MirrorSync::OnListPage(std::vector<sync::KeyValue> kvs) {
  for (sync::KeyValue& kv : kvs) plan_.Put(std::move(kv));
  if (plan_.pending() >= kBatchFiles || plan_.pending_bytes() >= kListBatchBytes)
    Flush(Failures::kKept);
}

void MirrorSync::OnListEnd() {
  plan_.EndList(folder_.files());
  batch_.ends_list = true;
  Flush(Failures::kTold);
}

// The changes of all revisions that are here are made at once, by the next step.
void MirrorSync::OnRevision(std::int64_t revision, std::vector<sync::Event> events) {
  for (sync::Event& event : events) {
    if (event.is_delete)
      plan_.Erase(event.kv.key);
    else
      plan_.Put(std::move(event.kv));
  }
  batch_.revision = revision;
  is_dirty_ = true;
  loop_.Wake();
}

TimePoint MirrorSync::Step(TimePoint now) {
  const bool is_retry = retry_.TakeDue(now);
  if (is_dirty_ || is_retry) Flush(Failures::kTold);
  return retry_.due();
}

void MirrorSync::Flush(Failures failures) {
  const bool was_ready = is_ready();
  is_dirty_ = false;
  // A change that fails comes back to the plan, and is not tried again at once.
  std::vector<std::vector<FileChange>> batches;
  for (auto ready = plan_.TakeReady(kBatchFiles); !ready.empty();
       ready = plan_.TakeReady(kBatchFiles))
    batches.push_back(std::move(ready));
  for (std::vector<FileChange>& batch : batches) Make(std::move(batch), failures);
  for (const std::string& key : plan_.TakeWanted()) Fetch(key);
  for (const std::string& warning : plan_.TakeWarnings()) events_.on_warning(warning);
  if (!plan_.is_listing() && (batch_.changed > 0 || batch_.ends_list)) {
    batch_.files = folder_.files().size();
    batch_.skipped = plan_.skipped();
    events_.on_batch(batch_);
    batch_ = {.revision = batch_.revision};
  }
  if (!was_ready && is_ready()) source_.Resume();
}

void MirrorSync::Make(std::vector<FileChange> changes, Failures failures) {
  std::map<std::string, std::string> told_before;
  if (!failed_.empty()) {
    for (const FileChange& change : changes) told_before.insert(failed_.extract(change.path));
  }
  MirrorFolder::Outcome outcome = folder_.Apply(std::move(changes));
  batch_.changed += outcome.written.size() + outcome.removed.size();
  for (const std::string& path : outcome.removed) events_.on_removed(path);
  for (const std::string& path : outcome.written) events_.on_written(path);
  for (MirrorFolder::Failed& failed : outcome.failed) {
    const std::string& path = failed.change.path;
    if (failures == Failures::kTold && told_before[path] != failed.why)
      events_.on_warning(ShownName(path) + ": " + failed.why);
    failed_[path] = failures == Failures::kTold ? failed.why : told_before[path];
    plan_.GiveBack(std::move(failed.change));
  }
  if (outcome.failed.empty() || retry_.is_set()) return;
  retry_.Set(SystemClock().Now() + kMirrorRetryPause);
  loop_.Wake();
}

void MirrorSync::Fetch(const std::string& key) {
  store_.Range({.key = key},
               sync::OnLoop<sync::RangeAnswer>(
                   loop_.handle(), [this, key](Result<sync::RangeAnswer> answer) {
                     if (!answer) {
                       events_.on_warning(ShownName(key) + ": " + answer.error().message);
                       plan_.WantAgain(key);
                       return retry_.Set(SystemClock().Now() + kMirrorRetryPause);
                     }
                     // If it has gone, the source tells.
                     for (sync::KeyValue& kv : answer->kvs) plan_.PutFetched(std::move(kv));
                     is_dirty_ = true;
                   }));
}

}  // namespace kvorum::ctl
