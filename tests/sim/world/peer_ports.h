// Members' requests to each other's peer ports outside of Raft's protocol: the members of the
// cluster, and its version. The answers come at once, or not at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/peer/transport/peer_request.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

// The URL at which the n-th machine's peers reach it; it has two ports for them.
std::string PeerUrlOf(std::size_t machine, bool other_port = false);
// The machine behind a URL of PeerUrlOf.
std::size_t MachineAt(std::string_view peer_url);

// The questions of one machine.
class PeerPorts final : public server::PeerRequester {
 public:
  PeerPorts(World& world, std::vector<std::unique_ptr<Machine>>& machines, Network& network,
            std::size_t number)
      : world_(world), machines_(machines), network_(network), number_(number) {}

  void AskAll(std::string_view method, const std::vector<std::string>& urls, std::string_view path,
              Duration timeout, const Take& take) override;
  Result<server::PeerAnswer> Ask(const server::PeerQuestion& question, const std::string& url,
                                 Duration) override {
    return AskOne(url, question.path);
  }
  using server::PeerRequester::Ask;
  std::string Resolve(const std::string& url) override { return url; }

 private:
  Result<server::PeerAnswer> AskOne(const std::string& url, std::string_view path);

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  Network& network_;
  const std::size_t number_;
};

}  // namespace kvorum::sim
