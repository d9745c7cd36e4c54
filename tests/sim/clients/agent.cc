#include "tests/sim/clients/agent.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "sync/agent/catalog.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kIds = 4;
constexpr const char* kCheck = "up";
// A state file that cannot be written.
constexpr std::uint64_t kUnsavedOneIn = 10;

}  // namespace

Agent::Agent(World& world, std::vector<std::unique_ptr<Machine>>& machines, CatalogJudge& judge,
             ProgramUser& user, std::string name, std::string node)
    : world_(world),
      machines_(machines),
      judge_(judge),
      user_(user),
      name_(std::move(name)),
      node_(std::move(node)) {}

Agent::~Agent() { Kill(); }

SimStore::Options Agent::StoreOptions() {
  constexpr std::array kTimeouts = {seconds(1), seconds(3), seconds(10)};
  return {.call_timeout = kTimeouts[world_.scheduler.rng().Below(kTimeouts.size())],
          .on_done = [this](const sync::TxnRequest&, std::int64_t revision) {
            judge_.Wrote(name_, node_, revision);
          }};
}

sync::SyncerOptions Agent::SyncerOptions() {
  Rng& rng = world_.scheduler.rng();
  return {.root = std::string(kCatalogRoot),
          .node = node_,
          .node_value = name_,
          .ttl_s = static_cast<std::int64_t>(2 + rng.Below(5)),
          .schedule = {.full_interval = seconds(3 + rng.Below(10)),
                       .retry_interval = milliseconds(500 + rng.Below(2'000)),
                       .trigger_stagger = milliseconds(300),
                       .backoff = {.cap = seconds(2)}},
          .registry = {.output_interval = seconds(1)},
          .max_txn_operations = rng.OneIn(2) ? 3 + rng.Below(5) : 128,
          .seed = rng() | 1,
          .save =
              [this](std::string state, sync::SyncerOptions::OnSaved on_saved) {
                Save(std::move(state), std::move(on_saved));
              },
          .on_full_sync = [this] { world_.Note("{} is in sync", name_); },
          .on_error = [this](const Error& error) { world_.Note("{}: {}", name_, error.message); }};
}

void Agent::Start() {
  ++lives_;
  sync::AgentState restored;
  if (!state_.empty()) {
    auto decoded = sync::DecodeState(state_);
    if (!decoded.has_value())
      return world_.Fail("{}: its state: {}", name_, decoded.error().message);
    restored = *std::move(decoded);
  }
  running_ = std::make_unique<Running>(world_, machines_, user_, StoreOptions());
  running_->restored_session = restored.session_revision;
  running_->syncer = std::make_unique<sync::Syncer>(
      running_->program.store(), running_->program.lane(), SyncerOptions(), restored);
  world_.Note("{} of {} starts, with {} entries of session {}", name_, node_,
              restored.entries.size(), restored.session_revision);
  if (restored.entries.empty()) Register();
  if (const auto begun = running_->syncer->Start(); !begun)
    world_.Fail("{} does not start: {}", name_, begun.error().message);
}

void Agent::Kill() {
  if (running_ == nullptr) return;
  running_->syncer->Stop();
  running_->syncer.reset();
  running_.reset();
}

void Agent::Leave() {
  running_->is_leaving = true;
  world_.Note("{} leaves", name_);
  running_->syncer->Leave([this](const Result<void>& left) {
    // It was killed meanwhile.
    if (!left.has_value() && left.error().code == Code::kCanceled) return;
    world_.faults.Add(Fault::kAgentLeft);
    world_.Note("{} has left: {}", name_, left.has_value() ? "done" : left.error().message);
    world_.scheduler.After(Duration(1), [this, life = lives_] {
      if (life == lives_) Kill();
    });
  });
}

// A moment later; what is saved at the end of a process may be lost.
void Agent::Save(std::string state, sync::SyncerOptions::OnSaved on_saved) {
  const bool fails = world_.scheduler.rng().OneIn(kUnsavedOneIn);
  world_.scheduler.After(world_.scheduler.Between(milliseconds(1), milliseconds(30)),
                         [this, life = lives_, fails, state = std::move(state),
                          on_saved = std::move(on_saved)]() mutable {
                           if (life != lives_ || running_ == nullptr) return;
                           if (fails) return on_saved(Fail(Code::kUnavailable, "the disk is full"));
                           state_ = std::move(state);
                           on_saved({});
                         });
}

// ---- its node ----

std::string Agent::RandomId() { return fmt::format("s{}", world_.scheduler.rng().Below(kIds)); }

void Agent::Register() {
  Rng& rng = world_.scheduler.rng();
  sync::Entry entry{.id = RandomId(),
                    .name = rng.OneIn(2) ? "web" : "db",
                    .value = fmt::format("{} {}", name_, ++values_)};
  if (rng.OneIn(2)) entry.checks = {{.definition = {.id = kCheck}}};
  world_.Note("{} registers {} as {}: {}", name_, entry.id, entry.name, entry.value);
  if (const auto done = running_->syncer->Register(std::move(entry)); !done.has_value())
    world_.Fail("{} may not register: {}", name_, done.error().message);
}

void Agent::ChangeTogether() {
  running_->syncer->pause().Acquire();
  Register();
  Register();
  world_.scheduler.After(world_.scheduler.Between(Duration(0), milliseconds(800)),
                         [this, life = lives_] {
                           if (life == lives_ && is_up()) running_->syncer->pause().Release();
                         });
}

// It may have no such entry, and the entry no check.
void Agent::UpdateCheck() {
  constexpr std::array kHealths = {sync::Health::kPassing, sync::Health::kWarning,
                                   sync::Health::kCritical};
  Rng& rng = world_.scheduler.rng();
  static_cast<void>(running_->syncer->UpdateCheck(RandomId(), kCheck,
                                                  kHealths[rng.Below(kHealths.size())],
                                                  fmt::format("output {}", ++values_)));
}

void Agent::Act() {
  const std::uint64_t dice = world_.scheduler.rng().Below(100);
  if (dice < 40) return Register();
  if (dice < 55) return static_cast<void>(running_->syncer->Deregister(RandomId()));
  if (dice < 75) return UpdateCheck();
  if (dice < 85) return ChangeTogether();
  if (dice < 92) return running_->syncer->SyncNow();
  running_->syncer->SyncSoon();
}

std::map<std::string, std::string> Agent::Truth() const {
  const sync::CatalogKeys keys{std::string(kCatalogRoot)};
  std::map<std::string, std::string> truth{{keys.Node(node_), name_}};
  for (const auto& listed : running_->syncer->List(sync::Registry::Which::kVisible)) {
    const sync::Entry& entry = listed.entry;
    sync::CatalogRecord record{.id = entry.id, .name = entry.name, .value = entry.value};
    for (const sync::Check& check : entry.checks) {
      record.checks.push_back(
          {.id = check.definition.id, .health = check.health, .output = check.output});
    }
    const std::string value = sync::EncodeRecord(record);
    truth.emplace(keys.EntryOf(node_, entry.id), value);
    truth.emplace(keys.ServiceEntry(entry.name, node_, entry.id), value);
  }
  return truth;
}

void Agent::Check() {
  if (!is_up()) return;
  const sync::SyncerStatus now = status();
  if (now.is_held_by_another && !std::exchange(running_->was_refused, true))
    world_.faults.Add(Fault::kAgentRefused);
  const bool is_adopted =
      now.session_revision != 0 && now.session_revision == running_->restored_session;
  if (is_adopted && now.full_syncs != 0) {
    world_.faults.Add(Fault::kAgentWentOn);
    running_->restored_session = 0;
  }
}

}  // namespace kvorum::sim
