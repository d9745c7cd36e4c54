#include "tests/sim/judges/lease_holders.h"

#include <optional>
#include <string>
#include <utility>

#include "api/lease_messages.h"
#include "base/check.h"
#include "proto/wire.h"
#include "tests/sim/clients/unary_call.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The answers of the Lease service: fields that several of them share have the same numbers.
struct LeaseAnswer {
  std::uint64_t term = 0;
  lease::LeaseId id = lease::kNoLease;
  std::int64_t ttl_s = 0;
  std::int64_t granted_s = 0;
  std::set<std::string> keys;
};

LeaseAnswer Read(std::string_view bytes) {
  LeaseAnswer answer;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1: {
        wire::Reader header(reader.Bytes());
        while (header.Next()) {
          if (header.field() == 4) {
            answer.term = header.Varint();
          } else {
            header.Skip();
          }
        }
        break;
      }
      case 2:
        answer.id = reader.Int();
        break;
      case 3:
        answer.ttl_s = reader.Int();
        break;
      case 4:
        answer.granted_s = reader.Int();
        break;
      case 5:
        answer.keys.emplace(reader.Bytes());
        break;
      default:
        reader.Skip();
    }
  }
  KV_CHECK(reader.ok(), "the Lease service gave out what is no answer");
  return answer;
}

std::string TimeToLiveBody(lease::LeaseId id) {
  std::string body;
  wire::AppendInt(body, 1, id);
  wire::AppendBool(body, 2, true);
  return body;
}

}  // namespace

LeaseHolders::LeaseHolders(World& world, std::vector<std::unique_ptr<Machine>>& machines,
                           Clients& clients, LeaseLedger& ledger, AuthJudge& judge, Users& users,
                           Options options)
    : world_(world),
      machines_(machines),
      clients_(clients),
      ledger_(ledger),
      judge_(judge),
      users_(users),
      options_(options) {}

void LeaseHolders::Start() {
  for (std::size_t i = 0; i < options_.holders; ++i) {
    Holder& holder = holders_.emplace_back();
    holder.number = i + 1;
    holder.session = &users_.NewOfAnybody();
    Begin(holder);
  }
}

Machine& LeaseHolders::AnyMachine() {
  return *machines_[world_.scheduler.rng().Below(machines_.size())];
}

void LeaseHolders::Call(Holder& holder, std::string_view method, std::string request,
                        const std::optional<Needs>& needs, Done done) {
  Machine& machine = AnyMachine();
  users_.Ready(*holder.session, machine,
               [this, &machine, &holder, method, request = std::move(request), needs,
                done = std::move(done)] { CallAt(machine, holder, method, request, needs, done); });
}

void LeaseHolders::CallAt(Machine& machine, Holder& holder, std::string_view method,
                          std::string request, const std::optional<Needs>& needs, Done done) {
  const Users::Session& session = *holder.session;
  auto asked = std::make_shared<AuthJudge::Asked>(judge_.Ask(session.user, session.token, machine));
  sim::Call(world_, machine,
            {.path = "/etcdserverpb.Lease/" + std::string(method),
             .request = std::move(request),
             .token = session.token,
             .on_taken = [this, asked] { judge_.Taken(*asked); },
             .on_answer =
                 [this, asked, needs](const Result<std::string>& answer) {
                   const bool is_judged = needs.has_value() && !answer.has_value();
                   if (is_judged) judge_.Refused(*asked, *needs, answer.error());
                 },
             .done =
                 [this, &holder, asked, done = std::move(done)](const Result<std::string>& answer) {
                   if (!answer.has_value()) users_.Told(*holder.session, answer.error());
                   done(*asked, answer);
                 }});
}

// ---- their actions ----

void LeaseHolders::Begin(Holder& holder) {
  LeaveStream(holder);
  holder.id = lease::kNoLease;
  ++holder.leases;
  if (settled_) return;
  world_.scheduler.After(world_.scheduler.Between(milliseconds(10), seconds(3)), [this, &holder] {
    if (settled_) return;
    Rng& rng = world_.scheduler.rng();
    const lease::LeaseId id = rng.OneIn(2) ? ++last_chosen_ : lease::kNoLease;
    const auto ttl_s = static_cast<std::int64_t>(rng.Below(options_.longest_s + 1));
    const LeaseLedger::Moment asked = ledger_.Now();
    Call(holder, "LeaseGrant", server::EncodeLeaseGrant({.ttl_s = ttl_s, .id = id}), Needs{},
         [this, &holder, asked](const AuthJudge::Asked&, const Result<std::string>& answer) {
           if (!answer.has_value()) return Begin(holder);
           Granted(holder, asked, *answer);
         });
  });
}

void LeaseHolders::Granted(Holder& holder, const LeaseLedger::Moment& asked,
                           const std::string& answer) {
  const LeaseAnswer granted = Read(answer);
  world_.Note("h{} is granted lease {:x} of {} s", holder.number, granted.id, granted.ttl_s);
  world_.faults.Add(Fault::kLeaseGranted);
  ledger_.Promised(granted.id, granted.ttl_s, asked, granted.term);
  if (settled_) return;
  holder.id = granted.id;
  holder.ttl_s = granted.ttl_s;
  holder.keeps = world_.scheduler.rng().OneIn(2);
  for (std::uint64_t keys = world_.scheduler.rng().Below(4); keys > 0; --keys) AttachKey(holder);
  ActLater(holder, milliseconds(100));
}

void LeaseHolders::ActLater(Holder& holder, Duration when) {
  world_.scheduler.After(when, [this, &holder, lease = holder.leases] {
    if (holder.leases != lease) return;
    if (!settled_) return Act(holder);
    if (!holder.keeps) return;
    Renew(holder);
    ActLater(holder, Duration(seconds(holder.ttl_s)) / 4);
  });
}

void LeaseHolders::Act(Holder& holder) {
  const std::uint64_t dice = world_.scheduler.rng().Below(100);
  const Duration ttl = seconds(holder.ttl_s);
  if (dice < 70) {
    Renew(holder);
  } else if (dice < 78) {
    AskForTimes(holder);
  } else if (dice < 86) {
    AttachKey(holder);
  } else if (dice < 94) {
    world_.faults.Add(Fault::kLeaseStalled);
    return ActLater(holder, world_.scheduler.Between(ttl / 2, 2 * ttl));
  } else if (dice < 97) {
    return Revoke(holder);
  } else {
    return Begin(holder);  // it is left to its end
  }
  // Clients mostly do it in time, and sometimes when it may be too late.
  const Duration most = world_.scheduler.rng().OneIn(6) ? ttl + milliseconds(200) : ttl / 2;
  ActLater(holder, world_.scheduler.Between(ttl / 20, most));
}

void LeaseHolders::AttachKey(Holder& holder) {
  clients_.Ask(
      AnyMachine().number(),
      PutOf(clients_.RandomLeaseKey(), clients_.NewValue(), LeaseFor(holder)), [](bool) {},
      holder.session);
}

// With users, somebody else's equally often: leases with others' keys are the interesting ones.
lease::LeaseId LeaseHolders::LeaseFor(const Holder& holder) {
  if (!world_.has_auth || world_.auth_rng.OneIn(2)) return holder.id;
  const Holder& other = holders_[world_.auth_rng.Below(holders_.size())];
  return other.id == lease::kNoLease ? holder.id : other.id;
}

void LeaseHolders::Renew(Holder& holder) {
  // If a member has not answered for long, another one is asked.
  if (!holder.asked.empty() && world_.scheduler.Now() - holder.asked.front().at > seconds(2) &&
      world_.scheduler.rng().OneIn(2))
    LeaveStream(holder);
  if (holder.stream == nullptr) {
    Machine& machine = AnyMachine();
    // It is late, but not too late as a rule.
    if (world_.has_auth && holder.session->needs_login)
      return users_.Ready(*holder.session, machine, [] {});
    holder.stream = std::make_shared<ClientStream>(
        world_, machine,
        ClientStream::Receiver{
            .on_message = [this, &holder](std::string_view message) { OnRenewed(holder, message); },
            .on_end =
                [this, &holder](const Error& status) {
                  users_.Told(*holder.session, status);
                  LeaveStream(holder);
                }});
    holder.stream->Open("/etcdserverpb.Lease/LeaseKeepAlive", false, holder.session->token);
  }
  holder.asked.push_back(ledger_.Now());
  holder.stream->Say(server::EncodeLeaseId(holder.id));
}

void LeaseHolders::OnRenewed(Holder& holder, std::string_view message) {
  const LeaseAnswer answer = Read(message);
  if (answer.id != holder.id || holder.asked.empty())
    return world_.Fail("h{} is told of lease {:x}, unasked", holder.number, answer.id);
  const LeaseLedger::Moment asked = holder.asked.front();
  holder.asked.pop_front();
  world_.Note("h{} hears of lease {:x}: {} s", holder.number, answer.id, answer.ttl_s);
  if (answer.ttl_s > 0) {
    world_.faults.Add(Fault::kLeaseRenewed);
    return ledger_.Promised(answer.id, answer.ttl_s, asked, answer.term);
  }
  world_.faults.Add(Fault::kLeaseGoneTold);
  ledger_.ToldGone(answer.id);
  Begin(holder);
}

void LeaseHolders::AskForTimes(Holder& holder) {
  const LeaseLedger::Moment asked = ledger_.Now();
  Call(
      holder, "LeaseTimeToLive", TimeToLiveBody(holder.id), std::nullopt,
      [this, asked, id = holder.id](const AuthJudge::Asked& by, const Result<std::string>& answer) {
        if (!answer.has_value()) return;
        const LeaseAnswer times = Read(*answer);
        Needs needs;
        for (const std::string& key : times.keys)
          needs.keys.push_back({.writes = false, .key = key});
        judge_.LetIn(by, needs);
        world_.Note("lease {:x} has {} of {} s left and {} keys", id, times.ttl_s, times.granted_s,
                    times.keys.size());
        world_.faults.Add(Fault::kLeaseTimesTold);
        ledger_.TimesTold(id, times.ttl_s, times.granted_s, times.keys, asked);
      });
}

void LeaseHolders::Revoke(Holder& holder) {
  ledger_.RevokeAsked(holder.id);
  Call(holder, "LeaseRevoke", server::EncodeLeaseId(holder.id), Needs{.lease = holder.id},
       [this, id = holder.id](const AuthJudge::Asked&, const Result<std::string>& answer) {
         if (answer.has_value()) ledger_.ToldGone(id);
       });
  Begin(holder);
}

void LeaseHolders::LeaveStream(Holder& holder) {
  if (holder.stream == nullptr) return;
  holder.stream->Leave();
  holder.stream = nullptr;
  holder.asked.clear();
}

// ---- the end ----

void LeaseHolders::Settle() {
  settled_ = true;
  for (Holder& holder : holders_) {
    if (!holder.keeps) Begin(holder);
  }
}

std::set<lease::LeaseId> LeaseHolders::Kept() const {
  std::set<lease::LeaseId> kept;
  for (std::size_t i = 0; i < holders_.size(); ++i) {
    if (Keeps(i)) kept.insert(LeaseOf(i));
  }
  return kept;
}

}  // namespace kvorum::sim
