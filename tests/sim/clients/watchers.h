// Clients that watch: each has a Watch call at some member with a few watchers on it, asks for
// progress, stops reading for a while, cancels and creates, and resumes at another member after the
// last revision that it was given: when it is refused or cut off, and at will.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/clients/client_stream.h"
#include "tests/sim/clients/users.h"
#include "tests/sim/judges/watched.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Watchers {
 public:
  struct Options {
    std::size_t clients = 3;
    std::size_t keys = 5;  // of the other clients
    Duration most_thinking = std::chrono::seconds(2);
  };
  Watchers(World& world, std::vector<std::unique_ptr<Machine>>& machines,
           const EventHistory& events, AuthJudge& judge, Users& users, Options options);

  void Start();
  // No more changes of mind: from here on they read, at one of the members that `live` tells.
  void Settle(std::function<std::vector<Machine*>()> live);
  // All that is published has been given to all of them; once they have settled.
  bool AreAtEnd() const;
  // Asks for progress, everywhere.
  void AskForProgress();
  bool KnowTheEnd() const;
  // The watchers that are behind.
  std::string Behind() const;

 private:
  struct Client {
    std::size_t number = 0;
    Users::Session* session = nullptr;
    std::shared_ptr<ClientStream> stream;  // null: it is about to connect
    bool logs_in = false;
    Users::Session shown;  // as it was when the stream was opened
    std::size_t machine = 0;
    std::list<Watched> watches;
    // In the order in which they were asked for.
    std::deque<std::pair<Watched*, AuthJudge::Asked>> awaiting;
    bool reads = true;
    bool wants_leader = false;
    std::uint64_t watches_made = 0;
    std::int64_t told_progress = 0;  // to the whole stream
  };

  void Act(Client& client);
  void ActLater(Client& client);
  void Connect(Client& client);
  void OpenStream(Client& client);
  void ConnectLater(Client& client, Duration most);
  // To another member, or the same.
  void Leave(Client& client);
  void Add(Client& client);
  void Open(Client& client, Watched& watched);
  void CancelOne(Client& client);
  void StopReading(Client& client);
  Machine* Choose();
  // Everything is, until they settle.
  bool IsLive(const Machine& machine) const;
  WatchCreate RandomWatch();

  void OnMessage(Client& client, std::string_view message);
  void OnCreated(Client& client, const WatchAnswer& answer);
  // Returns true if its user may not read the range, and goes elsewhere.
  bool OnDenied(Client& client, const WatchAnswer& answer);
  void OnCanceled(Client& client, const WatchAnswer& answer);
  void OnProgress(Client& client, const WatchAnswer& answer);
  void OnEnd(Client& client, const Error& status);
  Watched* Find(Client& client, std::int64_t id);

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  const EventHistory& events_;
  AuthJudge& judge_;
  Users& users_;
  const Options options_;
  std::function<std::vector<Machine*>()> live_;  // once they settle
  std::deque<Client> clients_;
};

}  // namespace kvorum::sim
