// Connections of one client address: counted, refused with an answer past the limit, counted down
// at each kind of end.
#include "rpc/server/address_limit.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "tests/rpc/http2_client.h"
#include "tests/rpc/test_server.h"

namespace kvorum::rpc {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;
using Verdict = AddressLimit::Verdict;

constexpr std::string_view kGet = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kRefused =
    "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n"
    "Connection: close\r\n\r\ntoo many\n";
constexpr std::uint32_t kMost = 3;

TEST(AddressLimitTest, PlacesOfAnAddressEndAndBeginAgain) {
  AddressLimit limit(2);
  auto first = limit.Take("10.0.0.1:5");
  auto second = limit.Take("10.0.0.1:6");
  EXPECT_EQ(first.verdict(), Verdict::kServe);
  EXPECT_EQ(second.verdict(), Verdict::kServe);
  EXPECT_EQ(limit.Take("10.0.0.1:7").verdict(), Verdict::kRefuse);
  first.GiveBack();
  first.GiveBack();  // nothing more
  auto third = limit.Take("10.0.0.1:8");
  EXPECT_EQ(third.verdict(), Verdict::kServe);
  EXPECT_EQ(limit.Take("10.0.0.1:9").verdict(), Verdict::kRefuse);
}

TEST(AddressLimitTest, AddressesAreCountedApartAndForgotten) {
  AddressLimit limit(1);
  {
    std::vector<AddressLimit::Place> places;
    for (const char* peer : {"10.0.0.1:5", "10.0.0.11:5", "[::1]:5", "[::11]:5", "[fe80::1]:5"}) {
      places.push_back(limit.Take(peer));
      EXPECT_EQ(places.back().verdict(), Verdict::kServe) << peer;
      EXPECT_EQ(limit.Take(peer).verdict(), Verdict::kRefuse) << peer;
    }
    EXPECT_EQ(limit.addresses(), 5U);
  }
  EXPECT_EQ(limit.addresses(), 0U);
}

TEST(AddressLimitTest, RefusedOnesHaveABoundOfTheirOwn) {
  AddressLimit limit(1);
  const auto served = limit.Take("10.0.0.1:1");
  std::vector<AddressLimit::Place> refused;
  for (std::uint32_t i = 0; i < AddressLimit::kMostRefused; ++i) {
    refused.push_back(limit.Take("10.0.0.1:2"));
    EXPECT_EQ(refused.back().verdict(), Verdict::kRefuse);
  }
  EXPECT_EQ(limit.Take("10.0.0.1:3").verdict(), Verdict::kDrop);
  refused.pop_back();
  EXPECT_EQ(limit.Take("10.0.0.1:3").verdict(), Verdict::kRefuse);
  EXPECT_EQ(limit.Take("10.0.0.2:3").verdict(), Verdict::kServe);
}

TEST(AddressLimitTest, WithoutALimitAndOfUnixSocketsNothingIsCounted) {
  AddressLimit none(0);
  std::vector<AddressLimit::Place> places;
  for (int i = 0; i < 100; ++i) {
    places.push_back(none.Take("10.0.0.1:1"));
    EXPECT_EQ(places.back().verdict(), Verdict::kServe);
  }
  EXPECT_EQ(none.addresses(), 0U);
  AddressLimit one(1);
  const auto first = one.Take("@");
  EXPECT_EQ(one.Take("@").verdict(), Verdict::kServe);
}

TEST(AddressLimitTest, APlaceThatIsMovedIsGivenBackOnce) {
  AddressLimit limit(1);
  {
    auto first = limit.Take("10.0.0.1:1");
    AddressLimit::Place moved = std::move(first);
    first = {};
    EXPECT_EQ(limit.Take("10.0.0.1:2").verdict(), Verdict::kRefuse);
    first = std::move(moved);
  }
  EXPECT_EQ(limit.addresses(), 0U);
}

Options LimitedOptions() {
  Options options;
  options.loops = 2;
  options.max_connections_per_address = kMost;
  options.too_many_connections_text = "too many\n";
  return options;
}

class ConnectionLimitTest : public testing::Test {
 protected:
  explicit ConnectionLimitTest(Options options = LimitedOptions()) : server_(std::move(options)) {}

  std::unique_ptr<RawSocket> Connect() const { return std::make_unique<RawSocket>(server_.port()); }
  // So many connections that are served.
  std::vector<std::unique_ptr<RawSocket>> Fill() const {
    std::vector<std::unique_ptr<RawSocket>> served;
    for (std::uint32_t i = 0; i < kMost; ++i) {
      served.push_back(Connect());
      served.back()->Send(kGet);
      EXPECT_THAT(served.back()->Receive(), StartsWith("HTTP/1.1 200 OK\r\n"));
    }
    return served;
  }
  std::uint64_t open() { return server_.server().stats().open_connections; }
  // Every place is free again, and no more than there were.
  void ExpectAllFree() {
    EXPECT_TRUE(Eventually([&] { return open() == 0; }));
    {
      const auto served = Fill();
      EXPECT_EQ(Connect()->ReceiveAll(), kRefused);
    }
    EXPECT_TRUE(Eventually([&] { return open() == 0; }));
  }

  TestServer server_;
};

TEST_F(ConnectionLimitTest, TheNextConnectionIsRefusedWithAnAnswerAndClosed) {
  auto served = Fill();
  {
    RawSocket silent(server_.port());
    EXPECT_EQ(silent.ReceiveAll(), kRefused);
    RawSocket asking(server_.port());
    asking.Send(kGet);
    EXPECT_EQ(asking.ReceiveAll(), kRefused);
  }
  EXPECT_EQ(server_.server().stats().refused_connections, 2U);
  // The others go on.
  served.front()->Send(kGet);
  EXPECT_THAT(served.front()->Receive(), StartsWith("HTTP/1.1 200 OK\r\n"));
  served.pop_back();
  EXPECT_TRUE(Eventually([&] { return open() == kMost - 1; }));
  RawSocket next(server_.port());
  next.Send(kGet);
  EXPECT_THAT(next.Receive(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(ConnectionLimitTest, EveryKindOfEndFreesThePlace) {
  const std::vector<std::function<void(RawSocket&)>> ends{
      [](RawSocket&) {},
      [](RawSocket& socket) { socket.Abort(); },
      [](RawSocket& socket) {
        socket.CloseWriting();
        (void)socket.ReceiveAll();
      },
      [](RawSocket& socket) {
        socket.Send("nonsense\r\n\r\n");
        EXPECT_THAT(socket.ReceiveAll(), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
      },
      [](RawSocket& socket) {
        socket.Send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        EXPECT_THAT(socket.ReceiveAll(), EndsWith("{\"health\":\"true\"}"));
      },
      // In the middle of a request, and while it is handled.
      [](RawSocket& socket) { socket.Send("POST /echo HTTP/1.1\r\nHost:"); },
      [](RawSocket& socket) {
        socket.Send("GET /waits HTTP/1.1\r\nHost: a\r\n\r\n");
        socket.Abort();
      },
  };
  for (std::size_t i = 0; i < ends.size(); ++i) {
    SCOPED_TRACE(i);
    for (const auto& socket : Fill()) ends[i](*socket);
    ExpectAllFree();
  }
}

TEST_F(ConnectionLimitTest, ConnectionsThatTheServerEndsFreeTheirPlaces) {
  Options options = LimitedOptions();
  options.handshake_timeout = std::chrono::milliseconds(50);
  options.http_idle_timeout = std::chrono::milliseconds(50);
  TestServer server(options);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<RawSocket>> silent;
    for (std::uint32_t i = 0; i < kMost; ++i)
      silent.push_back(std::make_unique<RawSocket>(server.port()));
    for (const auto& socket : silent) EXPECT_EQ(socket->ReceiveAll(), "") << round;
    EXPECT_TRUE(Eventually([&] { return server.server().stats().open_connections == 0; }));
  }
  EXPECT_EQ(server.server().stats().refused_connections, 0U);
}

TEST_F(ConnectionLimitTest, AFloodOfOneAddressStaysBoundedAndTheServedOnesGoOn) {
  const auto served = Fill();
  std::vector<std::unique_ptr<RawSocket>> flood;
  for (int i = 0; i < 200; ++i) flood.push_back(Connect());
  // Those that are not answered any more are closed at once.
  EXPECT_TRUE(Eventually([&] {
    return server_.server().stats().refused_connections == flood.size() &&
           open() <= kMost + AddressLimit::kMostRefused;
  }));
  served.back()->Send(kGet);
  EXPECT_THAT(served.back()->Receive(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

// A connection to 127.0.0.1 by a socket of IPv6 ("::ffff:127.0.0.1"), or to ::1.
FileDescriptor ConnectV6(const char* address, std::uint16_t port) {
  FileDescriptor fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(port);
  inet_pton(AF_INET6, address, &to.sin6_addr);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) fd.Close();
  return fd;
}

std::string FirstLine(const FileDescriptor& fd) {
  EXPECT_EQ(write(fd.get(), kGet.data(), kGet.size()), static_cast<ssize_t>(kGet.size()));
  std::string answer(4096, '\0');
  const ssize_t size = read(fd.get(), answer.data(), answer.size());
  answer.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return answer.substr(0, answer.find('\r'));
}

TEST_F(ConnectionLimitTest, AnIpv4AddressIsTheSameOverBothFamilies) {
  const auto both = server_.server().Listen("", 0);
  ASSERT_TRUE(both.has_value());
  if (!both->starts_with("[")) GTEST_SKIP() << "this machine has no IPv6";
  const auto port = static_cast<std::uint16_t>(std::stoi(both->substr(both->rfind(':') + 1)));
  const auto served = Fill();  // by 127.0.0.1, at the other listener of this server
  EXPECT_EQ(FirstLine(ConnectV6("::ffff:127.0.0.1", port)), "HTTP/1.1 429 Too Many Requests");
  EXPECT_EQ(FirstLine(ConnectV6("::1", port)), "HTTP/1.1 200 OK");
}

}  // namespace
}  // namespace kvorum::rpc
