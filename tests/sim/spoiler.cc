#include "tests/sim/spoiler.h"

#include <string>
#include <utility>

#include "api/entries/internal_request.h"
#include "mvcc/records/key_value.h"
#include "server/replica/drive/replica.h"
#include "tests/server/request_bodies.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kKey = kSpoiledKey;
constexpr std::string_view kValue = "whole";
constexpr std::string_view kDatabase = "/data/member/snap/db";
// Kills of the others and of the victim itself are among it.
constexpr Duration kFoundBound = seconds(60);
constexpr Duration kMendedBound = seconds(240);

}  // namespace

Spoiler::Spoiler(World& world, std::vector<std::unique_ptr<Machine>>& machines,
                 std::function<void(Machine&)> ended)
    : world_(world), machines_(machines), ended_(std::move(ended)) {}

void Spoiler::Start() {
  if (!world_.has_spoils) return;
  PutRecord();
  Tend();
  KillSomebody();
}

void Spoiler::PutRecord() {
  if (put_at_ != 0 || stopped_) return;
  Machine& machine = *machines_[world_.scheduler.rng().Below(machines_.size())];
  if (machine.up()) {
    machine.Propose(server::RequestKind::kPut, server::PutBody(kKey, kValue),
                    [this, &machine](const Result<server::ApplyResult::Value>& put) {
                      if (put.has_value() && put_at_ == 0)
                        put_at_ = machine.local_member().store().revision();
                    });
  }
  world_.scheduler.After(milliseconds(1'000), [this] { PutRecord(); });
}

bool Spoiler::HasRecord(Machine& machine) {
  auto view = machine.local_member().store().Read();
  if (!view.has_value()) return false;
  const auto found = view->Range({.key = kKey, .range_end = {}});
  if (!found.has_value() || found->rows.empty()) return false;
  const auto kv = mvcc::DecodeKeyValue(found->rows[0]);
  return kv.has_value() && kv->value == kValue;
}

void Spoiler::SpoilNow() {
  Rng& rng = world_.scheduler.rng();
  Machine& machine = *machines_[rng.Below(machines_.size())];
  // Not the newest record of all, whose loss takes a revision with it.
  if (!machine.up() || machine.services().checks()->is_out() || !HasRecord(machine) ||
      machine.local_member().store().history_sum().durable_revision() <= put_at_)
    return;
  machine.Kill();
  const auto kind = rng.OneIn(2) ? mvcc::SpoilKind::kChange : mvcc::SpoilKind::kLose;
  auto backend = mvcc::OpenMemoryBackend(machine.disk(), std::string(kDatabase));
  if (!backend.has_value()) return world_.Fail("{}: {}", machine.name(), backend.error().message);
  const auto spoiled = SpoilNewest(**backend, kKey, kind);
  backend->reset();
  machine.disk().Kill();
  if (spoiled.has_value() && *spoiled) {
    world_.Note("a record of {} is {}", machine.name(),
                kind == mvcc::SpoilKind::kChange ? "changed" : "lost");
    victim_ = Victim{.machine = machine.number(), .since = world_.scheduler.Now()};
    world_.spoiled = machine.number();
  }
  ended_(machine);
}

void Spoiler::KillSomebody() {
  world_.scheduler.After(world_.scheduler.Between(seconds(1), seconds(16)), [this] {
    if (stopped_) return;
    Machine& machine = *machines_[world_.scheduler.rng().Below(machines_.size())];
    if (machine.up()) {
      world_.faults.Add(Fault::kKill);
      machine.Kill();
      ended_(machine);
    }
    KillSomebody();
  });
}

void Spoiler::AfterCheck(Machine& machine) {
  if (!machine.services().checks()->is_out()) return;
  const bool is_victim = victim_.has_value() && victim_->machine == machine.number();
  if (!is_victim)
    return world_.Fail("{} is kept from serving, and nothing is wrong with it", machine.name());
  if (std::exchange(victim_->is_found, true)) return;
  ++found_;
  world_.Note("{} is found out", machine.name());
}

// Again and again, until the member serves with whole data.
void Spoiler::Tend() {
  world_.scheduler.After(milliseconds(500), [this] {
    if (world_.failed()) return;
    Tend();
    if (!victim_.has_value()) {
      if (!stopped_ && put_at_ != 0 && world_.scheduler.rng().OneIn(8)) SpoilNow();
      return;
    }
    Machine& machine = *machines_[victim_->machine];
    const Duration age = world_.scheduler.Now() - victim_->since;
    if (!victim_->is_found && age > kFoundBound) return FailUnfound(machine);
    if (age > kMendedBound) return world_.Fail("{} is not mended", machine.name());
    if (!victim_->is_found || !machine.up()) return;
    if (machine.services().checks()->is_out()) return Reseed(machine);
    if (!HasRecord(machine))
      return world_.Fail("{} serves, and its record is spoiled still", machine.name());
    world_.Note("{} is mended", machine.name());
    ++mended_;
    victim_.reset();
    world_.spoiled.reset();
  });
}

// With the places at which members could compare.
void Spoiler::FailUnfound(const Machine& victim) {
  std::string places;
  for (const auto& machine : machines_) {
    if (!machine->up()) continue;
    const auto history = machine->local_member().store().history_sum().Newest(40);
    places += " " + machine->name() + ":";
    for (const auto& base : history.bases) places += " " + std::to_string(base.compact_revision);
    places += " at " + std::to_string(history.points.front().revision) + " to " +
              std::to_string(history.points.back().revision);
  }
  world_.Fail("{} has a spoiled record, and nobody finds it; compactions and revisions of{}",
              victim.name(), places);
}

void Spoiler::Reseed(Machine& machine) {
  machine.services().checks()->Reseed([](const Result<void>&) {});
}

}  // namespace kvorum::sim
