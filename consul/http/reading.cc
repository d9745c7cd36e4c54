#include "consul/http/reading.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <utility>

#include "base/rng.h"
#include "base/text/duration_text.h"
#include "base/text/parse_number.h"
#include "consul/http/deadlines.h"
#include "consul/http/freshness.h"

namespace kvorum::consul {
namespace {

constexpr Duration kDefaultWait = std::chrono::seconds(300);
constexpr Duration kMaxWait = std::chrono::seconds(600);
constexpr std::int64_t kJitterPart = 16;
// A stale answer asks for news if the last are older than this, and waits so long for them: clients
// take an answer with old news for a useless one.
constexpr Duration kOldNews = std::chrono::seconds(1);
constexpr Duration kNewsPatience = std::chrono::milliseconds(200);

// Spring's "no index yet" is -1; anything else must be a number.
std::optional<std::uint64_t> ParseIndex(std::string_view text) {
  if (text.starts_with('-')) {
    const auto negative = ParseNumber<std::int64_t>(text);
    return negative ? std::optional<std::uint64_t>(0) : std::nullopt;
  }
  return ParseNumber<std::uint64_t>(text);
}

std::int64_t Millis(Duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

}  // namespace

bool IsOurDatacenter(Exchange& exchange, std::string_view datacenter) {
  const std::optional<std::string> asked = exchange.Parameter("dc");
  if (!asked || asked->empty() || *asked == datacenter) return true;
  exchange.Text(500, "No path to datacenter");
  return false;
}

std::optional<ReadOptions> ParseRead(Exchange& exchange, std::string_view datacenter) {
  const auto refuse = [&](std::string text) -> std::optional<ReadOptions> {
    exchange.Text(400, std::move(text));
    return std::nullopt;
  };
  ReadOptions options{.wait = kDefaultWait};
  if (const auto text = exchange.Parameter("wait"); text && !text->empty()) {
    const auto wait = ParseDuration(*text);
    if (!wait) return refuse("Invalid wait time");
    if (*wait > Duration::zero()) options.wait = std::min<Duration>(*wait, kMaxWait);
  }
  if (const auto text = exchange.Parameter("index"); text && !text->empty()) {
    const auto index = ParseIndex(*text);
    if (!index) return refuse("Invalid index");
    options.index = *index;
  }
  options.is_stale = exchange.Has("stale");
  options.is_consistent = exchange.Has("consistent");
  if (const auto text = exchange.Parameter("max_stale"); text && !text->empty()) {
    const auto most = ParseDuration(*text);
    if (!most) return refuse("Invalid max_stale value \"" + *text + "\"");
    options.max_stale = std::max(*most, Duration::zero());
    if (options.max_stale > Duration::zero()) options.is_stale = true;
  }
  if (options.is_stale && options.is_consistent)
    return refuse("Cannot specify ?stale with ?consistent, conflicting semantics.");
  if (!IsOurDatacenter(exchange, datacenter)) return std::nullopt;
  return options;
}

Moving MovingOf(CatalogCopy& copy, std::vector<Topic> topics) {
  const auto shared = std::make_shared<const std::vector<Topic>>(std::move(topics));
  return {
      .index =
          [&copy, shared] {
            std::uint64_t index = 0;
            for (const Topic& topic : *shared) index = std::max(index, copy.IndexOf(topic));
            return index;
          },
      .wait = [&copy, shared](std::uint64_t after,
                              std::move_only_function<void()> on_moved) -> std::shared_ptr<void> {
        if (shared->size() == 1) return copy.WaitFor(shared->front(), after, std::move(on_moved));
        // The first that moves takes the callback.
        struct Waits {
          std::atomic<bool> has_moved = false;
          std::move_only_function<void()> on_moved;
        };
        auto state = std::make_shared<Waits>();
        state->on_moved = std::move(on_moved);
        auto handles = std::make_shared<std::vector<CatalogCopy::WaitHandle>>();
        for (const Topic& topic : *shared) {
          handles->push_back(copy.WaitFor(topic, after, [state] {
            if (!state->has_moved.exchange(true)) std::exchange(state->on_moved, nullptr)();
          }));
        }
        return handles;
      }};
}

struct Reading::Impl : std::enable_shared_from_this<Impl> {
  explicit Impl(Parts the_parts)
      : parts(std::move(the_parts)),
        deadlines(std::make_shared<Deadlines>(parts.executor)),
        freshness(std::make_shared<Freshness>(parts.copy, parts.access, deadlines,
                                              parts.registry_prefix)),
        rng(parts.seed != 0 ? parts.seed : EntropySeed()) {}

  TimePoint Now() const { return parts.executor.clock().Now(); }
  Duration WithJitter(Duration wait) {
    const std::lock_guard lock(rng_mutex);
    const auto most = static_cast<std::uint64_t>(wait.count() / kJitterPart);
    return wait + Duration(most == 0 ? 0 : static_cast<std::int64_t>(rng.Below(most)));
  }

  const Parts parts;
  const std::shared_ptr<Deadlines> deadlines;
  const std::shared_ptr<Freshness> freshness;
  std::atomic<std::size_t> waiting = 0;
  std::mutex rng_mutex;
  Rng rng;
};

namespace {

// One read on its way to its answer. Everything happens on the exchange's loop, so that it needs no
// lock; its pending callbacks hold it.
template <class Impl>
class PendingRead final : public std::enable_shared_from_this<PendingRead<Impl>> {
 public:
  PendingRead(std::shared_ptr<Impl> impl, Exchange exchange, Moving moving,
              std::move_only_function<void(Exchange)> answer, const ReadOptions& options,
              TimePoint begun)
      : impl_(std::move(impl)),
        exchange_(std::move(exchange)),
        loop_(exchange_.loop()),
        moving_(std::move(moving)),
        answer_(std::move(answer)),
        options_(options),
        begun_(begun) {}

  void Begin() {
    if (options_.index != 0) {
      exchange_.OnGone([weak = this->weak_from_this(), &loop = loop_] {
        // The exchange must not be answered within, and dropping it answers.
        if (const auto self = weak.lock()) loop.Post([self] { self->Leave(); });
      });
    }
    if (options_.is_stale && impl_->parts.copy.is_listed() && IsLetIn()) return OnFresh();
    AskStore([](PendingRead& self, Result<void> fresh) {
      const bool may_be_stale = self.options_.is_stale && self.impl_->parts.copy.is_listed() &&
                                !fresh.has_value() && !IsRefused(fresh.error()) &&
                                self.impl_->freshness->WasLetIn(self.exchange_.token());
      if (!fresh && !may_be_stale) return self.Refuse(fresh.error());
      self.OnFresh();
    });
  }

 private:
  using Then = void (*)(PendingRead& self, Result<void> fresh);

  // Without the store no token is judged anew.
  bool IsLetIn() const {
    const Freshness& freshness = *impl_->freshness;
    const std::string& token = exchange_.token();
    return freshness.IsLetIn(token) || (!freshness.knows_leader() && freshness.WasLetIn(token));
  }
  static bool IsRefused(const Error& error) {
    return error.code == Code::kPermissionDenied || error.code == Code::kUnauthenticated;
  }

  void AskStore(Then then, Duration patience = kHoldTimeout) {
    const std::uint64_t step = ++step_;
    then_ = then;
    timer_ =
        impl_->deadlines->Add(impl_->Now() + patience, Later(step, &PendingRead::OnStoreIsSilent));
    impl_->freshness->Ask(exchange_.token(),
                          [self = this->shared_from_this(), step](Result<void> fresh) {
                            self->loop_.Post([self, step, fresh = std::move(fresh)]() mutable {
                              if (step == self->step_) self->OnStoreSaid(std::move(fresh));
                            });
                          });
  }
  void OnStoreSaid(Result<void> fresh) {
    Unblock();
    then_(*this, std::move(fresh));
  }
  // The question goes on for others.
  void OnStoreIsSilent() {
    OnStoreSaid(Fail(Code::kDeadlineExceeded, "the store does not answer"));
  }

  void OnFresh() {
    if (options_.index == 0 || moving_.index() > options_.index) return Answer();
    was_found_ = IsFound();
    after_ = options_.index;
    Block(begun_ + impl_->WithJitter(options_.wait));
  }

  bool IsFound() const { return !moving_.is_found || moving_.is_found(); }

  void Block(TimePoint deadline) {
    const std::uint64_t step = ++step_;
    if (!std::exchange(is_counted_, true)) ++impl_->waiting;
    deadline_ = deadline;
    timer_ = impl_->deadlines->Add(deadline, Later(step, &PendingRead::OnTimeOver));
    wait_ = moving_.wait(after_, Later(step, &PendingRead::OnMoved));
  }

  std::move_only_function<void()> Later(std::uint64_t step, void (PendingRead::*event)()) {
    return [self = this->shared_from_this(), step, event] {
      self->loop_.Post([self, step, event] {
        if (step == self->step_) (self.get()->*event)();
      });
    };
  }

  void Unblock() {
    ++step_;
    wait_ = nullptr;
    if (timer_) impl_->deadlines->Drop(*std::exchange(timer_, std::nullopt));
  }

  void OnMoved() {
    Unblock();
    const std::uint64_t index = moving_.index();
    // "Not found", as before, does not end the wait.
    if (index > after_ && !was_found_ && !IsFound()) {
      after_ = index;
      return Block(deadline_);
    }
    Answer();
  }

  // Nothing has come for minutes: is that because nothing happened?
  void OnTimeOver() {
    Unblock();
    if (options_.is_stale) return Answer();
    AskStore([](PendingRead& self, Result<void> fresh) {
      if (!fresh) return self.Refuse(fresh.error());
      self.Answer();
    });
  }

  void Answer() {
    if (!options_.is_stale) return Deliver();
    const Duration age = impl_->freshness->Age();
    const bool is_too_old = options_.max_stale > Duration::zero() && age > options_.max_stale;
    if (is_too_old) {
      return AskStore([](PendingRead& self, Result<void> fresh) {
        if (!fresh) return self.Refuse(fresh.error());
        self.options_.is_stale = false;
        self.Deliver();
      });
    }
    if (age < kOldNews || !impl_->freshness->knows_leader()) {
      if (age >= kOldNews) impl_->freshness->Refresh(exchange_.token());
      return Deliver();
    }
    AskStore([](PendingRead& self, Result<void> /*fresh*/) { self.Deliver(); }, kNewsPatience);
  }

  // The index before the data: what comes in between is then news to the client.
  void Deliver() {
    Unblock();
    exchange_.SetIndex(moving_.index());
    const bool is_stale = options_.is_stale;
    const bool has_leader = !is_stale || impl_->freshness->knows_leader();
    exchange_.SetHeader("X-Consul-Knownleader", has_leader ? "true" : "false");
    exchange_.SetHeader("X-Consul-Lastcontact",
                        std::to_string(is_stale ? Millis(impl_->freshness->Age()) : 0));
    exchange_.SetHeader("X-Consul-Effective-Consistency", is_stale                 ? "stale"
                                                          : options_.is_consistent ? "consistent"
                                                                                   : "leader");
    exchange_.SetHeader("X-Consul-Query-Backend", "blocking-query");
    Finish();
    answer_(std::move(exchange_));
  }

  void Refuse(const Error& error) {
    Unblock();
    Finish();
    // The request's memory goes with the answer, though a question may still hold this.
    Exchange refused = std::move(exchange_);
    refused.StoreError(error);
  }

  void Leave() {
    if (is_finished_) return;
    Unblock();
    Finish();
    exchange_.Text(500, "");  // the client has left
  }

  void Finish() {
    is_finished_ = true;
    if (std::exchange(is_counted_, false)) --impl_->waiting;
  }

  const std::shared_ptr<Impl> impl_;
  Exchange exchange_;
  Executor& loop_;
  const Moving moving_;
  std::move_only_function<void(Exchange)> answer_;
  ReadOptions options_;
  const TimePoint begun_;
  Then then_ = nullptr;     // what the store's answer leads to
  std::uint64_t step_ = 0;  // what is waited for; later calls of an earlier step are dropped
  std::uint64_t after_ = 0;
  bool was_found_ = true;
  bool is_counted_ = false;
  bool is_finished_ = false;  // the exchange is answered, or handed on
  TimePoint deadline_;
  std::optional<Deadlines::Id> timer_;
  std::shared_ptr<void> wait_;
};

}  // namespace

Reading::Reading(Parts parts) : impl_(std::make_shared<Impl>(std::move(parts))) {}
Reading::~Reading() {
  impl_->freshness->Stop();
  impl_->deadlines->Clear();
}

void Reading::Read(Exchange exchange, Moving moving,
                   std::move_only_function<void(Exchange)> answer) {
  Read(std::move(exchange), std::move(moving), std::move(answer), impl_->Now());
}

void Reading::Read(Exchange exchange, Moving moving, std::move_only_function<void(Exchange)> answer,
                   TimePoint begun) {
  const std::optional<ReadOptions> options = ParseRead(exchange, impl_->parts.datacenter);
  if (!options) return;
  std::make_shared<PendingRead<Impl>>(impl_, std::move(exchange), std::move(moving),
                                      std::move(answer), *options, begun)
      ->Begin();
}

std::size_t Reading::waiting() const { return impl_->waiting; }

}  // namespace kvorum::consul
