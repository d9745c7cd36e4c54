// The answers over sockets: UDP, TCP, and the bounds of connections.
#include "dns/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/dns/dns_client.h"
#include "tests/dns/fake_directory.h"
#include "tests/eventually.h"

namespace kvorum::dns {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class DnsServer : public testing::Test {
 protected:
  DnsServer() {
    directory_.Add("web", "10.0.0.1:80");
    for (int i = 0; i < 200; ++i) directory_.Add("many", "10.0.1." + std::to_string(i));
    Listen({});
  }
  void Listen(const ServerLimits& limits) {
    server_ = Server::Open("127.0.0.1:0", directory_, limits, &metrics_).value();
    const std::string address = server_->address();
    port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }

  std::string OverUdp(const std::string& packet) {
    udp::socket socket(io_, udp::v4());
    socket.send_to(asio::buffer(packet), {asio::ip::address_v4::loopback(), port_});
    std::string reply(4096, '\0');
    udp::endpoint from;
    reply.resize(socket.receive_from(asio::buffer(reply), from));
    return reply;
  }
  // From 127.0.0.`host`, another one for each sixteen.
  tcp::socket Connect(unsigned host = 1) {
    tcp::socket socket(io_, tcp::v4());
    socket.bind({asio::ip::make_address_v4(0x7f000000U + host), 0});
    socket.connect({asio::ip::address_v4::loopback(), port_});
    return socket;
  }
  static std::string Exchange(tcp::socket& socket, const std::string& packet) {
    boost::system::error_code error;
    asio::write(socket, asio::buffer(Bytes16(static_cast<unsigned>(packet.size())) + packet),
                error);
    std::string length(2, '\0');
    asio::read(socket, asio::buffer(length), error);
    if (error) return "";
    std::string reply(
        static_cast<std::size_t>(ns_get16(reinterpret_cast<const std::uint8_t*>(length.data()))),
        '\0');
    asio::read(socket, asio::buffer(reply), error);
    return error ? "" : reply;
  }
  // It has closed the connection, sooner or later.
  static bool IsClosed(tcp::socket& socket) {
    char byte = 0;
    boost::system::error_code error;
    asio::read(socket, asio::buffer(&byte, 1), error);
    return static_cast<bool>(error);
  }

  FakeDirectory directory_;
  sync::Metrics metrics_;
  std::unique_ptr<Server> server_;
  asio::io_context io_;
  std::uint16_t port_ = 0;
};

TEST_F(DnsServer, AnswersOverUdpAndAfterRubbish) {
  udp::socket socket(io_, udp::v4());
  for (const std::string& rubbish : {std::string(), std::string("x"), std::string(9000, '\xff')})
    socket.send_to(asio::buffer(rubbish), {asio::ip::address_v4::loopback(), port_});
  EXPECT_THAT(Read(OverUdp(PacketOf({.name = "web.service.kvorum"}))).answers,
              ElementsAre("web.service.kvorum 0 A 10.0.0.1"));
}

TEST_F(DnsServer, ATruncatedAnswerIsWholeOverTcp) {
  const std::string packet = PacketOf({.name = "many.service.kvorum"});
  EXPECT_TRUE(Read(OverUdp(packet)).is_truncated);
  tcp::socket socket = Connect();
  EXPECT_THAT(Read(Exchange(socket, packet)).answers, SizeIs(200));
  EXPECT_THAT(Read(Exchange(socket, packet)).answers, SizeIs(200));  // and again
}

TEST_F(DnsServer, AConnectionEndsAfterAHundredQuestions) {
  tcp::socket socket = Connect();
  const std::string packet = PacketOf({.name = "web.service.kvorum"});
  for (int i = 0; i < 100; ++i) ASSERT_NE(Exchange(socket, packet), "");
  EXPECT_TRUE(IsClosed(socket));
}

TEST_F(DnsServer, AConnectionWithRubbishIsClosed) {
  for (const std::string& rubbish : {Bytes16(0), Bytes16(4097), Bytes16(3) + "abc"}) {
    tcp::socket socket = Connect();
    asio::write(socket, asio::buffer(rubbish));
    EXPECT_TRUE(IsClosed(socket));
  }
}

TEST_F(DnsServer, ASilentConnectionIsClosedInTime) {
  Listen({.patience = std::chrono::milliseconds(50)});
  tcp::socket socket = Connect();
  asio::write(socket, asio::buffer(Bytes16(40) + "half"));
  EXPECT_TRUE(IsClosed(socket));
}

TEST_F(DnsServer, TheSixtyFifthConnectionIsClosedAndUdpGoesOn) {
  std::vector<tcp::socket> held;
  const std::string packet = PacketOf({.name = "web.service.kvorum"});
  for (unsigned i = 0; i < 64; ++i) {
    held.push_back(Connect(1 + i / 16));
    ASSERT_NE(Exchange(held.back(), packet), "");
  }
  tcp::socket one_more = Connect(9);
  EXPECT_TRUE(IsClosed(one_more));
  EXPECT_THAT(metrics_.Text(), HasSubstr("dropped_total{reason=\"connections\"} 1\n"));
  EXPECT_NE(OverUdp(packet), "");
  held.clear();
  EXPECT_TRUE(Eventually([&] {
    tcp::socket socket = Connect();
    return !Exchange(socket, packet).empty();
  }));
}

TEST_F(DnsServer, OneHostDoesNotTakeAllConnections) {
  std::vector<tcp::socket> held;
  const std::string packet = PacketOf({.name = "web.service.kvorum"});
  for (int i = 0; i < 16; ++i) {
    held.push_back(Connect(2));
    ASSERT_NE(Exchange(held.back(), packet), "");
  }
  tcp::socket one_more = Connect(2);
  EXPECT_TRUE(IsClosed(one_more));
  tcp::socket other = Connect(3);
  EXPECT_NE(Exchange(other, packet), "");
  held.pop_back();
  EXPECT_TRUE(Eventually([&] {
    tcp::socket socket = Connect(2);
    return !Exchange(socket, packet).empty();
  }));
}

TEST_F(DnsServer, AStrangersQuestionGetsNoLargeAnswerWithoutACookie) {
  const std::string packet = PacketOf({.name = "many.service.kvorum", .edns_bytes = 1232});
  EXPECT_GT(OverUdp(packet).size(), 1000U) << "of this machine";
  Listen({.knows_this_machine = false});
  const std::string reply = OverUdp(packet);
  EXPECT_LE(reply.size(), 3 * packet.size());
  EXPECT_TRUE(Read(reply).is_truncated);
}

TEST_F(DnsServer, AQuestionBeyondTheRateGetsNoAnswer) {
  Listen({.questions_per_second = 1});
  const std::string packet = PacketOf({.name = "web.service.kvorum"});
  EXPECT_NE(OverUdp(packet), "");
  udp::socket socket(io_, udp::v4());
  EXPECT_TRUE(Eventually([&] {
    for (int i = 0; i < 10; ++i)
      socket.send_to(asio::buffer(packet), {asio::ip::address_v4::loopback(), port_});
    return metrics_.Text().contains("dropped_total{reason=\"rate\"}");
  }));
  tcp::socket over_tcp = Connect();
  EXPECT_NE(Exchange(over_tcp, packet), "") << "which proves its address";
}

TEST_F(DnsServer, AnAddressThatCannotBeTakenIsNamed) {
  for (const std::string address : {"", "127.0.0.1", "localhost:53", "127.0.0.1:65536", ":53"}) {
    const auto opened = Server::Open(address, directory_);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::kInvalidArgument) << address;
  }
  const auto taken = Server::Open(server_->address(), directory_);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Code::kUnavailable);
  EXPECT_THAT(taken.error().message, HasSubstr("DNS cannot listen on " + server_->address()));
  EXPECT_THAT(Server::Open("[::1]:0", directory_).value()->address(), HasSubstr("[::1]:"));
}

}  // namespace
}  // namespace kvorum::dns
