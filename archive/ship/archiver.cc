#include "archive/ship/archiver.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "archive/ship/base_desk.h"
#include "archive/ship/base_shipper.h"
#include "archive/ship/log_shipper.h"
#include "archive/ship/pruner.h"
#include "archive/store/retrying_store.h"
#include "base/log/logging.h"

namespace kvorum::archive {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(500);
constexpr Duration kLongestPause = std::chrono::seconds(20);
constexpr Duration kLineEvery = std::chrono::minutes(1);
// The log's calls give up earlier than those of bases: the member may no longer lead.
constexpr Duration kLongestLogPause = std::chrono::seconds(5);
constexpr Duration kLogGivesUpAfter = std::chrono::seconds(30);
// Packing a base gives way to threads that serve.
constexpr int kBaseNice = 10;

// Pauses after errors that follow each other, and the lines that tell of them.
class Setbacks {
 public:
  explicit Setbacks(const Clock& clock) : clock_(clock) {}

  Duration Next() {
    pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
    return pause_;
  }
  // True if a line may be written now.
  bool TakesLine() {
    const TimePoint now = clock_.Now();
    if (last_line_ && now - *last_line_ < kLineEvery) return false;
    last_line_ = now;
    return true;
  }
  bool any() const { return pause_ != Duration::zero(); }
  void End() {
    pause_ = Duration::zero();
    last_line_.reset();
  }

 private:
  const Clock& clock_;
  Duration pause_{};
  std::optional<TimePoint> last_line_;
};

}  // namespace

class Archiver::Threads {
 public:
  Threads(ArchivedMember& member, OpenStoreFunction open, const Clock& clock, StopSignal& stop,
          ArchiveStatus& status, ArchiverOptions options)
      : member_(member),
        open_(std::move(open)),
        clock_(clock),
        stop_(stop),
        status_(status),
        options_(options),
        log_(member, clock, stop, status, options.new_history),
        bases_(member, clock, stop, status),
        schedule_(clock, options.base_interval),
        log_setbacks_(clock),
        base_setbacks_(clock) {}

  void Start() {
    log_thread_ = std::thread([this] { RunLog(); });
    base_thread_ = std::thread([this] { RunBases(); });
  }

  void Stop() {
    stop_.Stop();
    desk_.Close();
    if (log_thread_.joinable()) log_thread_.join();
    if (base_thread_.joinable()) base_thread_.join();
  }

 private:
  // The log's thread.
  void RunLog() {
    pthread_setname_np(pthread_self(), "archive");
    while (!stop_.stopped()) {
      const TimePoint began = clock_.Now();
      const auto done = StepLog();
      Duration pause = PauseAfter(clock_.Now() - began);
      if (done.has_value()) {
        if (log_setbacks_.any()) KV_INFO("the archive is reached again");
        log_setbacks_.End();
        OrderBase();
      } else {
        if (done.error().kind == ShipErrorKind::kStopped) return;
        log_store_.reset();
        pause = log_setbacks_.Next();
        ReportLog(done.error());
      }
      if (stop_.WaitFor(std::max(pause, Duration::zero()))) return;
    }
  }

  // An entry that a step has just missed is archived when the next step ends: an interval later at
  // most, if that takes as long as this one.
  Duration PauseAfter(Duration step) const {
    const Duration slack = options_.interval / 10;
    return std::max(options_.interval - 2 * step - slack, slack);
  }

  ShipResult<void> StepLog() {
    if (log_store_ == nullptr) {
      KV_TRY(auto store, open_());
      const auto on_retry = [this](const StoreError& error, Duration) {
        status_.retries.Add();
        log_.UpdateLag();
        SetState(ShipState::kFailing, error.text);
      };
      log_store_ = std::make_unique<RetryingStore>(std::move(store), clock_, stop_,
                                                   RetryOptions{.longest_pause = kLongestLogPause,
                                                                .give_up_after = kLogGivesUpAfter,
                                                                .on_retry = on_retry});
    }
    return log_.Step(*log_store_);
  }

  void ReportLog(const ShipError& error) {
    if (error.kind == ShipErrorKind::kRefused) {
      SetState(ShipState::kRefused, error.text);
      if (log_setbacks_.TakesLine()) KV_ERROR("the archive is refused", {"error", error.text});
      return;
    }
    if (error.kind == ShipErrorKind::kStore) status_.failures.Add();
    SetState(ShipState::kFailing, error.text);
    if (log_setbacks_.TakesLine())
      KV_WARN("archiving failed and is tried again", {"error", error.text});
  }

  void SetState(ShipState state, const std::string& text) {
    ArchiveStatus::Values values = status_.values();
    values.state = state;
    values.error = text;
    status_.Set(std::move(values));
  }

  void OrderBase() {
    const auto line = log_.line();
    if (!line) return;
    std::optional<BaseName> newest = desk_.NewestMade(line->history.id);
    if (!newest || (log_.newest_base() && *newest < *log_.newest_base()))
      newest = log_.newest_base();
    ArchiveStatus::Values values = status_.values();
    if (newest) {
      values.base = {
          .index = newest->index, .revision = newest->revision, .time_ms = newest->time_ms};
    } else {
      // Without a base the log leads nowhere.
      values.state = ShipState::kStarting;
      values.archived = {};
    }
    status_.Set(std::move(values));
    if (schedule_.IsDue(*line, newest))
      desk_.Order(
          {.history = line->history.id, .time_ms = line->time_ms, .least = line->least_base});
  }

  // The bases' thread.
  void RunBases() {
    pthread_setname_np(pthread_self(), "archive-base");
    // The priority counts for this thread and those that it starts.
    setpriority(PRIO_PROCESS, 0, kBaseNice);
    while (const auto order = desk_.Wait()) {
      const auto made = MakeBase(*order);
      if (made.has_value()) {
        base_setbacks_.End();
      } else if (made.error().kind != ShipErrorKind::kStopped) {
        if (made.error().kind == ShipErrorKind::kStore) status_.failures.Add();
        if (base_setbacks_.TakesLine())
          KV_WARN("a base was not archived and is begun again", {"error", made.error().text});
        stop_.WaitFor(base_setbacks_.Next());
      }
      desk_.Done();
    }
  }

  ShipResult<void> MakeBase(const BaseOrder& order) {
    KV_TRY(auto opened, open_());
    RetryingStore store(
        std::move(opened), clock_, stop_,
        {.on_retry = [this](const StoreError&, Duration) { status_.retries.Add(); }});
    KV_TRY(const BaseName base, bases_.Ship(store, order.history, order.time_ms, order.least));
    desk_.Made(order.history, base);
    if (const auto kept = Retain(store, order.history);
        !kept.has_value() && kept.error().kind != ShipErrorKind::kStopped) {
      // The next base's retention deletes what this one did not.
      if (kept.error().kind == ShipErrorKind::kStore) status_.failures.Add();
      KV_WARN("the archive's old objects could not be deleted", {"error", kept.error().text});
    }
    return {};
  }

  ShipResult<void> Retain(ObjectStore& store, HistoryId history) {
    if (!member_.IsLeader()) return {};
    const UnixMillis now_ms = clock_.WallNanos() / 1'000'000;
    const RetentionOptions options = {
        .keep_for_ms =
            std::chrono::duration_cast<std::chrono::milliseconds>(options_.keep_for).count(),
        .keep_bases = options_.keep_bases};
    KV_TRY(const Retention retention, FindRetention(store, history, options, now_ms));
    KV_TRY(const PruneCounts counts, Prune(store, retention));
    status_.pruned_objects.Add(counts.deleted);
    status_.locked_objects.Add(counts.locked);
    if (counts.deleted > 0)
      KV_INFO("deleted the archive's old objects", {"objects", counts.deleted});
    if (counts.locked > 0)
      KV_WARN("old objects of the archive are locked and stay", {"objects", counts.locked},
              {"lock", counts.lock});
    return {};
  }

  ArchivedMember& member_;
  const OpenStoreFunction open_;
  const Clock& clock_;
  StopSignal& stop_;
  ArchiveStatus& status_;
  const ArchiverOptions options_;
  LogShipper log_;
  BaseShipper bases_;
  BaseDesk desk_;
  BaseSchedule schedule_;
  std::unique_ptr<ObjectStore> log_store_;
  Setbacks log_setbacks_;
  Setbacks base_setbacks_;
  std::thread log_thread_;
  std::thread base_thread_;
};

Archiver::Archiver(ArchivedMember& member, OpenStoreFunction open, const Clock& clock,
                   StopSignal& stop, ArchiveStatus& status, ArchiverOptions options)
    : threads_(std::make_unique<Threads>(member, std::move(open), clock, stop, status, options)) {}

Archiver::~Archiver() { Stop(); }

void Archiver::Start() { threads_->Start(); }

void Archiver::Stop() { threads_->Stop(); }

}  // namespace kvorum::archive
