// Members' posts to each other's peer ports about leases, as PeerTransport sends them: requests and
// answers cross the same network as Raft's messages, and are lost with the links and the processes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/peer/transport/peer_poster.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class PeerPosts {
 public:
  PeerPosts(World& world, std::vector<std::unique_ptr<Machine>>& machines, Network& network)
      : world_(world), machines_(machines), network_(network) {}
  ~PeerPosts();
  PeerPosts(const PeerPosts&) = delete;
  PeerPosts& operator=(const PeerPosts&) = delete;

  // The posts of one machine.
  std::unique_ptr<server::PeerPoster> PosterOf(std::size_t machine);
  // The process has ended: its answers have no waiter.
  void Forget(const Machine& machine);

 private:
  class Poster;
  class Sink;
  struct Waiting {
    std::size_t machine = 0;
    server::PeerPoster::Done done;
  };

  void Post(std::size_t from, raft::MemberId to, std::string path, SharedBytes body,
            Duration timeout, server::PeerPoster::Done done);
  void Deliver(std::uint64_t number, std::size_t from, raft::MemberId to, std::string path,
               SharedBytes body);
  void Answer(std::uint64_t number, std::size_t from, std::size_t to,
              server::PeerPoster::Answer answer);
  // On an executor of the process that asked.
  void Tell(std::uint64_t number, Result<server::PeerPoster::Answer> answer);

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  Network& network_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, Waiting> waiting_;
};

}  // namespace kvorum::sim
