#include "sync/informer/listener.h"

#include <exception>
#include <utility>
#include <variant>

#include "sync/kernel/gate.h"

namespace kvorum::sync {
namespace {

// Calls of the handler in one step, after which others on the same executor have their turn.
constexpr std::size_t kCallsPerStep = 64;

std::unique_ptr<Executor> MakeExecutor(const ListenerOptions& options) {
  if (options.executor != nullptr) return nullptr;
  return std::make_unique<ThreadExecutor>(options.name.empty() ? "listener" : options.name);
}

}  // namespace

Listener::Listener(std::uint64_t id, ListenerOptions options, Handler handler, Owner owner,
                   Metrics* metrics)
    : id_(id),
      options_(std::move(options)),
      handler_(std::move(handler)),
      owner_(std::move(owner)),
      queue_length_(metrics != nullptr
                        ? metrics->Get(GaugeName::kInformerQueueLength, {options_.name})
                        : std::make_shared<Gauge>()),
      queue_(options_.overflow, {.changes = options_.capacity, .bytes = options_.capacity_bytes}),
      own_executor_(MakeExecutor(options_)),
      loop_(own_executor_ ? *own_executor_ : *options_.executor,
            [this](TimePoint now) { return Step(now); }) {}

Listener::~Listener() { StopAndWait(); }

void Listener::Stop() {
  if (Gate::is_inside_any()) return loop_.StopWithoutWaiting();
  loop_.Stop();
}
void Listener::Remove() {
  Stop();
  owner_.on_removed();
}

bool Listener::blocks() const {
  if (options_.overflow != OverflowPolicy::kBlock) return false;
  const std::lock_guard lock(mutex_);
  return queue_.blocks();
}

template <class Change>
void Listener::Enqueue(const Change& change) {
  const std::lock_guard lock(mutex_);
  change(queue_);
  queue_length_->Set(static_cast<double>(queue_.size()));
}

void Listener::Add(std::span<const Change> changes, const ObjectMap& before,
                   const ObjectMap& after) {
  Enqueue([&](ListenerQueue& queue) {
    if (!queue.Add(changes, before, after)) overflows_.Add();
  });
}
void Listener::AddInitial(const ObjectMap& map) {
  Enqueue([&](ListenerQueue& queue) { queue.AddInitial(map); });
  Wake();
}
void Listener::AddDifference(const ObjectMap& before, const ObjectMap& after) {
  Enqueue([&](ListenerQueue& queue) { queue.AddDifference(before, after); });
  Wake();
}
void Listener::AddRound(ListenerQueue::RoundId round, const ObjectMap& map) {
  Enqueue([&](ListenerQueue& queue) { queue.AddRound(round, map); });
  Wake();
}

TimePoint Listener::Step(TimePoint now) {
  const bool may_be_more = TakeSome();
  for (const ListenerQueue::Next& next : taken_) {
    Deliver(next);
    if (loop_.is_stopped()) break;
  }
  taken_.clear();
  return may_be_more ? now : kNever;
}

// False if the queue is empty now.
bool Listener::TakeSome() {
  // A blocking listener takes one notification at a time, so that there is room for the next.
  const std::size_t most = options_.overflow == OverflowPolicy::kBlock ? 1 : kCallsPerStep;
  bool has_room_again = false;
  {
    const std::lock_guard lock(mutex_);
    const bool blocked = queue_.blocks();
    while (taken_.size() < most) {
      auto next = queue_.Take(owner_.find_current);
      if (!next) break;
      taken_.push_back(*std::move(next));
    }
    has_room_again = blocked && !queue_.blocks();
    queue_length_->Set(static_cast<double>(queue_.size()));
  }
  if (has_room_again) owner_.on_room();
  return taken_.size() == most;
}

void Listener::Deliver(const ListenerQueue::Next& next) {
  if (const auto* notification = std::get_if<Notification>(&next)) {
    Call([&] { handler_(*notification); });
  } else if (std::holds_alternative<ListenerQueue::RoundEnd>(next)) {
    owner_.on_round_end(id_);
  } else {
    is_synced_ = true;
    if (options_.on_synced) Call(options_.on_synced);
  }
}

template <class Callable>
void Listener::Call(const Callable& call) {
  try {
    call();
    return;
  } catch (const std::exception& thrown) {
    owner_.on_report("listener " + options_.name + " threw: " + thrown.what());
  } catch (...) {
    owner_.on_report("listener " + options_.name + " threw something");
  }
  handler_errors_.Add();
}

}  // namespace kvorum::sync
