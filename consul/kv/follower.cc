#include "consul/kv/follower.h"

#include <algorithm>
#include <utility>

#include "base/rng.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/timer.h"
#include "sync/store/answer.h"

namespace kvorum::consul {

class Follower::Machine {
 public:
  Machine(sync::Store& store, Executor& executor, FollowerOptions options)
      : store_(store),
        options_(std::move(options)),
        clock_(executor.clock()),
        rng_(options_.seed != 0 ? options_.seed : EntropySeed()),
        backoff_(options_.backoff),
        loop_(executor, [this](TimePoint now) { return Step(now); }) {}
  ~Machine() { Stop(); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void Start() { loop_.Wake(); }
  void Restart() {
    loop_.Post([this] {
      Close();
      next_ = 0;
    });
  }
  void Stop() {
    loop_.Stop();
    watch_.reset();
  }

 private:
  TimePoint Step(TimePoint now) {
    if (is_asking_ || watch_ != nullptr) return sync::kNever;
    if (pause_.is_set() && !pause_.TakeDue(now)) return pause_.due();
    if (next_ == 0)
      AskRevision();
    else
      Open();
    return sync::kNever;
  }

  void AskRevision() {
    is_asking_ = true;
    store_.Range(
        {.key = options_.key, .limit = 1, .count_only = true},
        sync::OnLoop<sync::RangeAnswer>(loop_.handle(), [this](Result<sync::RangeAnswer> answer) {
          is_asking_ = false;
          if (!answer) return Fails(answer.error());
          next_ = answer->revision + 1;
          options_.on_begin(answer->revision);
        }));
  }

  void Open() {
    const std::uint64_t life = ++life_;
    const auto post = [this, life, loop = loop_.handle()](auto arrived, auto handle) {
      loop.Post([this, life, handle, arrived = std::move(arrived)]() mutable {
        if (life == life_ && watch_ != nullptr) (this->*handle)(std::move(arrived));
      });
    };
    watch_ = store_.Watch(
        {.key = options_.key, .end = options_.end, .from_revision = next_},
        {.on_batch =
             [post](sync::WatchBatch batch) { post(std::move(batch), &Machine::TakeBatch); },
         .on_end = [post](sync::WatchEnd end) { post(std::move(end), &Machine::TakeEnd); }});
  }

  void TakeBatch(sync::WatchBatch batch) {
    watch_->Taken();
    // A response's revision may be ahead of its events while the watch catches up.
    const std::int64_t revision =
        batch.events.empty() ? batch.revision : batch.events.back().kv.mod_revision;
    next_ = std::max(next_, revision + 1);
    options_.on_events(next_ - 1, batch.events);
  }

  void TakeEnd(sync::WatchEnd end) {
    Close();
    if (end.compact_revision != 0) next_ = 0;
    Fails(end.error);
  }

  void Close() {
    ++life_;
    watch_.reset();
  }

  void Fails(const Error& error) {
    const TimePoint now = clock_.Now();
    pause_.Set(now + backoff_.Next(now, rng_));
    if (options_.on_error) options_.on_error(error);
  }

  sync::Store& store_;
  const FollowerOptions options_;
  const Clock& clock_;
  Rng rng_;
  sync::Backoff backoff_;
  std::unique_ptr<sync::StoreWatch> watch_;
  std::uint64_t life_ = 0;  // of the watch, so that what a closed one sent is dropped
  std::int64_t next_ = 0;   // the watch's first revision; 0: it is to be asked for
  sync::Timer pause_;
  bool is_asking_ = false;
  sync::Loop loop_;
};

Follower::Follower(sync::Store& store, Executor& executor, FollowerOptions options)
    : machine_(std::make_unique<Machine>(store, executor, std::move(options))) {}
Follower::~Follower() = default;

void Follower::Start() { machine_->Start(); }
void Follower::Restart() { machine_->Restart(); }
void Follower::Stop() { machine_->Stop(); }

}  // namespace kvorum::consul
