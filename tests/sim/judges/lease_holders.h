// Clients that hold leases: each is granted one, attaches keys to it, renews it at some member,
// stalls, asks for its time to live, revokes it or lets it expire, and starts over.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "tests/sim/clients/client_stream.h"
#include "tests/sim/clients/clients.h"
#include "tests/sim/clients/users.h"
#include "tests/sim/judges/lease_ledger.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class LeaseHolders {
 public:
  struct Options {
    std::size_t holders = 2;
    std::uint64_t longest_s = 5;
  };
  LeaseHolders(World& world, std::vector<std::unique_ptr<Machine>>& machines, Clients& clients,
               LeaseLedger& ledger, AuthJudge& judge, Users& users, Options options);

  void Start();
  // Some go on renewing their leases; nothing else happens.
  void Settle();
  // The lease that one of them has now, or none.
  lease::LeaseId LeaseOf(std::size_t holder) const { return holders_[holder].id; }
  // It renews that to the end. One whose user cannot log in any more does not learn that it is
  // gone.
  bool Keeps(std::size_t holder) const {
    const Holder& one = holders_[holder];
    return one.keeps && one.id != lease::kNoLease && !ledger_.IsGone(one.id);
  }
  // The leases that are renewed.
  std::set<lease::LeaseId> Kept() const;

 private:
  struct Holder {
    std::size_t number = 0;
    Users::Session* session = nullptr;
    lease::LeaseId id = lease::kNoLease;
    std::int64_t ttl_s = 0;
    std::uint64_t leases = 0;  // counts them, so that a late answer is recognised as an earlier
                               // one's
    bool keeps = false;        // to the end of the run
    std::shared_ptr<ClientStream> stream;   // of renewals; null: none is open
    std::deque<LeaseLedger::Moment> asked;  // renewals without an answer
  };

  using Done =
      std::function<void(const AuthJudge::Asked& asked, const Result<std::string>& answer)>;
  // A unary call at some member; `done` is called within a bounded time. Without needs a refusal is
  // not judged.
  void Call(Holder& holder, std::string_view method, std::string request,
            const std::optional<Needs>& needs, Done done);
  void CallAt(Machine& machine, Holder& holder, std::string_view method, std::string request,
              const std::optional<Needs>& needs, Done done);

  void Begin(Holder& holder);
  void Granted(Holder& holder, const LeaseLedger::Moment& asked, const std::string& answer);
  void ActLater(Holder& holder, Duration when);
  void Act(Holder& holder);
  void Renew(Holder& holder);
  void AttachKey(Holder& holder);
  // The lease to which it attaches a key.
  lease::LeaseId LeaseFor(const Holder& holder);
  void AskForTimes(Holder& holder);
  void Revoke(Holder& holder);
  void LeaveStream(Holder& holder);
  void OnRenewed(Holder& holder, std::string_view message);
  Machine& AnyMachine();

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  Clients& clients_;
  LeaseLedger& ledger_;
  AuthJudge& judge_;
  Users& users_;
  const Options options_;
  std::deque<Holder> holders_;
  lease::LeaseId last_chosen_ = 0x1000;
  bool settled_ = false;
};

}  // namespace kvorum::sim
