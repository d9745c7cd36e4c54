#include "tests/sim/operator.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "api/entries/internal_request.h"
#include "api/maintenance_encode.h"
#include "api/member_id.h"
#include "server/services/cluster/strict_reconfig.h"
#include "tests/sim/world/peer_ports.h"
#include "wal/wal.h"

namespace kvorum::sim {
namespace {

using server::Member;
using server::MemberChange;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMostVoters = 6;
constexpr std::size_t kMostLearners = 1;
constexpr Duration kTending = milliseconds(400);

server::MembershipView ViewOf(std::vector<Member> members) {
  server::MembershipView view;
  for (Member& member : members) {
    member.name.clear();
    view.members.emplace(member.id, std::move(member));
  }
  return view;
}

std::string InitialCluster(const server::MembershipView& view) {
  std::string text;
  for (const auto& [id, member] : view.members) {
    for (const std::string& url : member.peer_urls)
      text += fmt::format("{}m{}={}", text.empty() ? "" : ",", MachineAt(url) + 1, url);
  }
  return text;
}

// The change that `at` would propose.
MemberChange Addition(const Machine& at, std::size_t machine, bool as_learner) {
  Member member;
  member.peer_urls = {PeerUrlOf(machine)};
  member.is_learner = as_learner;
  member.id = server::ComputeMemberId(member.peer_urls, "", at.clock().WallNanos() / 1'000'000'000);
  MemberChange change = MemberChange::Add(std::move(member));
  if (as_learner) change.max_learners = kMostLearners;
  return change;
}

bool HasVote(const Member& member) { return !member.is_learner; }

std::string DescribeChange(const MemberChange& change) {
  switch (change.type) {
    case raft::ConfChangeType::kAddNode:
      return fmt::format("{} {:x}", change.is_promote ? "promote" : "add", change.id);
    case raft::ConfChangeType::kAddLearnerNode:
      return fmt::format("add learner {:x}", change.id);
    case raft::ConfChangeType::kRemoveNode:
      return fmt::format("remove {:x}", change.id);
    case raft::ConfChangeType::kUpdateNode:
      return fmt::format("update {:x}", change.id);
  }
  return "";
}

class OutcomeWaiter final : public server::Waiter {
 public:
  using Callback =
      std::move_only_function<void(bool applied, Result<server::ApplyResult::Value> value)>;
  explicit OutcomeWaiter(Callback callback) : callback_(std::move(callback)) {}
  void Applied(server::ApplyResult result) override { callback_(true, std::move(result.value)); }
  void Failed(const Error& error) override { callback_(false, std::unexpected(error)); }

 private:
  Callback callback_;
};

}  // namespace

Operator::Operator(World& world, std::vector<std::unique_ptr<Machine>>& machines,
                   const Oracle& oracle, std::vector<Member> first_members,
                   std::function<void(Machine&)> ended)
    : world_(world),
      machines_(machines),
      oracle_(oracle),
      first_(ViewOf(std::move(first_members))),
      first_cluster_(InitialCluster(first_)),
      ended_(std::move(ended)),
      strict_(world.scheduler.rng().OneIn(3)) {}

void Operator::Start() {
  Tend();
  Rng& rng = world_.scheduler.rng();
  const auto maybe = [&](Duration mean, std::function<void()> act) {
    const Duration rate = world_.scheduler.Between(mean / 2, mean * 3);
    if (rng.OneIn(3)) return;
    Every(rate, std::move(act));
  };
  maybe(seconds(10), [this] { MoveLeader(); });
  maybe(seconds(15), [this] { RaiseAlarm(server::AlarmType::kNoSpace, Fault::kAlarmRaised); });
  if (HasUpkeep(world_.options.seed)) {
    Every(seconds(2), [this] { Defragment(); });
    Every(seconds(8), [this] { RaiseAlarm(server::AlarmType::kCorrupt, Fault::kCorruptRaised); });
  }
  // A member without its data has no vote yet: removing another one could cost the quorum.
  if (world_.has_replaced_disks) return;
  if (rng.OneIn(3)) return;  // the members stay
  maybe(seconds(10), [this] { Add(false); });
  maybe(seconds(8), [this] { Add(true); });
  maybe(seconds(5), [this] { Promote(); });
  maybe(seconds(8), [this] { Remove(); });
  maybe(seconds(15), [this] { Update(); });
  maybe(seconds(10), [this] { LoseDisk(); });
}

void Operator::Every(Duration mean, std::function<void()> act) {
  world_.scheduler.After(world_.scheduler.Between(Duration(0), 2 * mean),
                         [this, mean, act = std::move(act)]() mutable {
                           if (stopped_) return;
                           act();
                           Every(mean, std::move(act));
                         });
}

// ---- the present state ----

const server::MembershipView& Operator::members() const {
  // The first entries of a new cluster name its members one by one.
  const server::MembershipView* view = oracle_.members();
  const bool is_whole =
      view != nullptr && view->members.size() + view->removed.size() >= first_.members.size();
  return is_whole ? *view : first_;
}

const Member* Operator::MemberOf(std::size_t machine) const {
  const auto& all = members().members;
  const auto found = std::ranges::find_if(
      all, [&](const auto& entry) { return MachineAt(entry.second.peer_urls.front()) == machine; });
  return found == all.end() ? nullptr : &found->second;
}

bool Operator::IsLost(std::size_t machine) const {
  const auto lost = lost_.find(machine);
  return lost != lost_.end() && members().members.contains(lost->second);
}

bool Operator::AwaitsRemoval() const {
  return std::ranges::any_of(removals_, [this](const auto& removal) {
    return !members().removed.contains(removal.second);
  });
}

bool Operator::KnowsMembers(Machine& machine) const {
  if (!machine.up()) return false;
  raft::Index durable = 0;
  const auto looked =
      machine.local_member().store().LookAtDurable([&](mvcc::Snapshot& content) -> Result<void> {
        KV_TRY(const auto recovered, mvcc::Store::ReadRecovered(content));
        durable = raft::Index{recovered.consistent_index};
        return {};
      });
  return looked.has_value() && durable >= oracle_.members_index();
}

bool Operator::CanDoWithout(const std::set<raft::MemberId>& gone) const {
  if (AwaitsRemoval()) return false;
  std::size_t knowing = 0;
  for (const auto& [id, member] : members().members) {
    if (member.is_learner || gone.contains(id)) continue;
    Machine& machine = *machines_[MachineAt(member.peer_urls.front())];
    if (HasJoined(member) && KnowsMembers(machine)) ++knowing;
  }
  return knowing > Voters() / 2;
}

Machine* Operator::AnyUp() {
  std::vector<Machine*> up;
  for (const auto& machine : machines_) {
    if (machine->up()) up.push_back(machine.get());
  }
  return up.empty() ? nullptr : up[world_.scheduler.rng().Below(up.size())];
}

Machine* Operator::Leader() {
  const auto leader = std::ranges::find_if(machines_, [](const auto& machine) {
    return machine->up() &&
           machine->local_member().replica().leader() == machine->local_member().member_id();
  });
  return leader == machines_.end() ? nullptr : leader->get();
}

template <class Condition>
const Member* Operator::AnyMember(Condition&& condition) {
  std::vector<const Member*> found;
  for (const auto& [id, member] : members().members) {
    if (condition(member)) found.push_back(&member);
  }
  return found.empty() ? nullptr : found[world_.scheduler.rng().Below(found.size())];
}

std::size_t Operator::Voters() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      members().members, [](const auto& entry) { return HasVote(entry.second); }));
}

bool Operator::HasLost() const {
  return std::ranges::any_of(machines_,
                             [this](const auto& machine) { return IsLost(machine->number()); });
}

// Not while another member's disk is lost, and only if the remaining members are a majority of
// today's voters, even if all pending orders come true: they may not know that the removal is
// committed, and get no vote from the removed one. Nor from a member that has not joined yet.
bool Operator::MayRemove(raft::MemberId id) const {
  std::set<raft::MemberId> leaving{id};
  for (const auto& [order, member] : removals_) leaving.insert(member);
  for (const auto& [machine, lost] : lost_) {
    if (IsLost(machine)) return lost == id;
  }
  std::size_t leaving_voters = 0;
  std::size_t staying_voters = 0;
  for (const auto& [member_id, member] : members().members) {
    if (!HasVote(member)) continue;
    if (leaving.contains(member_id)) {
      ++leaving_voters;
    } else if (HasJoined(member)) {
      ++staying_voters;
    }
  }
  return leaving_voters == 0 || staying_voters > Voters() / 2;
}

bool Operator::HasJoined(const Member& member) const {
  return machines_[MachineAt(member.peer_urls.front())]->member_id() == member.id;
}

// ---- a machine's process ----

bool Operator::Prepare(Machine& machine) {
  const Member* member = MemberOf(machine.number());
  const bool is_first = member != nullptr && first_.members.contains(member->id);
  bool has_data = wal::Exists(machine.disk(), Machine::WalDir()).value_or(true);
  if (has_data && member != nullptr && IsOutdated(machine)) {
    machine.Wipe();
    has_data = false;
  }
  if (!has_data && (member == nullptr || IsLost(machine.number()))) return false;
  if (member == nullptr) return true;  // removed, and does not know it
  machine.options().join_existing = !is_first;
  machine.options().initial_cluster = is_first ? first_cluster_ : InitialCluster(members());
  return true;
}

void Operator::Started(Machine& machine) {
  const bool joins = machine.options().join_existing;
  if (joins &&
      std::exchange(joined_[machine.number()], machine.member_id()) != machine.member_id()) {
    world_.faults.Add(Fault::kMemberJoined);
    if (lost_.erase(machine.number()) != 0) world_.faults.Add(Fault::kMemberReplaced);
  }
  Publish(machine, machine.life());
}

// Its data belongs to a member that was removed.
bool Operator::IsOutdated(const Machine& machine) const {
  return members().removed.contains(machine.member_id());
}

bool Operator::MayRefuse(Machine& machine, const Error& error) {
  const bool has_data = wal::Exists(machine.disk(), Machine::WalDir()).value_or(true);
  // A joining member finds no member to ask, or the answer it got is outdated.
  if (!has_data && machine.options().join_existing) return true;
  if (!has_data && error.message.ends_with("has already been bootstrapped")) {
    world_.faults.Add(Fault::kStartRefused);
    machine.Insist();
    return world_.has_replaced_disks;
  }
  const bool knows = error.message.find("permanently removed") != std::string::npos;
  if (!knows || !IsOutdated(machine)) return false;
  world_.faults.Add(Fault::kRemovedRefused);
  machine.Wipe();
  return true;
}

// ---- changes of the members ----

void Operator::Add(bool as_learner) {
  std::vector<Machine*> spare;
  for (const auto& machine : machines_) {
    if (MemberOf(machine->number()) == nullptr) spare.push_back(machine.get());
  }
  if (spare.empty() || Voters() >= kMostVoters) return;
  Machine& machine = *spare[world_.scheduler.rng().Below(spare.size())];
  if (machine.up()) {  // a removed one that does not know it
    machine.Kill();
    ended_(machine);
  }
  machine.Wipe();
  Machine* at = AnyUp();
  if (at == nullptr) return;
  ReadThenChange(*at, Addition(*at, machine.number(), as_learner),
                 as_learner ? Fault::kLearnerAdded : Fault::kMemberAdded);
}

void Operator::Promote() {
  const Member* learner = AnyMember([](const Member& member) { return member.is_learner; });
  Machine* leader = Leader();
  if (learner == nullptr || leader == nullptr) return;
  leader->local_member().replica().CheckLearner(
      learner->id, [this, leader, id = learner->id](const Result<void>& ready) {
        const MemberChange change = MemberChange::Promote(id);
        if (!ready.has_value()) return Refused(*leader, change, ready.error());
        leader->lane(LaneKind::kIo).Post([this, leader, change] {
          Change(*leader, change, Fault::kLearnerPromoted);
        });
      });
}

void Operator::Remove() {
  const Member* member =
      AnyMember([this](const Member& candidate) { return MayRemove(candidate.id); });
  Machine* at = AnyUp();
  if (at == nullptr || member == nullptr || HasLost()) return;
  ReadThenChange(*at, MemberChange::Remove(member->id), Fault::kMemberRemoved);
}

void Operator::Update() {
  const Member* member = AnyMember([](const Member&) { return true; });
  Machine* at = AnyUp();
  if (at == nullptr || member == nullptr) return;
  const std::size_t machine = MachineAt(member->peer_urls.front());
  // The first URL stays, so that no other member can be added on the machine.
  std::vector<std::string> urls = {PeerUrlOf(machine)};
  if (member->peer_urls.size() == 1) urls.push_back(PeerUrlOf(machine, true));
  ReadThenChange(*at, MemberChange::Update(member->id, std::move(urls)), Fault::kMemberUpdated);
}

// A disk is gone for good: the member is removed, and another one takes its machine.
void Operator::LoseDisk() {
  if (HasLost()) return;
  const Member* member = AnyMember([](const Member& candidate) { return candidate.started(); });
  if (member == nullptr) return;
  Machine& machine = *machines_[MachineAt(member->peer_urls.front())];
  if (!HasJoined(*member)) return;
  if (!CanDoWithout({member->id})) return;
  if (machine.up()) {
    machine.Kill();
    ended_(machine);
  }
  machine.Wipe();
  world_.faults.Add(Fault::kDiskLost);
  lost_[machine.number()] = member->id;
  ReplaceLost(machine.number());
}

void Operator::ReplaceLost(std::size_t number) {
  if (stopped_) return;
  const auto lost = lost_.find(number);
  if (lost == lost_.end()) return;
  Machine* at = AnyUp();
  if (at != nullptr && IsLost(number)) {
    ReadThenChange(*at, MemberChange::Remove(lost->second), Fault::kMemberRemoved);
  } else if (at != nullptr && MemberOf(number) == nullptr) {
    const bool as_learner = world_.scheduler.rng().OneIn(2);
    ReadThenChange(*at, Addition(*at, number, as_learner),
                   as_learner ? Fault::kLearnerAdded : Fault::kMemberAdded);
  }
  world_.scheduler.After(world_.scheduler.Between(milliseconds(500), seconds(4)),
                         [this, number] { ReplaceLost(number); });
}

void Operator::ReadThenChange(Machine& at, MemberChange change, Fault counts_as) {
  // Before that it would not serve clients, nor can anybody join.
  if (at.local_member().membership().View()->cluster_version.empty()) return;
  world_.Note("{} is asked to {}", at.name(), DescribeChange(change));
  if (const auto strict = CheckStrict(at, change); !strict.has_value())
    return Refused(at, change, strict.error());
  at.local_member().replica().ReadIndex(
      [this, &at, change = std::move(change), counts_as](const Result<void>& confirmed) mutable {
        if (!confirmed.has_value()) return Refused(at, change, confirmed.error());
        at.lane(LaneKind::kIo).Post([this, &at, change = std::move(change), counts_as] {
          Change(at, change, counts_as);
        });
      });
}

Result<void> Operator::CheckStrict(Machine& at, const MemberChange& change) {
  if (!strict_) return {};
  const auto view = at.local_member().membership().View();
  const server::Connections connections{
      .self = at.local_member().member_id(), .transport = &at.transport(), .now = at.clock().Now()};
  if (change.is_promote) return CheckStrictPromote(*view);
  switch (change.type) {
    case raft::ConfChangeType::kAddNode:
    case raft::ConfChangeType::kAddLearnerNode:
      return CheckStrictAdd(*view, change.member, connections);
    case raft::ConfChangeType::kRemoveNode:
      return CheckStrictRemove(*view, change.id, connections);
    case raft::ConfChangeType::kUpdateNode:
      return {};
  }
  return {};
}

void Operator::Change(Machine& at, const MemberChange& change, Fault counts_as) {
  if (stopped_) return;
  const auto view = at.local_member().membership().View();
  auto checked = CheckMemberChange(*view, change);
  if (checked.has_value() && change.is_promote) checked = CheckStrict(at, change);
  // A request that was valid when it was made may no longer be.
  const bool is_removal = change.type == raft::ConfChangeType::kRemoveNode;
  if (is_removal && !MayRemove(change.id)) return;
  if (!checked.has_value()) return Refused(at, change, checked.error());
  const std::uint64_t id = at.local_member().ids().Next();
  if (is_removal) removals_[id] = change.id;
  world_.Note("{} proposes to {}", at.name(), DescribeChange(change));
  auto done = [this, &at, id, change, counts_as](bool applied,
                                                 Result<server::ApplyResult::Value> value) {
    if (applied) removals_.erase(id);
    if (!value.has_value()) return Refused(at, change, value.error());
    world_.Note("{}: {} is done", at.name(), DescribeChange(change));
    world_.faults.Add(counts_as);
  };
  std::vector<server::Proposal> proposals;
  proposals.push_back({.id = id,
                       .data = SharedBytes::Own(raft::Encode(EncodeMemberChange(id, change))),
                       .deadline = at.clock().Now() + at.options().replica.request_timeout,
                       .waiter = std::make_unique<OutcomeWaiter>(std::move(done)),
                       .type = raft::EntryType::kConfChange});
  at.local_member().replica().Propose(std::move(proposals));
}

void Operator::Refused(const Machine& at, const MemberChange& change, const Error& error) {
  world_.Note("{}: {} is refused: {}", at.name(), DescribeChange(change), error.message);
  world_.faults.Add(Fault::kChangeRefused);
}

// ---- leadership, alarms, and what members and leaders do by themselves ----

void Operator::MoveLeader() {
  Machine* leader = Leader();
  const Member* to = AnyMember(HasVote);
  if (leader == nullptr || to == nullptr) return;
  world_.Note("{} is asked to hand leadership to {:x}", leader->name(), to->id);
  const bool to_other = to->id != leader->member_id();
  leader->local_member().replica().MoveLeader(
      to->id, leader->clock().Now() + leader->options().replica.request_timeout,
      [this, to_other](const Result<void>& moved) {
        if (moved.has_value() && to_other) world_.faults.Add(Fault::kLeaderMoved);
      });
}

void Operator::RaiseAlarm(server::AlarmType type, Fault counts_as) {
  Machine* at = AnyUp();
  const Member* member = AnyMember([](const Member&) { return true; });
  if (at == nullptr || member == nullptr) return;
  alarm_until_ = world_.scheduler.Now() + world_.scheduler.Between(milliseconds(0), seconds(3));
  const server::AlarmRequest raise{.action = server::AlarmAction::kActivate,
                                   .alarm = {.member = member->id, .type = type}};
  at->Propose(server::RequestKind::kAlarm, EncodeAlarmRequest(raise),
              [this, counts_as](const Result<server::ApplyResult::Value>& raised) {
                if (raised.has_value()) world_.faults.Add(counts_as);
              });
}

void Operator::Defragment() {
  Machine* at = AnyUp();
  if (at == nullptr) return;
  at->local_member().store().Defragment([this](const Result<void>& done) {
    if (done.has_value()) world_.faults.Add(Fault::kDefragmented);
  });
}

void Operator::DisarmAlarms(Machine& machine) {
  for (const server::Alarm& alarm : machine.local_member().alarms().List()) {
    const server::AlarmRequest disarm{.action = server::AlarmAction::kDeactivate, .alarm = alarm};
    machine.Propose(server::RequestKind::kAlarm, EncodeAlarmRequest(disarm),
                    [this](const Result<server::ApplyResult::Value>& outcome) {
                      const auto* done = outcome.has_value()
                                             ? std::get_if<server::AlarmResult>(&*outcome)
                                             : nullptr;
                      if (done != nullptr && !done->alarms.empty())
                        world_.faults.Add(Fault::kAlarmDisarmed);
                    });
  }
}

// Again and again.
void Operator::Tend() {
  world_.scheduler.After(kTending, [this] {
    for (const auto& each : machines_) {
      // A removed member that has not heard of that is in the way of the next one.
      if (!each->up() || MemberOf(each->number()) == nullptr || !IsOutdated(*each)) continue;
      each->Kill();
      ended_(*each);
    }
    Machine* machine = AnyUp();
    if (machine != nullptr && (stopped_ || world_.scheduler.Now() >= alarm_until_))
      DisarmAlarms(*machine);
    Machine* leader = Leader();
    if (leader != nullptr && leader->local_member().membership().View()->cluster_version.empty())
      leader->Propose(server::RequestKind::kClusterVersionSet,
                      server::EncodeClusterVersion("3.7.0"), [](const auto&) {});
    Tend();
  });
}

void Operator::Publish(Machine& machine, std::uint64_t life) {
  if (!machine.up() || machine.life() != life) return;
  const server::MemberAttributes attributes{
      .member = machine.member_id(),
      .name = machine.name(),
      .client_urls = {fmt::format("http://10.0.0.{}:2379", machine.number() + 1)}};
  machine.Propose(server::RequestKind::kMemberAttributesSet, EncodeMemberAttributes(attributes),
                  [this, &machine, life](const Result<server::ApplyResult::Value>& published) {
                    if (published.has_value()) return;
                    world_.scheduler.After(milliseconds(500),
                                           [this, &machine, life] { Publish(machine, life); });
                  });
}

}  // namespace kvorum::sim
