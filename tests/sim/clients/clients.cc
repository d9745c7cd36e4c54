#include "tests/sim/clients/clients.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/api_errors.h"
#include "tests/sim/clients/unary_call.h"
#include "tests/sim/judges/catalog_judge.h"
#include "tests/sim/judges/queue_history.h"

namespace kvorum::sim {
namespace {

using linearizability::Compare;

// Into the operation, with its header's revision.
Result<linearizability::Operation> ReadAll(mvcc::Store& store, linearizability::Operation read) {
  KV_TRY(auto view, store.Read());
  KV_TRY(const auto result, view.Range({.key = kFirstKey, .range_end = kEndOfKeys}));
  linearizability::Answer& answer = read.answers.emplace_back();
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    answer.kvs.push_back(KeyValueOf(result.rows[i]));
  read.revision = view.revision();
  return read;
}

}  // namespace

Clients::Clients(World& world, std::vector<std::unique_ptr<Machine>>& machines, AuthJudge& judge,
                 Users& users, Options options)
    : world_(world),
      machines_(machines),
      judge_(judge),
      users_(users),
      options_(options),
      root_(users.New(Users::kRoot)) {}

void Clients::Start() {
  for (std::size_t client = 0; client < options_.clients; ++client) {
    at_.push_back(world_.scheduler.rng().Below(machines_.size()));
    sessions_.push_back(&users_.NewOfAnybody());
    ThinkAndAsk(client);
  }
}

std::string Clients::NewValue() {
  std::string value = fmt::format("v{}", ++values_);
  // Now and then one that fills sectors.
  if (world_.scheduler.rng().OneIn(8)) value.append(world_.scheduler.rng().Below(1500), '.');
  return value;
}

std::string Clients::RandomLeaseKey() {
  return fmt::format("kl{}", world_.scheduler.rng().Below(options_.lease_keys));
}

std::string Clients::RandomKey() {
  if (world_.scheduler.rng().OneIn(20)) return RandomLeaseKey();
  return fmt::format("k{}", world_.scheduler.rng().Below(options_.keys));
}

void Clients::ThinkAndAsk(std::size_t client) {
  world_.scheduler.After(world_.scheduler.Between(Duration(0), options_.most_thinking),
                         [this, client] {
                           if (stopped_) return;
                           if (world_.scheduler.rng().OneIn(12))
                             at_[client] = world_.scheduler.rng().Below(machines_.size());
                           Request request = RandomRequest();
                           if (world_.has_auth) Dress(request);
                           if (world_.has_auth && world_.auth_rng.OneIn(50))
                             users_.Become(*sessions_[client], users_.Anybody());
                           Invoke(client, *sessions_[client], at_[client], std::move(request),
                                  [this, client](bool answered) {
                                    if (!answered)
                                      at_[client] = world_.scheduler.rng().Below(machines_.size());
                                    ThinkAndAsk(client);
                                  });
                         });
}

// Users are not asked about all keys alike.
void Clients::Dress(Request& request) {
  Rng& rng = world_.auth_rng;
  const auto any_key = [&] { return fmt::format("k{}", rng.Below(options_.keys)); };
  linearizability::Operation& operation = request.operation;
  if (request.is_compaction()) return;
  if (request.is_read()) {
    Part& part = operation.success.front();
    switch (rng.Below(5)) {
      case 0:
        part.key = any_key();
        part.range_end.clear();
        break;
      case 1:
        part.range_end = fmt::format("k{}", 1 + rng.Below(4));
        part.key = "k0";
        break;
      case 2:
        part.range_end = "kl";
        break;
      case 3:
        part.key = "kl";
        break;
      default:
        break;
    }
    operation.is_txn = !operation.serializable && rng.OneIn(6);
  } else if (!operation.is_txn) {
    request.prev_kv = rng.OneIn(4);
  } else if (rng.OneIn(2)) {
    request.hidden_key = any_key();
  }
}

Request Clients::RandomRequest() {
  Rng& rng = world_.scheduler.rng();
  const std::string key = RandomKey();
  std::string other = RandomKey();
  while (other == key) other = RandomKey();
  const auto put = [this](const std::string& to) {
    return Part{.kind = Part::Kind::kPut, .key = to, .range_end = {}, .value = NewValue()};
  };
  const std::uint64_t dice = rng.Below(100);
  if (dice < 25) return ReadOfAll(false);
  if (dice < 35) return ReadOfAll(true);
  if (dice < 60) return PutOf(key, NewValue());
  if (dice < 68) return {.operation = linearizability::Delete({}, 0, key)};
  if (dice < 70) return {.operation = linearizability::Delete({}, 0, key, kEndOfKeys)};
  if (dice >= 98 && options_.compacts) {
    const std::int64_t revision = known_revision_ - static_cast<std::int64_t>(20 + rng.Below(60));
    if (revision < 1) return ReadOfAll(false);
    return {.operation = {}, .compact_revision = revision};
  }
  Request request;
  request.operation.is_txn = true;
  if (dice < 82) {
    // Like a lock or a counter: only if the key has not changed since it was read.
    Compare unchanged{.target = Compare::Target::kMod, .key = key};
    if (!known_mods_.empty() && !rng.OneIn(6)) {
      const auto& [known_key, mod] = known_mods_[rng.Below(known_mods_.size())];
      unchanged.key = known_key;
      unchanged.number = mod;
    }
    request.operation.success = {put(unchanged.key)};
    request.operation.failure = {{.kind = Part::Kind::kRead, .key = unchanged.key}};
    request.operation.compares = {std::move(unchanged)};
  } else if (dice < 90) {
    request.operation.success = {put(key), put(other)};
  } else {
    request.operation.compares = {
        {.target = Compare::Target::kVersion, .relation = Compare::Relation::kGreater, .key = key}};
    request.operation.success = {{.kind = Part::Kind::kDelete, .key = key}, put(other)};
    request.operation.failure = {put(key)};
  }
  return request;
}

void Clients::Ask(std::size_t machine, Request request, std::function<void(bool)> done,
                  Users::Session* session) {
  Invoke(options_.clients, session == nullptr ? root_ : *session, machine, std::move(request),
         std::move(done));
}

void Clients::Invoke(std::size_t client, Users::Session& session, std::size_t machine,
                     Request request, std::function<void(bool)> done) {
  request.operation.client = fmt::format("c{}@m{}", client, machine + 1);
  request.operation.call = world_.scheduler.Now().ns;
  world_.Note("#{} asked: {}", requests_.size(), Describe(request));
  auto call = std::make_shared<Call>();
  call->request = requests_.size();
  call->done = std::move(done);
  call->session = &session;
  requests_.push_back(std::move(request));
  ++pending_;
  if (world_.has_auth) {
    ServeUser(machine, call);
  } else {
    world_.scheduler.After(OneWay(), [this, machine, call] { Serve(machine, call); });
  }
  world_.scheduler.After(options_.patience, [this, call] { Open(call); });
}

void Clients::Serve(std::size_t number, const std::shared_ptr<Call>& call) {
  Machine& machine = *machines_[number];
  if (!machine.up()) {
    // Refused connection: the client learns it at once.
    world_.scheduler.After(OneWay(), [this, call] { Open(call); });
    return;
  }
  machine.lane(LaneKind::kIo).Post([this, &machine, call] {
    const Request& request = requests_[call->request];
    const bool is_serializable = request.is_read() && request.operation.serializable;
    if (machine.local_member().membership().is_learner() && !is_serializable)
      return Reply(call, kErrNotSupportedForLearner.Fail());
    if (requests_[call->request].is_read()) {
      ServeRead(machine, call);
    } else {
      ServeWrite(machine, call);
    }
  });
}

void Clients::ServeRead(Machine& machine, const std::shared_ptr<Call>& call) {
  const auto read = [this, &machine, call] {
    Reply(call, ReadAll(machine.local_member().store(), requests_[call->request].operation));
  };
  if (requests_[call->request].operation.serializable) return read();
  machine.local_member().replica().ReadIndex(
      [this, &machine, call, read](const Result<void>& confirmed) {
        if (!confirmed.has_value()) return Reply(call, std::unexpected(confirmed.error()));
        machine.lane(LaneKind::kIo).Post(read);
      });
}

void Clients::ServeWrite(Machine& machine, const std::shared_ptr<Call>& call) {
  const Request& request = requests_[call->request];
  machine.Propose(KindOf(request), BodyOf(request),
                  [this, call](const Result<server::ApplyResult::Value>& outcome) {
                    if (!outcome.has_value()) return Reply(call, std::unexpected(outcome.error()));
                    linearizability::Operation answered = requests_[call->request].operation;
                    answered.revision = Record(*outcome, answered);
                    if (!Fits(requests_[call->request], *outcome, answered)) {
                      return world_.Fail("#{} was answered with what became of another request",
                                         call->request);
                    }
                    Reply(call, std::move(answered));
                  });
}

// ---- with auth ----

void Clients::ServeUser(std::size_t number, const std::shared_ptr<Call>& call) {
  Machine& machine = *machines_[number];
  users_.Ready(*call->session, machine, [this, &machine, call] { CallKv(machine, call); });
}

void Clients::CallKv(Machine& machine, const std::shared_ptr<Call>& call) {
  const Request& request = requests_[call->request];
  const Users::Session& session = *call->session;
  auto asked = std::make_shared<AuthJudge::Asked>(judge_.Ask(session.user, session.token, machine));
  auto needs = std::make_shared<const Needs>(NeedsOf(request));
  sim::Call(world_, machine,
            {.path = PathOf(request),
             .request = BodyOf(request),
             .token = session.token,
             .on_taken = [this, asked] { judge_.Taken(*asked); },
             .on_answer =
                 [this, call, asked, needs](const Result<std::string>& bytes) {
                   if (!bytes.has_value()) return judge_.Refused(*asked, *needs, bytes.error());
                   const auto answer = ReadAnswer(requests_[call->request], *bytes);
                   if (!answer.has_value()) {
                     return world_.Fail("#{} was answered with what became of another request",
                                        call->request);
                   }
                   if (needs->root) return judge_.LetIn(*asked, *needs);
                   judge_.Answered(*asked, *needs, answer->revision);
                 },
             .done =
                 [this, call](const Result<std::string>& bytes) {
                   if (call->over) return;
                   if (!bytes.has_value()) return UserRefused(call, bytes.error());
                   Answered(call, *ReadAnswer(requests_[call->request], *bytes));
                 }});
}

void Clients::UserRefused(const std::shared_ptr<Call>& call, const Error& error) {
  world_.Note("#{} of {} failed: {}", call->request, call->session->user, error.message);
  users_.Told(*call->session, error);
  if (!AuthJudge::IsRefusal(error)) return Open(call);
  Request& request = requests_[call->request];
  request.refused = true;
  if (!request.hidden_key.empty()) CountNested(request, *call->session);
  Finish(call, false);
}

// Counts a refusal because of the branch that would not have been taken.
void Clients::CountNested(const Request& request, const Users::Session& session) {
  Request without = request;
  without.hidden_key.clear();
  if (judge_.IsAllowedNow(session.user, NeedsOf(without))) world_.faults.Add(Fault::kAuthNested);
}

void Clients::Reply(const std::shared_ptr<Call>& call,
                    Result<linearizability::Operation> answered) {
  world_.scheduler.After(OneWay(), [this, call, answered = std::move(answered)]() mutable {
    if (call->over) return;
    if (answered.has_value()) return Answered(call, *std::move(answered));
    world_.Note("#{} failed: {}", call->request, answered.error().message);
    Open(call);
  });
}

void Clients::Answered(const std::shared_ptr<Call>& call, linearizability::Operation answered) {
  answered.acknowledged = true;
  answered.returned = world_.scheduler.Now().ns;
  ++answered_;
  known_revision_ = std::max(known_revision_, answered.revision);
  Request& request = requests_[call->request];
  if (request.is_read()) {
    known_mods_.clear();
    for (const linearizability::KeyValue& kv : answered.answers.front().kvs)
      if (!IsInQueue(kv.key) && !IsInCatalog(kv.key))
        known_mods_.emplace_back(kv.key, kv.mod_revision);
  }
  if (request.is_compaction()) world_.faults.Add(Fault::kCompaction);
  world_.Note("#{} answered with revision {}{}", call->request, answered.revision,
              answered.succeeded ? "" : ", not succeeded");
  request.operation = std::move(answered);
  Finish(call, true);
}

void Clients::Open(const std::shared_ptr<Call>& call) {
  if (call->over) return;
  world_.Note("#{} is given up", call->request);
  const Request& request = requests_[call->request];
  if (!request.is_read() && !request.is_compaction()) world_.faults.Add(Fault::kUnknownResult);
  Finish(call, false);
}

void Clients::Finish(const std::shared_ptr<Call>& call, bool answered) {
  call->over = true;
  --pending_;
  std::exchange(call->done, nullptr)(answered);
}

}  // namespace kvorum::sim
