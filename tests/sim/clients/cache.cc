#include "tests/sim/clients/cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kIndex = "end";

std::string LastLetterOf(std::string_view value) {
  return value.empty() ? std::string() : std::string(1, value.back());
}

bool AreSame(const sync::TypedObject<std::string>& object, const sync::KeyValue& row) {
  return object.key() == row.key && object.value() == row.value &&
         object.create_revision() == row.create_revision &&
         object.mod_revision() == row.mod_revision && object.version() == row.version &&
         object.lease() == row.lease;
}

// True if the view is the state.
template <class View>
bool AreSame(const View& view, const std::map<std::string, sync::KeyValue>& rows) {
  if (view.size() != rows.size()) return false;
  bool same = true;
  auto row = rows.begin();
  view.ForEach([&](const auto& object) { same = same && AreSame(object, (row++)->second); });
  return same;
}

SimStore::Options StoreOptions(World& world) {
  constexpr std::array kTimeouts = {seconds(2), seconds(10)};
  return {.call_timeout = kTimeouts[world.scheduler.rng().Below(kTimeouts.size())]};
}

}  // namespace

Cache::Cache(World& world, std::vector<std::unique_ptr<Machine>>& machines,
             const EventHistory& events, ProgramUser& user, std::string name, std::string prefix)
    : world_(world),
      events_(events),
      name_(std::move(name)),
      prefix_(std::move(prefix)),
      program_(world, machines, user, StoreOptions(world)),
      told_(world, name_),
      replay_(events, prefix_),
      followed_(world, events, name_ + "'s source", prefix_),
      informer_(program_.store(), program_.lane(), MakeInformerOptions()),
      source_(program_.store(), program_.lane(), followed_, MakeSourceOptions()) {
  Listen();
  const auto index = [](const auto& object) { return std::vector{LastLetterOf(object.value())}; };
  if (!informer_.AddIndex(kIndex, index).has_value() || !informer_.Run().has_value())
    world_.Fail("{} does not run", name_);
  source_.Start();
}

Cache::~Cache() { *lives_ = false; }

sync::SourceOptions Cache::MakeSourceOptions() {
  Rng& rng = world_.scheduler.rng();
  return {.prefix = prefix_,
          .page_keys = rng.OneIn(2) ? 1 + rng.Below(4) : 1'000,
          .with_previous = rng.OneIn(2),
          .backoff = {.cap = seconds(2)},
          .progress_interval = milliseconds(50 + rng.Below(1'000)),
          .seed = rng() | 1};
}

Cache::Informer::Options Cache::MakeInformerOptions() {
  Rng& rng = world_.scheduler.rng();
  Informer::Options options;
  options.source = MakeSourceOptions();
  options.resync = rng.OneIn(2) ? seconds(1 + rng.Below(5)) : Duration::zero();
  options.window = 1 + rng.Below(200);
  options.on_report = [this](const std::string& text) { world_.Note("{}: {}", name_, text); };
  return options;
}

void Cache::Listen() {
  constexpr std::array kPolicies = {sync::OverflowPolicy::kBlock, sync::OverflowPolicy::kCoalesce,
                                    sync::OverflowPolicy::kDropAndResync};
  Rng& rng = world_.scheduler.rng();
  const auto listener = informer_.AddListener(
      {.name = name_,
       .overflow = kPolicies[rng.Below(kPolicies.size())],
       .capacity = rng.OneIn(2) ? 1 + rng.Below(8) : 1'024,
       .executor = &program_.handlers(),
       .on_synced = [this] { world_.Note("{} is synced", name_); }},
      {.on_add = [this](const auto& added, bool) { told_.OnAdd(*added); },
       .on_update = [this](const auto& before,
                           const auto& after) { told_.OnUpdate(*before, *after); },
       .on_delete = [this](const auto& last) { told_.OnDelete(*last); }});
  if (!listener.has_value()) world_.Fail("{} cannot listen", name_);
}

void Cache::Check() {
  if (!informer_.is_listed() || world_.failed()) return;
  const std::int64_t revision = informer_.revision();
  if (revision < replay_.revision() || revision > events_.last_revision()) {
    return world_.Fail("{} is at revision {}, was at {}, and {} are published", name_, revision,
                       replay_.revision(), events_.last_revision());
  }
  replay_.Advance(revision);
  if (!AreSame(informer_.List(), replay_.rows()))
    return world_.Fail("{} holds another state at revision {} than was published", name_, revision);
  CheckIndex();
  CheckSnapshot();
}

void Cache::CheckIndex() {
  const auto values = informer_.IndexValues(kIndex);
  if (!values.has_value()) return world_.Fail("{} has no index", name_);
  std::size_t found = 0;
  for (const std::string& value : *values) {
    const auto objects = informer_.ByIndex(kIndex, value);
    for (const auto& object : *objects) {
      const auto row = replay_.rows().find(std::string(object->key()));
      const bool is_right = row != replay_.rows().end() && AreSame(*object, row->second) &&
                            LastLetterOf(row->second.value) == value;
      if (!is_right) return world_.Fail("{} has {} wrong in its index", name_, object->key());
      ++found;
    }
  }
  if (found != replay_.rows().size())
    world_.Fail("{} has {} keys, and {} in its index", name_, replay_.rows().size(), found);
}

void Cache::CheckSnapshot() {
  Rng& rng = world_.scheduler.rng();
  if (!rng.OneIn(8)) return;
  const std::int64_t back = static_cast<std::int64_t>(rng.Below(100));
  const std::int64_t revision = std::max<std::int64_t>(1, informer_.revision() - back);
  const auto snapshot = informer_.Snapshot(revision);
  if (!snapshot.has_value()) return;
  StateReplay then(events_, prefix_);
  then.Advance(revision);
  if (!AreSame(*snapshot, then.rows()))
    world_.Fail("{} has another snapshot of revision {} than was published", name_, revision);
}

void Cache::AskConsistent() {
  if (replay_.rows().empty()) return;
  const auto chosen =
      static_cast<std::ptrdiff_t>(world_.scheduler.rng().Below(replay_.rows().size()));
  const std::string key = std::next(replay_.rows().begin(), chosen)->first;
  informer_.core().ConsistentGet(key,
                                 [this, lives = std::weak_ptr(lives_), key,
                                  asked_at = events_.last_revision()](Result<sync::ObjectRef> got) {
                                   const auto still = lives.lock();
                                   if (still != nullptr && *still) OnGot(asked_at, key, got);
                                 });
}

void Cache::OnGot(std::int64_t asked_at, const std::string& key,
                  const Result<sync::ObjectRef>& got) {
  if (!got.has_value()) return;
  world_.faults.Add(Fault::kCacheAsked);
  if (informer_.revision() < asked_at) {
    return world_.Fail("{} answers from revision {}, and {} was published when it was asked", name_,
                       informer_.revision(), asked_at);
  }
  Check();
  const auto row = replay_.rows().find(key);
  const std::int64_t right = row == replay_.rows().end() ? 0 : row->second.mod_revision;
  const std::int64_t told = *got ? (*got)->mod_revision() : 0;
  if (told != right)
    world_.Fail("{} answers {} of revision {}, and it is of {}", name_, key, told, right);
}

void Cache::Reach(std::int64_t revision) {
  informer_.core().ConsistentGet(prefix_, [](const Result<sync::ObjectRef>&) {});
  source_.WaitForRevision(revision, [](const Result<void>&) {});
}

bool Cache::IsAtEnd() {
  return informer_.is_listed() && informer_.revision() == events_.last_revision() &&
         source_.revision() == events_.last_revision() && told_.Is(informer_.core().Objects());
}

std::string Cache::Describe() const {
  return fmt::format("{} of {} at {}, its source at {} of {}", name_, prefix_, informer_.revision(),
                     source_.revision(), events_.last_revision());
}

}  // namespace kvorum::sim
