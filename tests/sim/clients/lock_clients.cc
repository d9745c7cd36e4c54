#include "tests/sim/clients/lock_clients.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "proto/election.pb.h"
#include "proto/lock.pb.h"
#include "tests/sim/clients/unary_call.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLastDeadline = seconds(15);
// The time from being at the front to the answer: two reads and a question to the leader.
constexpr Duration kGrantSlack = seconds(5);

bool IsElection(const std::string& name) { return name == LockClients::kElection; }

v3electionpb::LeaderKey LeaderKeyOf(const LockJudge::Asked& asked) {
  v3electionpb::LeaderKey leader;
  leader.set_name(asked.name);
  leader.set_key(asked.key());
  leader.set_rev(asked.created);
  leader.set_lease(asked.lease);
  return leader;
}

}  // namespace

LockClients::LockClients(World& world, std::vector<std::unique_ptr<Machine>>& machines,
                         LeaseHolders& holders, LockJudge& judge, Users& users, Options options)
    : world_(world),
      machines_(machines),
      holders_(holders),
      judge_(judge),
      users_(users),
      options_(options),
      names_{kElection} {
  for (std::size_t i = 0; i < options_.locks; ++i)
    names_.push_back(fmt::format("{}lock{}", kQueueSpace, i));
}

void LockClients::Start() {
  for (std::size_t i = 0; i < options_.clients; ++i) {
    Client& client = clients_.emplace_back(
        Client{.number = i + 1, .session = &users_.New(world_.has_auth ? Users::kRoot : "")});
    TurnLater(client);
  }
  for (std::size_t i = 0; i < options_.observers; ++i) {
    Observer& observer = observers_.emplace_back(
        Observer{.session = &users_.New(world_.has_auth ? Users::kRoot : ""),
                 .stream = nullptr,
                 .last = {}});
    ObserveLater(observer, seconds(1));
  }
}

Machine& LockClients::Choose() {
  const std::vector<Machine*> live = live_ ? live_() : std::vector<Machine*>();
  Rng& rng = world_.scheduler.rng();
  return live.empty() ? *machines_[rng.Below(machines_.size())] : *live[rng.Below(live.size())];
}

std::string LockClients::RandomName() {
  return names_[world_.scheduler.rng().Below(names_.size())];
}

void LockClients::Call(Client& client, std::string path, std::string request, Judge judge,
                       Done done, Duration deadline) {
  Machine& machine = Choose();
  users_.Ready(*client.session, machine,
               [this, &client, &machine, deadline, path = std::move(path),
                request = std::move(request), judge = std::move(judge), done = std::move(done)] {
                 client.waits_at = &machine;
                 sim::Call(world_, machine,
                           {.path = path,
                            .request = request,
                            .token = client.session->token,
                            .deadline = deadline,
                            .wants_leader = world_.scheduler.rng().OneIn(3),
                            .on_answer = judge,
                            .done = [this, &client, path, done](const LockJudge::Answer& answer) {
                              world_.Note("l{}: {}: {}", client.number, path,
                                          answer.has_value() ? "done" : answer.error().message);
                              if (!answer.has_value()) users_.Told(*client.session, answer.error());
                              done(answer);
                            }});
               });
}

// ---- their turns ----

void LockClients::TurnLater(Client& client) {
  world_.scheduler.After(world_.scheduler.Between(milliseconds(5), options_.most_thinking),
                         [this, &client] { Turn(client); });
}

void LockClients::Turn(Client& client) {
  if (live_) return LastTurn(client);
  const std::uint64_t dice = world_.scheduler.rng().Below(100);
  if (dice < 10) return AskLeader(client);
  if (holders_.LeaseOf(client.number - 1) == lease::kNoLease) return TurnLater(client);
  const Duration most = dice < 40 ? milliseconds(300) : seconds(12);
  Take(client, RandomName(), world_.scheduler.Between(milliseconds(5), most),
       [this, &client](const Asked& asked, bool is_granted) { Taken(client, asked, is_granted); });
}

void LockClients::Take(Client& client, const std::string& name, Duration deadline,
                       std::function<void(const Asked& asked, bool is_granted)> done) {
  auto asked = std::make_shared<Asked>(judge_.Ask(name, holders_.LeaseOf(client.number - 1)));
  world_.Note("l{} asks for {}", client.number, asked->key());
  const auto answered = [asked, done = std::move(done)](const LockJudge::Answer& answer) {
    done(*asked, answer.has_value());
  };
  if (IsElection(name)) {
    asked->value = fmt::format("e{}", ++values_);
    v3electionpb::CampaignRequest request;
    request.set_name(name);
    request.set_lease(asked->lease);
    request.set_value(asked->value);
    return Call(
        client, "/v3electionpb.Election/Campaign", request.SerializeAsString(),
        [this, asked](const LockJudge::Answer& answer) {
          asked->created = judge_.Elected(*asked, answer);
        },
        answered, deadline);
  }
  v3lockpb::LockRequest request;
  request.set_name(name);
  request.set_lease(asked->lease);
  Call(
      client, "/v3lockpb.Lock/Lock", request.SerializeAsString(),
      [this, asked](const LockJudge::Answer& answer) { judge_.Locked(*asked, answer); }, answered,
      deadline);
}

void LockClients::Taken(Client& client, const Asked& asked, bool is_granted) {
  Rng& rng = world_.scheduler.rng();
  if (is_granted) return Hold(client, asked, IsElection(asked.name) ? rng.Below(4) : 0);
  // It may have a place, or not.
  if (rng.OneIn(2)) return TurnLater(client);
  Unlock(client, asked, [this, &client](const LockJudge::Answer&) { TurnLater(client); });
}

void LockClients::Hold(Client& client, const Asked& asked, std::uint64_t proclamations) {
  world_.scheduler.After(
      world_.scheduler.Between(milliseconds(1), seconds(1)), [this, &client, asked, proclamations] {
        if (IsDead(client)) return LastTurn(client);
        const auto turn = [this, &client](const LockJudge::Answer&) { TurnLater(client); };
        if (proclamations == 0) {
          const std::uint64_t dice = world_.scheduler.rng().Below(12);
          if (dice < 2) return TurnLater(client);  // it is left to the end of its lease
          if (dice > 2) return Release(client, asked, turn);
          Asked other = asked;
          other.lease = holders_.LeaseOf(world_.scheduler.rng().Below(clients_.size()));
          return Unlock(client, other, turn);
        }
        auto proclaimed = std::make_shared<Asked>(
            judge_.Ask(asked.name, asked.lease, fmt::format("e{}", ++values_), asked.created));
        v3electionpb::ProclaimRequest request;
        *request.mutable_leader() = LeaderKeyOf(asked);
        request.set_value(proclaimed->value);
        Call(
            client, "/v3electionpb.Election/Proclaim", request.SerializeAsString(),
            [this, proclaimed](const LockJudge::Answer& answer) {
              judge_.Proclaimed(*proclaimed, answer);
            },
            [this, &client, asked, proclamations](const LockJudge::Answer&) {
              Hold(client, asked, proclamations - 1);
            });
      });
}

void LockClients::Release(Client& client, const Asked& asked, Done done) {
  if (!IsElection(asked.name)) return Unlock(client, asked, std::move(done));
  const Asked resigned = judge_.Ask(asked.name, asked.lease, {}, asked.created);
  v3electionpb::ResignRequest request;
  *request.mutable_leader() = LeaderKeyOf(asked);
  Call(
      client, "/v3electionpb.Election/Resign", request.SerializeAsString(),
      [this, resigned](const LockJudge::Answer& answer) { judge_.Resigned(resigned, answer); },
      std::move(done));
}

// Any holder.
void LockClients::Unlock(Client& client, const Asked& asked, Done done) {
  const Asked unlocked = judge_.Ask(asked.name, asked.lease);
  v3lockpb::UnlockRequest request;
  request.set_key(asked.key());
  Call(
      client, "/v3lockpb.Lock/Unlock", request.SerializeAsString(),
      [this, unlocked](const LockJudge::Answer& answer) { judge_.Unlocked(unlocked, answer); },
      std::move(done));
}

void LockClients::AskLeader(Client& client) {
  const Asked asked = judge_.Ask(kElection, lease::kNoLease);
  v3electionpb::LeaderRequest request;
  request.set_name(kElection);
  Call(
      client, "/v3electionpb.Election/Leader", request.SerializeAsString(),
      [this, asked](const LockJudge::Answer& answer) { judge_.LeaderTold(asked, answer); },
      [this, &client](const LockJudge::Answer&) { TurnLater(client); });
}

// ---- observers ----

void LockClients::ObserveLater(Observer& observer, Duration most) {
  // A stream that has ended may hear of its process's end as well.
  if (observer.stream != nullptr) std::exchange(observer.stream, nullptr)->Leave();
  world_.scheduler.After(world_.scheduler.Between(milliseconds(1), most), [this, &observer] {
    Machine& machine = Choose();
    users_.Ready(*observer.session, machine, [this, &observer, &machine] {
      observer.last = {};
      observer.stream = std::make_shared<ClientStream>(
          world_, machine,
          ClientStream::Receiver{.on_message =
                                     [this, &observer](std::string_view message) {
                                       world_.faults.Add(Fault::kLeaderObserved);
                                       judge_.LeaderSeen(kElection, observer.last, message);
                                     },
                                 .on_end =
                                     [this, &observer](const Error& status) {
                                       users_.Told(*observer.session, status);
                                       ObserveLater(observer, seconds(1));
                                     }});
      v3electionpb::LeaderRequest request;
      request.set_name(kElection);
      observer.stream->Open("/v3electionpb.Election/Observe", world_.scheduler.rng().OneIn(3),
                            observer.session->token);
      observer.stream->Say(request.SerializeAsString());
    });
  });
}

std::string LockClients::LastLeader() { return std::string(kElection) + "/last"; }

bool LockClients::HaveSeen(std::int64_t created) const {
  return std::ranges::all_of(
      observers_, [&](const Observer& observer) { return observer.last.created == created; });
}

// ---- the end ----

void LockClients::Settle(std::function<std::vector<Machine*>()> live) {
  live_ = std::move(live);
  for (Client& client : clients_) TidyLater(client);
}

bool LockClients::IsDead(const Client& client) const {
  return live_ && !holders_.Keeps(client.number - 1);
}

void LockClients::LastTurn(Client& client) {
  if (IsDead(client)) {
    client.is_over = true;
    return;
  }
  const auto again = [this, &client] {
    world_.scheduler.After(milliseconds(300), [this, &client] { LastTurn(client); });
  };
  client.last_name = names_[client.number % names_.size()];
  client.waits_since = world_.scheduler.Now();
  Take(client, client.last_name, kLastDeadline,
       [this, &client, again](const Asked& asked, bool is_granted) {
         client.waits_since.reset();
         if (!is_granted || IsDead(client)) return again();
         Release(client, asked, [&client, again](const LockJudge::Answer& answer) {
           if (!answer.has_value()) return again();
           client.is_over = true;
         });
       });
}

void LockClients::TidyLater(Client& client) {
  world_.scheduler.After(milliseconds(500), [this, &client] {
    if (IsDead(client)) return;
    const lease::LeaseId lease = holders_.LeaseOf(client.number - 1);
    for (const std::string& name : names_) {
      const bool is_past =
          client.is_over || (!client.last_name.empty() && name != client.last_name);
      const Asked left{.name = name, .lease = lease};
      if (is_past && judge_.queues().Now(name).contains(left.key()))
        Unlock(client, left, [](const LockJudge::Answer&) {});
    }
    TidyLater(client);
  });
}

bool LockClients::AreOver() {
  if (clients_.empty()) return true;
  const bool are_done =
      std::ranges::all_of(clients_, [](const Client& client) { return client.is_over; });
  const auto is_empty = [&](const std::string& name) { return judge_.queues().Now(name).empty(); };
  return are_done && std::ranges::all_of(names_, is_empty) &&
         std::ranges::none_of(machines_, [](const std::unique_ptr<Machine>& machine) {
           return machine->up() && machine->services().waiting_calls() != 0;
         });
}

void LockClients::CheckOverdue(TimePoint stable) {
  for (const Client& client : clients_) {
    if (!live_ || !client.waits_since.has_value() || IsDead(client)) continue;
    const std::string key =
        QueueHistory::KeyOf(client.last_name, holders_.LeaseOf(client.number - 1));
    const auto* front = QueueHistory::FrontOf(judge_.queues().Now(client.last_name));
    if (front == nullptr || front->first != key) continue;
    const TimePoint since = judge_.FrontSince(client.last_name);
    if (world_.scheduler.Now() <= std::max({since, *client.waits_since, stable}) + kGrantSlack)
      continue;
    world_.Fail("{} is at the front, and waits at {} since {} ms", key, client.waits_at->name(),
                (world_.scheduler.Now() - *client.waits_since).count() / 1'000'000);
  }
}

}  // namespace kvorum::sim
