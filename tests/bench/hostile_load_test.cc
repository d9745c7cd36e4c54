#include "bench/load/hostile_load.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <string>
#include <thread>

namespace kvorum::bench {
namespace {

TEST(HostileLoad, KindsAreReadFromLines) {
  std::istringstream lines("trickles 4142 43\nsays-once - 00ff\nhalf-closes 41 -\n");
  const auto kinds = ParseHostileKinds(lines);
  ASSERT_TRUE(kinds.has_value());
  ASSERT_EQ(kinds->size(), 3U);
  EXPECT_EQ((*kinds)[0].first, "AB");
  EXPECT_EQ((*kinds)[0].more, "C");
  EXPECT_EQ((*kinds)[1].then, HostileKind::Then::kSaysOnce);
  EXPECT_EQ((*kinds)[1].more, std::string("\0\xff", 2));
  EXPECT_EQ((*kinds)[2].then, HostileKind::Then::kHalfCloses);
}

TEST(HostileLoad, OtherLinesAreRefused) {
  for (const char* text : {"", "loud 41 -\n", "trickles 4 -\n", "trickles 4x -\n", "trickles\n"}) {
    std::istringstream lines(text);
    EXPECT_FALSE(ParseHostileKinds(lines).has_value()) << text;
  }
}

// A server that accepts and takes what comes.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(fd_, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    listen(fd_, 8);
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~Listener() { close(fd_); }
  int Accept() const { return accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC); }
  const std::string& endpoint() const { return endpoint_; }

 private:
  int fd_;
  std::string endpoint_;
};

std::string ReadBytes(int fd, std::size_t count) {
  std::string bytes(count, '\0');
  bytes.resize(
      static_cast<std::size_t>(std::max<ssize_t>(recv(fd, bytes.data(), count, MSG_WAITALL), 0)));
  return bytes;
}

TEST(HostileLoad, AConnectionTricklesAndIsOpenedAgainWhenItEnds) {
  const Listener listener;
  std::array<int, 2> stop{};
  ASSERT_EQ(pipe(stop.data()), 0);
  HostileOptions options;
  options.endpoint = listener.endpoint();
  options.kinds = {{.first = "GET", .then = HostileKind::Then::kTrickles, .more = "ab"}};
  options.connections = 1;
  options.trickle_seconds = 0.01;
  bool all_open = false;
  HostileReport report;
  std::thread attack([&] {
    const auto done = RunHostile(options, stop[0], [&] { all_open = true; });
    if (done.has_value()) report = *done;
  });
  const int first = listener.Accept();
  EXPECT_EQ(ReadBytes(first, 7), "GETabab");
  close(first);
  const int second = listener.Accept();
  EXPECT_EQ(ReadBytes(second, 4), "GETa");
  close(stop[1]);
  attack.join();
  close(stop[0]);
  close(second);
  EXPECT_TRUE(all_open);
  EXPECT_EQ(report.opened, 2U);
  EXPECT_EQ(report.ended, 1U);
}

}  // namespace
}  // namespace kvorum::bench
