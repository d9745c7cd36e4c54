// Clients that lock and campaign, each over a lease, which LeaseHolders keeps or loses:
// they wait until granted or until a deadline, hold for a while, proclaim, and unlock or resign, or
// forget to, or unlock what somebody else holds. Others observe the election.
//
// In the end clients whose leases are not renewed are dead: their locks go with the lease. Each
// of the others must have the lock or the election once more.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/clients/client_stream.h"
#include "tests/sim/clients/users.h"
#include "tests/sim/judges/lease_holders.h"
#include "tests/sim/judges/lock_judge.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class LockClients {
 public:
  static constexpr std::size_t kMost = 5;
  static constexpr const char* kElection = "k!election";
  struct Options {
    std::size_t clients = 0;  // at most one for each lease of LeaseHolders
    std::size_t locks = 1;
    std::size_t observers = 0;
    Duration most_thinking{};
  };
  LockClients(World& world, std::vector<std::unique_ptr<Machine>>& machines, LeaseHolders& holders,
              LockJudge& judge, Users& users, Options options);

  void Start();
  // Goes to these machines only: each has the lock or the election once more, unless it is dead.
  void Settle(std::function<std::vector<Machine*>()> live);
  // All have had it, the queues are empty, and no member has a waiting call.
  bool AreOver();
  // A place at the front whose client waits must soon be granted; `stable` is when the cluster
  // became so.
  void CheckOverdue(TimePoint stable);

  // A key of the election that no client has.
  static std::string LastLeader();
  // All observers know this leader.
  bool HaveSeen(std::int64_t created) const;

 private:
  struct Client {
    std::size_t number = 0;
    Users::Session* session = nullptr;
    std::string last_name = {};              // where it goes for the last time
    std::optional<TimePoint> waits_since{};  // for its last turn
    Machine* waits_at = nullptr;
    bool is_over = false;
  };
  struct Observer {
    Users::Session* session = nullptr;
    std::shared_ptr<ClientStream> stream;
    LockJudge::Observed last;
  };
  using Asked = LockJudge::Asked;
  using Done = std::function<void(const LockJudge::Answer&)>;
  using Judge = std::function<void(const LockJudge::Answer&)>;

  // A unary call at some member; a deadline makes it one that waits.
  void Call(Client& client, std::string path, std::string request, Judge judge, Done done,
            Duration deadline = {});
  void TurnLater(Client& client);
  void Turn(Client& client);
  // `done` gets the creation revision, which for a lock is not known: 0, or nothing if the place
  // was not granted.
  void Take(Client& client, const std::string& name, Duration deadline,
            std::function<void(const Asked& asked, bool is_granted)> done);
  void Taken(Client& client, const Asked& asked, bool is_granted);
  void Hold(Client& client, const Asked& asked, std::uint64_t proclamations);
  void Release(Client& client, const Asked& asked, Done done);
  void Unlock(Client& client, const Asked& asked, Done done);
  void AskLeader(Client& client);
  void LastTurn(Client& client);
  // Leaves the places of its lease that calls of an ended process took.
  void TidyLater(Client& client);
  bool IsDead(const Client& client) const;
  void ObserveLater(Observer& observer, Duration most);
  void Observe(Observer& observer);
  Machine& Choose();
  std::string RandomName();

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  LeaseHolders& holders_;
  LockJudge& judge_;
  Users& users_;
  const Options options_;
  std::vector<std::string> names_;
  std::deque<Client> clients_;
  std::deque<Observer> observers_;
  std::uint64_t values_ = 0;
  std::function<std::vector<Machine*>()> live_;  // empty until the end
};

}  // namespace kvorum::sim
