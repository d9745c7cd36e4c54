#include "tests/differential/ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace kvorum::differential {
namespace {

constexpr int kPortsPerBlock = 64;
constexpr int kFirst = 157 * kPortsPerBlock;
constexpr int kEnd = 32768;

// Above the last one: where the kernel's own begin.
int End() {
  int begin = kEnd;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> begin;
  return std::max(kFirst + kPortsPerBlock, std::min(kEnd, begin));
}

// The abstract socket of that name stays open until the process ends.
bool KeepBlock(int first) {
  const int keeper = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const std::string name = "kvorum-test-ports-" + std::to_string(first);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(name, address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(keeper, reinterpret_cast<const sockaddr*>(&address), size) == 0) return true;
  close(keeper);
  return false;
}

bool IsFree(int port) {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // Remains of closed connections do not keep a server from listening.
  const int on = 1;
  setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool free = bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(probe);
  return free;
}

std::vector<int> TakeBlock() {
  std::vector<int> firsts;
  for (int first = kFirst; first + kPortsPerBlock <= End(); first += kPortsPerBlock)
    firsts.push_back(first);
  std::ranges::shuffle(firsts, std::random_device());
  const auto first = std::ranges::find_if(firsts, KeepBlock);
  if (first == firsts.end()) return {};
  std::vector<int> ports(kPortsPerBlock);
  std::iota(ports.begin(), ports.end(), *first);
  return ports;
}

}  // namespace

int FreePort() {
  static std::vector<int> unused;
  while (true) {
    if (unused.empty()) unused = TakeBlock();
    if (unused.empty()) return 0;
    const int port = unused.back();
    unused.pop_back();
    if (IsFree(port)) return port;
  }
}

}  // namespace kvorum::differential
