// Checks by a datagram.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "sync/checks/system_prober.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::udp;

class SyncUdpProbe : public testing::Test {
 protected:
  ProbeResult Probe(Duration timeout) {
    const CheckDefinition check{
        .id = "up", .kind = CheckKind::kUdp, .target = address_, .timeout = timeout};
    std::promise<ProbeResult> result;
    SystemProber prober;
    prober.Begin(check, [&](ProbeResult ended) { result.set_value(std::move(ended)); });
    return result.get_future().get();
  }
  ProbeResult Passing() const {
    return {.health = Health::kPassing, .output = "UDP connect " + address_ + ": Success"};
  }

  boost::asio::io_context io_;
  udp::socket socket_{io_, {boost::asio::ip::address_v4::loopback(), 0}};
  const std::string address_ = "127.0.0.1:" + std::to_string(socket_.local_endpoint().port());
};

TEST_F(SyncUdpProbe, AnAnswerPassesAtOnce) {
  std::thread server([&] {
    udp::endpoint from;
    char byte = 0;
    boost::system::error_code error;
    const std::size_t got = socket_.receive_from(boost::asio::buffer(&byte, 1), from, 0, error);
    EXPECT_EQ(got, 0U) << "the datagram is empty";
    socket_.send_to(boost::asio::buffer("x", 1), from);
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Probe(60s), Passing());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  server.join();
}

TEST_F(SyncUdpProbe, SilencePassesAfterTheTimeOut) { EXPECT_EQ(Probe(50ms), Passing()); }

TEST_F(SyncUdpProbe, APortWithoutAListenerIsCritical) {
  socket_.close();
  EXPECT_EQ(Probe(60s), (ProbeResult{.health = Health::kCritical, .output = "Connection refused"}));
}

}  // namespace
}  // namespace kvorum::sync
