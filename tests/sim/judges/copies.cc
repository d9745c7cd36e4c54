#include "tests/sim/judges/copies.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLongestPause = seconds(9);
constexpr Duration kLongestAbsence = seconds(9);

}  // namespace

Copies::Copies(World& world, std::vector<std::unique_ptr<Machine>>& machines,
               const EventHistory& events, Clients& clients, Users& users, Options options)
    : world_(world),
      machines_(machines),
      events_(events),
      clients_(clients),
      user_(world, machines, users),
      options_(options),
      judge_(world, events) {}

void Copies::Start() {
  for (std::size_t i = 0; i < options_.agents; ++i) {
    Agent& agent = agents_.emplace_back(world_, machines_, judge_, user_, fmt::format("a{}", i + 1),
                                        fmt::format("n{}", std::max<std::size_t>(i, 1)));
    StartLater(agent, seconds(5));
    ActLater(agent);
  }
  for (std::size_t i = 0; i < options_.caches; ++i) {
    Slot& slot = slots_.emplace_back();
    slot.name = fmt::format("i{}", i + 1);
    OpenLater(slot, seconds(5));
    ActLater(slot);
  }
  if (options_.agents != 0) ScribbleLater();
}

// ---- agents ----

void Copies::StartLater(Agent& agent, Duration most) {
  world_.scheduler.After(world_.scheduler.Between(milliseconds(10), most), [this, &agent] {
    if (!agent.is_up() && !settled_ && !world_.failed()) agent.Start();
  });
}

void Copies::ActLater(Agent& agent) {
  world_.scheduler.After(world_.scheduler.Between(milliseconds(10), options_.most_thinking),
                         [this, &agent] {
                           if (settled_) return;
                           if (agent.is_up() && !agent.is_leaving()) Act(agent);
                           ActLater(agent);
                         });
}

void Copies::Act(Agent& agent) {
  Rng& rng = world_.scheduler.rng();
  const std::uint64_t dice = rng.Below(100);
  if (dice < 82) return agent.Act();
  if (dice < 88) {
    world_.faults.Add(Fault::kAgentPaused);
    world_.Note("{} is paused", agent.name());
    return agent.PauseUntil(world_.scheduler.Now() +
                            world_.scheduler.Between(milliseconds(100), kLongestPause));
  }
  if (dice < 98) {
    world_.faults.Add(Fault::kAgentKilled);
    world_.Note("{} is killed", agent.name());
    agent.Kill();
    if (rng.OneIn(5)) agent.ForgetState();
  } else {
    agent.Leave();
  }
  StartLater(agent, rng.OneIn(2) ? milliseconds(500) : kLongestAbsence);
}

void Copies::ScribbleLater() {
  world_.scheduler.After(world_.scheduler.Between(milliseconds(100), seconds(5)), [this] {
    if (settled_) return;
    Scribble();
    ScribbleLater();
  });
}

void Copies::Scribble() {
  Rng& rng = world_.scheduler.rng();
  const sync::CatalogKeys keys{std::string(kCatalogRoot)};
  const std::string node = fmt::format("n{}", 1 + rng.Below(options_.agents - 1));
  const std::string id = fmt::format("s{}", rng.Below(6));
  const std::array<std::string, 3> chosen = {keys.EntryOf(node, id),
                                             keys.ServiceEntry("web", node, id), keys.Node(node)};
  // A session is what its key says, and services that no entry names are not looked for: those are
  // only deleted.
  const std::uint64_t which = rng.OneIn(8) ? 2 : rng.Below(2);
  Request request = which != 0 || rng.OneIn(3)
                        ? Request{.operation = linearizability::Delete({}, 0, chosen[which])}
                        : PutOf(chosen[which], std::string(kScribble));
  if (which == 0) overwritten_.insert(node + "." + id);
  clients_.Ask(rng.Below(machines_.size()), std::move(request), [this](bool answered) {
    if (answered) world_.faults.Add(Fault::kCatalogScribbled);
  });
}

Agent* Copies::HolderOf(const std::string& node) {
  const auto holds = [&](const Agent& agent) {
    return agent.node() == node && agent.is_up() && agent.status().session_revision != 0;
  };
  const auto found = std::ranges::find_if(agents_, holds);
  return found == agents_.end() ? nullptr : &*found;
}

std::map<std::string, std::string> Copies::Truth() {
  std::map<std::string, std::string> truth;
  std::set<std::string> nodes;
  for (const Agent& agent : agents_) nodes.insert(agent.node());
  for (const std::string& node : nodes) {
    if (const Agent* holder = HolderOf(node); holder != nullptr) truth.merge(holder->Truth());
  }
  return truth;
}

// A node without an agent has no program that would remove what others write of it. A service's key
// is found by the entry that names it: where somebody has overwritten that, an agent that was
// started anew and does not know the entry does not find it.
bool Copies::MayStay(const std::string& key, const sync::KeyValue& row) {
  if (row.value == kScribble) {
    const sync::CatalogKeys keys{std::string(kCatalogRoot)};
    return std::ranges::none_of(agents_, [&](const Agent& agent) {
      return key.starts_with(keys.EntriesOf(agent.node())) && HolderOf(agent.node()) != nullptr;
    });
  }
  return std::ranges::any_of(overwritten_,
                             [&](const std::string& entry) { return key.ends_with("/" + entry); });
}

bool Copies::IsCatalogTrue() {
  judge_.CheckAll();
  const auto waits = [&](const Agent& agent) {
    if (!agent.is_up()) return false;
    const sync::SyncerStatus status = agent.status();
    const bool is_done = status.session_revision != 0 && status.dirty == 0;
    return agent.is_leaving() || !(is_done || status.is_held_by_another);
  };
  if (std::ranges::any_of(agents_, waits)) return false;
  return Differences().empty();
}

std::string Copies::Differences() {
  std::string text;
  const std::map<std::string, std::string> truth = Truth();
  const std::set<lease::LeaseId> leases = Leases();
  for (const auto& [key, row] : judge_.rows()) {
    const auto right = truth.find(key);
    if (right == truth.end()) {
      if (!MayStay(key, row)) text += fmt::format("{} is too much; ", key);
    } else if (right->second != row.value || !leases.contains(row.lease)) {
      text += fmt::format("{} is {} and should be {}; ", key, row.value, right->second);
    }
  }
  for (const auto& [key, value] : truth) {
    if (!judge_.rows().contains(key)) text += fmt::format("{} is missing; ", key);
  }
  return text;
}

std::set<lease::LeaseId> Copies::Leases() const {
  std::set<lease::LeaseId> leases;
  for (const Agent& agent : agents_) {
    const std::int64_t lease = agent.is_up() ? agent.status().lease : lease::kNoLease;
    if (lease != lease::kNoLease) leases.insert(lease);
  }
  return leases;
}

// ---- caches ----

void Copies::OpenLater(Slot& slot, Duration most) {
  world_.scheduler.After(world_.scheduler.Between(milliseconds(10), most), [this, &slot] {
    if (slot.cache != nullptr || world_.failed()) return;
    const std::array<std::string, 4> prefixes = {"k", std::string(kCatalogRoot) + "/", "kl", "k1"};
    const std::string& prefix = prefixes[world_.scheduler.rng().Below(prefixes.size())];
    world_.Note("{} starts, with a copy of {}", slot.name, prefix);
    slot.cache = std::make_unique<Cache>(world_, machines_, events_, user_, slot.name, prefix);
  });
}

void Copies::ActLater(Slot& slot) {
  world_.scheduler.After(world_.scheduler.Between(milliseconds(10), options_.most_thinking),
                         [this, &slot] {
                           if (settled_) return;
                           if (slot.cache != nullptr) Act(slot);
                           ActLater(slot);
                         });
}

void Copies::Act(Slot& slot) {
  const std::uint64_t dice = world_.scheduler.rng().Below(100);
  if (dice < 60) return slot.cache->Check();
  if (dice < 90) return slot.cache->AskConsistent();
  if (dice < 95) {
    world_.faults.Add(Fault::kCachePaused);
    return slot.cache->PauseUntil(world_.scheduler.Now() +
                                  world_.scheduler.Between(milliseconds(100), kLongestPause));
  }
  world_.Note("{} ends", slot.name);
  slot.cache = nullptr;
  OpenLater(slot, seconds(2));
}

// ---- the end ----

void Copies::Settle(std::function<std::vector<Machine*>()> live) {
  settled_ = true;
  user_.Settle(std::move(live));
  for (Agent& agent : agents_) {
    if (agent.is_leaving()) continue;
    if (world_.scheduler.rng().OneIn(4)) {
      world_.Note("{} is dead for good", agent.name());
      agent.Kill();
    } else if (!agent.is_up()) {
      agent.Start();
    }
  }
}

void Copies::CheckAll() {
  judge_.CheckAll();
  for (Agent& agent : agents_) agent.Check();
  for (Slot& slot : slots_) {
    if (slot.cache != nullptr) slot.cache->Check();
  }
}

bool Copies::AreAtEnd() {
  return std::ranges::all_of(
      slots_, [](Slot& slot) { return slot.cache != nullptr && slot.cache->IsAtEnd(); });
}

void Copies::AskForProgress() {
  for (Slot& slot : slots_) {
    if (slot.cache != nullptr) slot.cache->Reach(events_.last_revision());
  }
}

std::string Copies::Behind() {
  std::string text = Differences();
  for (const Agent& agent : agents_) {
    if (!agent.is_up()) continue;
    const sync::SyncerStatus status = agent.status();
    text +=
        fmt::format("{} of {}: lease {:x}, session {}, {} dirty, {}; ", agent.name(), agent.node(),
                    status.lease, status.session_revision, status.dirty, status.last_error);
  }
  for (Slot& slot : slots_) {
    if (slot.cache == nullptr || !slot.cache->IsAtEnd())
      text += slot.cache == nullptr ? slot.name + " is down; " : slot.cache->Describe() + "; ";
  }
  return text;
}

}  // namespace kvorum::sim
