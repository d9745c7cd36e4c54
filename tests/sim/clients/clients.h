// Random clients: each asks one member for one thing at a time, waits for the answer or gives up,
// and goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/clients/request.h"
#include "tests/sim/clients/users.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Clients {
 public:
  struct Options {
    std::size_t clients = 4;
    std::size_t keys = 5;
    std::size_t lease_keys = 5;
    Duration most_thinking = std::chrono::milliseconds(150);
    Duration patience = std::chrono::seconds(10);
    bool compacts = true;
  };

  Clients(World& world, std::vector<std::unique_ptr<Machine>>& machines, AuthJudge& judge,
          Users& users, Options options);

  void Start();
  // No further requests.
  void Stop() { stopped_ = true; }
  // One request outside the random ones; `done` learns whether it was answered. Root asks, if it is
  // not said who.
  void Ask(std::size_t machine, Request request, std::function<void(bool answered)> done,
           Users::Session* session = nullptr);
  // A value unlike any other.
  std::string NewValue();
  std::string RandomKey();
  // One of those that leases are for as a rule.
  std::string RandomLeaseKey();

  const Options& options() const { return options_; }
  const std::vector<Request>& requests() const { return requests_; }
  std::size_t pending() const { return pending_; }
  std::uint64_t answered() const { return answered_; }

 private:
  // One request in flight.
  struct Call {
    std::size_t request = 0;
    bool over = false;
    Users::Session* session = nullptr;
    std::function<void(bool answered)> done;
  };

  void ThinkAndAsk(std::size_t client);
  Request RandomRequest();
  // Gives it the form in which users ask.
  void Dress(Request& request);
  void Invoke(std::size_t client, Users::Session& session, std::size_t machine, Request request,
              std::function<void(bool answered)> done);
  // In a run with auth: by the KV service, with a token.
  void ServeUser(std::size_t machine, const std::shared_ptr<Call>& call);
  void CallKv(Machine& machine, const std::shared_ptr<Call>& call);
  void UserRefused(const std::shared_ptr<Call>& call, const Error& error);
  void CountNested(const Request& request, const Users::Session& session);
  void Serve(std::size_t machine, const std::shared_ptr<Call>& call);
  void ServeRead(Machine& machine, const std::shared_ptr<Call>& call);
  void ServeWrite(Machine& machine, const std::shared_ptr<Call>& call);
  // The answer, in a copy of the operation, is in flight.
  void Reply(const std::shared_ptr<Call>& call, Result<linearizability::Operation> answered);
  void Answered(const std::shared_ptr<Call>& call, linearizability::Operation answered);
  void Open(const std::shared_ptr<Call>& call);
  void Finish(const std::shared_ptr<Call>& call, bool answered);
  Duration OneWay() { return world_.scheduler.Between(Duration(50'000), Duration(1'500'000)); }

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  AuthJudge& judge_;
  Users& users_;
  const Options options_;
  std::vector<Request> requests_;
  std::vector<std::size_t> at_;  // the member that each client talks to
  std::vector<Users::Session*> sessions_;
  Users::Session& root_;
  std::size_t pending_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t values_ = 0;
  std::int64_t known_revision_ = 1;  // the newest that any client saw
  std::vector<std::pair<std::string, std::int64_t>> known_mods_;
  bool stopped_ = false;
};

}  // namespace kvorum::sim
