#include "sync/informer/source.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <utility>

#include "base/key_range.h"
#include "base/rng.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/metrics.h"
#include "sync/kernel/timer.h"
#include "sync/store/answer.h"

namespace kvorum::sync {
namespace {

// Nothing is known yet of how large the values are. A server takes 1.5 MiB a value unless it is
// configured otherwise, so this is 24 MiB at most; pages of small values double from here.
constexpr std::size_t kFirstPageKeys = 16;

// kOutOfRange is also the answer to a revision that is still to come, which no page asks for.
bool IsCompacted(const Error& error) { return error.code == Code::kOutOfRange; }

// The cells of one source; without metrics, cells that are not read.
struct Cells {
  Cells(Metrics* metrics, const std::string& prefix) {
    if (metrics == nullptr) return;
    revision = metrics->Get(GaugeName::kSourceRevision, {prefix});
    starts = metrics->Get(CounterName::kSourceRelists, {"start"});
    compactions = metrics->Get(CounterName::kSourceRelists, {"compacted"});
  }
  std::shared_ptr<Gauge> revision = std::make_shared<Gauge>();
  std::shared_ptr<Counter> starts = std::make_shared<Counter>();
  std::shared_ptr<Counter> compactions = std::make_shared<Counter>();
};

}  // namespace

class Source::Machine {
 public:
  Machine(Store& store, Executor& executor, SourceSink& sink, SourceOptions options)
      : store_(store),
        sink_(sink),
        options_(std::move(options)),
        whole_{.key = options_.prefix.empty() ? std::string(1, '\0') : options_.prefix,
               .end = PrefixEnd(options_.prefix)},
        rng_(options_.seed != 0 ? options_.seed : EntropySeed()),
        backoff_(options_.backoff),
        cells_(options_.metrics, options_.prefix),
        loop_(executor, [this](TimePoint now) { return Step(now); }) {}

  void Start() {
    loop_.Post([this] {
      if (!std::exchange(is_started_, true)) rest_.Set(TimePoint{0});
    });
  }
  void Stop() {
    loop_.Stop();
    if (is_stopped_.exchange(true)) return;
    watch_.reset();
    waiting_.clear();
  }
  void Resume() { loop_.Wake(); }
  void WaitForRevision(std::int64_t revision, OnReached on_reached) {
    loop_.Post([this, revision, waiter = Answer<void>(std::move(on_reached))]() mutable {
      waiting_.emplace(revision, std::move(waiter));
      ask_.Set(TimePoint{0});
    });
  }
  std::int64_t revision() const { return revision_; }

 private:
  enum class State : std::uint8_t { kResting, kListing, kWatching };
  struct Listing {
    std::int64_t revision = 0;   // 0 until the first page
    std::size_t page_keys = 0;   // asked for at once
    std::size_t page_bytes = 0;  // aimed at
    std::string from = {};       // the page's first key
    std::optional<Result<RangeAnswer>> page;
  };

  // Each callback of the sink, and of those who wait, may stop the source.
  TimePoint Step(TimePoint now) {
    if (state_ == State::kListing) TakePage(now);
    if (state_ == State::kWatching && !loop_.is_stopped()) TakeBatches(now);
    if (state_ == State::kResting && !loop_.is_stopped() && rest_.TakeDue(now)) Begin();
    AnswerWaiting();
    AskForProgress(now);
    return std::min(rest_.due(), state_ == State::kWatching ? ask_.due() : kNever);
  }

  void Begin() {
    if (must_list_) return BeginList();
    state_ = State::kWatching;
    const std::uint64_t call = ++call_;
    const auto post = [this, call, handle = loop_.handle()](auto take) {
      return [this, call, handle, take](auto value) {
        handle.Post([this, call, take, value = std::move(value)]() mutable {
          if (call == call_) take(std::move(value));
        });
      };
    };
    watch_ = store_.Watch(
        {.key = whole_.key,
         .end = whole_.end,
         .from_revision = revision_ + 1,
         .with_previous = options_.with_previous},
        {.on_batch = post([this](WatchBatch batch) { batches_.push_back(std::move(batch)); }),
         .on_end = post([this](WatchEnd end) { end_of_watch_ = std::move(end); })});
  }

  void BeginList() {
    if (revision_ == 0) cells_.starts->Add();
    state_ = State::kListing;
    list_.revision = 0;
    list_.page_keys = std::min(kFirstPageKeys, std::max<std::size_t>(options_.page_keys, 1));
    list_.page_bytes = options_.page_bytes;
    list_.from = whole_.key;
    AskPage();
  }

  void AskPage() {
    store_.Range(
        {.key = list_.from,
         .end = whole_.end,
         .revision = list_.revision,
         .limit = static_cast<std::int64_t>(list_.page_keys)},
        OnLoop<RangeAnswer>(loop_.handle(), [this, call = ++call_](Result<RangeAnswer> answer) {
          if (call == call_) list_.page = std::move(answer);
        }));
  }

  void TakePage(TimePoint now) {
    if (!list_.page || !sink_.is_ready()) return;
    Result<RangeAnswer> page = *std::exchange(list_.page, std::nullopt);
    if (!page) {
      if (page.error().code == Code::kResourceExhausted && list_.page_keys > 1) return AskForHalf();
      // The next list begins at a newer revision.
      if (IsCompacted(page.error())) cells_.compactions->Add();
      return Rest(page.error(), now);
    }
    Deliver(*std::move(page));
  }

  // The page is more than the client, or the server, takes in one message.
  void AskForHalf() {
    list_.page_keys /= 2;
    list_.page_bytes /= 2;
    AskPage();
  }

  // The next page has as many keys as fill its bytes if they are like the last page's, but at most
  // twice as many as that page.
  std::size_t LimitAfter(const std::vector<KeyValue>& kvs) const {
    std::size_t bytes = 0;
    for (const KeyValue& kv : kvs) bytes += kv.key.size() + kv.value.size();
    const std::size_t fitting = kvs.size() * list_.page_bytes / std::max<std::size_t>(bytes, 1);
    return std::max<std::size_t>(std::min({fitting, 2 * kvs.size(), options_.page_keys}), 1);
  }

  void Deliver(RangeAnswer page) {
    if (list_.revision == 0) {
      list_.revision = page.revision;
      sink_.OnListBegin(list_.revision);
      if (loop_.is_stopped()) return;
    }
    // The smallest key after the last one.
    list_.from = page.kvs.empty() ? std::string() : page.kvs.back().key + '\0';
    const bool is_last = !page.has_more || page.kvs.empty();
    list_.page_keys = LimitAfter(page.kvs);
    sink_.OnListPage(std::move(page.kvs));
    if (loop_.is_stopped()) return;
    if (!is_last) return AskPage();
    must_list_ = false;
    Reach(list_.revision);
    sink_.OnListEnd();
    if (!loop_.is_stopped()) Begin();
  }

  void TakeBatches(TimePoint now) {
    const bool had_any = !batches_.empty();
    while (!batches_.empty() && sink_.is_ready()) {
      WatchBatch batch = std::move(batches_.front());
      batches_.pop_front();
      Deliver(std::move(batch));
      if (loop_.is_stopped()) return;
      watch_->Taken();
    }
    if (had_any) sink_.OnDelivered();
    if (!end_of_watch_ || !batches_.empty() || loop_.is_stopped()) return;
    const WatchEnd end = *std::exchange(end_of_watch_, std::nullopt);
    watch_.reset();
    if (end.compact_revision != 0) {
      must_list_ = true;
      cells_.compactions->Add();
      return BeginList();
    }
    Rest(end.error, now);
  }

  void Deliver(WatchBatch batch) {
    if (batch.events.empty()) {
      if (batch.revision <= revision_) return;
      Reach(batch.revision);
      return sink_.OnProgress(batch.revision);
    }
    auto rest = batch.events.begin();
    while (rest != batch.events.end() && !loop_.is_stopped()) {
      const std::int64_t revision = rest->kv.mod_revision;
      const auto end = std::find_if(rest, batch.events.end(), [&](const Event& event) {
        return event.kv.mod_revision != revision;
      });
      std::vector<Event> events(std::make_move_iterator(rest), std::make_move_iterator(end));
      rest = end;
      if (revision <= revision_) continue;
      Reach(revision);
      sink_.OnRevision(revision, std::move(events));
    }
  }

  void Rest(const Error& error, TimePoint now) {
    state_ = State::kResting;
    // A fresh call number: late answers are those of an earlier attempt.
    ++call_;
    rest_.Set(now + backoff_.Next(now, rng_));
    sink_.OnError(error);
  }

  void Reach(std::int64_t revision) {
    revision_ = revision;
    cells_.revision->Set(static_cast<double>(revision));
  }

  void AnswerWaiting() {
    while (!waiting_.empty() && !must_list_ && waiting_.begin()->first <= revision_) {
      waiting_.extract(waiting_.begin()).mapped()({});
    }
  }

  // One request is out at a time; it is repeated since the watch may have been between two streams.
  void AskForProgress(TimePoint now) {
    if (waiting_.empty()) return ask_.Clear();
    if (state_ != State::kWatching || !ask_.TakeDue(now)) return;
    if (!store_.has_ordered_progress()) return RefuseWaiting();
    watch_->RequestProgress();
    ask_.Set(now + options_.progress_interval);
  }

  void RefuseWaiting() {
    for (auto& [revision, waiter] : std::exchange(waiting_, {}))
      waiter(Fail(Code::kUnimplemented, "the server's progress may overtake its events"));
  }

  Store& store_;
  SourceSink& sink_;
  const SourceOptions options_;
  const WatchRequest whole_;  // the prefix as a range
  Rng rng_;
  Backoff backoff_;
  Cells cells_;

  bool is_started_ = false;
  std::atomic<bool> is_stopped_ = false;
  State state_ = State::kResting;
  bool must_list_ = true;
  std::atomic<std::int64_t> revision_ = 0;
  Listing list_;
  std::uint64_t call_ = 0;  // the list's or watch's, whose answers are taken
  std::deque<WatchBatch> batches_;
  std::optional<WatchEnd> end_of_watch_;
  std::unique_ptr<StoreWatch> watch_;
  Timer rest_;
  Timer ask_;
  std::multimap<std::int64_t, Answer<void>> waiting_;
  Loop loop_;  // last: its step uses the others
};

Source::Source(Store& store, Executor& executor, SourceSink& sink, SourceOptions options)
    : machine_(std::make_unique<Machine>(store, executor, sink, std::move(options))) {}
Source::~Source() { Stop(); }
void Source::Start() { machine_->Start(); }
void Source::Stop() { machine_->Stop(); }
void Source::Resume() { machine_->Resume(); }
void Source::WaitForRevision(std::int64_t revision, OnReached on_reached) {
  machine_->WaitForRevision(revision, std::move(on_reached));
}
std::int64_t Source::revision() const { return machine_->revision(); }

}  // namespace kvorum::sync
