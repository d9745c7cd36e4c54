// The metrics that a running command serves.
#include "tools/run/metrics_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "rpc/client/client_socket.h"
#include "sync/kernel/metrics.h"

namespace kvorum::ctl {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string AnswerTo(const std::string& address, const std::string& request) {
  const rpc::WaitLimit limit(SystemClock().Now() + std::chrono::seconds(30));
  const std::size_t colon = address.rfind(':');
  auto socket = rpc::ClientSocket::Dial({.host = address.substr(0, colon),
                                         .port = address.substr(colon + 1),
                                         .unix_path = {},
                                         .authority = {}},
                                        nullptr, limit);
  EXPECT_TRUE(socket.has_value());
  EXPECT_TRUE(socket->Write(request + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", limit));
  std::string answer;
  std::array<char, 4096> buffer;
  while (const auto count = socket->Read(buffer, limit)) {
    if (*count == 0) break;
    answer.append(buffer.data(), *count);
  }
  return answer;
}

TEST(MetricsEndpointTest, TheMetricsAreAPageAndNothingElseIs) {
  sync::Metrics metrics;
  const auto relists = metrics.Get(sync::CounterName::kSourceRelists, {"compacted"});
  relists->Add(3);
  const auto endpoint = MetricsEndpoint::Open("127.0.0.1:0", metrics).value();
  const std::string page = AnswerTo(endpoint->address(), "GET /metrics");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(page, HasSubstr("\nkvsync_source_relists_total{reason=\"compacted\"} 3\n"));
  EXPECT_THAT(AnswerTo(endpoint->address(), "GET /other"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(AnswerTo(endpoint->address(), "POST /metrics"), StartsWith("HTTP/1.1 405"));
}

TEST(MetricsEndpointTest, AddressesThatAreNoneAreNamed) {
  const sync::Metrics metrics;
  for (const char* address : {"", "x", "127.0.0.1", ":x", "127.0.0.1:99999", "h:1/path"}) {
    const auto endpoint = MetricsEndpoint::Open(address, metrics);
    ASSERT_FALSE(endpoint.has_value()) << address;
    EXPECT_EQ(endpoint.error().code, Code::kInvalidArgument) << address;
    EXPECT_THAT(endpoint.error().message, HasSubstr("is not HOST:PORT"));
  }
}

TEST(MetricsEndpointTest, AnAddressThatIsTakenIsAnError) {
  const sync::Metrics metrics;
  const auto endpoint = MetricsEndpoint::Open("127.0.0.1:0", metrics).value();
  EXPECT_THAT(MetricsEndpoint::Open(endpoint->address(), metrics).error().message,
              HasSubstr("address already in use"));
}

}  // namespace
}  // namespace kvorum::ctl
