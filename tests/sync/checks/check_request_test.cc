// The requests of http checks, and the words of checks with details.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sync/agent/check_machine.h"
#include "sync/agent/registry.h"
#include "sync/checks/system_prober.h"
#include "tests/manual_clock.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

// Answers the first request, of so many bytes behind its head, with the text.
class OneRequest {
 public:
  OneRequest(std::size_t body_bytes, std::string answer)
      : acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}),
        thread_([this, body_bytes, answer = std::move(answer)] {
          tcp::socket socket(io_);
          boost::system::error_code error;
          acceptor_.accept(socket, error);
          if (error) return;
          const auto buffer = boost::asio::dynamic_buffer(request_);
          const std::size_t head = boost::asio::read_until(socket, buffer, "\r\n\r\n", error);
          while (!error && request_.size() < head + body_bytes) {
            std::string more(body_bytes, '\0');
            more.resize(socket.read_some(boost::asio::buffer(more), error));
            request_ += more;
          }
          boost::asio::write(socket, boost::asio::buffer(answer), error);
          std::string rest(1, '\0');
          while (!error) socket.read_some(boost::asio::buffer(rest), error);
        }) {}
  ~OneRequest() {
    if (thread_.joinable()) thread_.join();
  }
  OneRequest(const OneRequest&) = delete;
  OneRequest& operator=(const OneRequest&) = delete;

  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  // Once the probe has ended.
  const std::string& request() {
    thread_.join();
    return request_;
  }

 private:
  boost::asio::io_context io_;
  tcp::acceptor acceptor_;
  std::string request_;
  std::thread thread_;
};

ProbeResult AskOnce(const CheckDefinition& check) {
  std::promise<ProbeResult> result;
  SystemProber prober;
  prober.Begin(check, [&](ProbeResult ended) { result.set_value(std::move(ended)); });
  return result.get_future().get();
}

CheckDefinition CheckOf(const OneRequest& server) {
  return {.id = "up", .kind = CheckKind::kHttp, .target = "http://" + server.address() + "/h?x=1"};
}

const std::string kOk = "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nup";

TEST(SyncCheckRequest, APlainCheckAsksAsBefore) {
  OneRequest server(0, kOk);
  EXPECT_EQ(AskOnce(CheckOf(server)).output, "HTTP 200\nup");
  EXPECT_EQ(server.request(), "GET /h?x=1 HTTP/1.1\r\nHost: " + server.address() +
                                  "\r\nUser-Agent: kvorum-check\r\nConnection: close\r\n\r\n");
}

TEST(SyncCheckRequest, MethodHeadersAndBodyAreTheChecks) {
  OneRequest server(5, kOk);
  CheckDefinition check = CheckOf(server);
  check.method = "POST";
  check.headers = {{"X-A", {"1", "2"}}, {"host", {"web"}}, {"Content-Length", {"99"}}};
  check.body = std::string("\0body", 5);
  EXPECT_EQ(AskOnce(check).health, Health::kPassing);
  EXPECT_EQ(server.request(),
            "POST /h?x=1 HTTP/1.1\r\nUser-Agent: kvorum-check\r\nX-A: 1\r\nX-A: 2\r\nhost: web\r\n"
            "Content-Length: 5\r\nConnection: close\r\n\r\n" +
                check.body);
}

TEST(SyncCheckRequest, AnAnswerToHeadHasNoBody) {
  OneRequest server(0, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
  CheckDefinition check = CheckOf(server);
  check.method = "HEAD";
  EXPECT_EQ(AskOnce(check), (ProbeResult{.health = Health::kPassing, .output = "HTTP 200\n"}));
}

TEST(SyncCheckRequest, ACheckWithDetailsSpeaksAsConsulsDo) {
  OneRequest server(0, kOk);
  CheckDefinition check = CheckOf(server);
  check.details = "{}";
  EXPECT_EQ(AskOnce(check).output, "HTTP GET " + check.target + ": 200 Fine Output: up");
  EXPECT_EQ(server.request(), "GET /h?x=1 HTTP/1.1\r\nHost: " + server.address() +
                                  "\r\nUser-Agent: Consul Health Check\r\n"
                                  "Accept: text/plain, text/*, */*\r\nConnection: close\r\n\r\n");
  const OneRequest other(0, "");
  const CheckDefinition tcp_check = {
      .id = "up", .kind = CheckKind::kTcp, .target = other.address(), .details = "{}"};
  EXPECT_EQ(AskOnce(tcp_check).output, "TCP connect " + other.address() + ": Success");
  const CheckDefinition script = {.id = "up",
                                  .kind = CheckKind::kExec,
                                  .command = {"/bin/sh", "-c", "echo begun; sleep 60"},
                                  .timeout = 300ms,
                                  .details = "{}"};
  EXPECT_EQ(AskOnce(script).output, "Timed out (300ms) running check\nbegun\n");
}

TEST(SyncCheckRequest, AnOutputIsAsLongAsTheCheckSays) {
  OneRequest server(0, kOk);
  CheckDefinition http = CheckOf(server);
  http.output_max_bytes = 1;
  EXPECT_EQ(AskOnce(http).output, "HTTP 200\nu");
  OneRequest other(0, kOk);
  http = CheckOf(other);
  http.output_max_bytes = 1;
  http.details = "{}";
  EXPECT_EQ(AskOnce(http).output, "HTTP GET " + http.target + ": 200 Fine Output: u");
  CheckDefinition script = {.id = "up",
                            .kind = CheckKind::kExec,
                            .command = {"/bin/sh", "-c", "echo 0123456789"},
                            .output_max_bytes = 4};
  EXPECT_EQ(AskOnce(script).output, "0123");
  script.details = "{}";
  EXPECT_EQ(AskOnce(script).output, "Captured 4 of 11 bytes\n...\n789\n");
  script.output_max_bytes = 11;
  EXPECT_EQ(AskOnce(script).output, "0123456789\n");
}

// In Consul's words, and with the end, which tells what went wrong.
TEST(SyncCheckRequest, OfALongOutputOfAScriptTheEndIsKept) {
  const CheckDefinition script = {
      .id = "up",
      .kind = CheckKind::kExec,
      .command = {"/bin/sh", "-c", "i=0; while [ $i -lt 9999 ]; do i=$((i+1)); echo line $i; done"},
      .timeout = 60s,
      .details = "{}"};
  const ProbeResult result = AskOnce(script);
  EXPECT_EQ(result.health, Health::kPassing);
  EXPECT_THAT(result.output, StartsWith("Captured 4096 of 98883 bytes\n...\n"));
  EXPECT_THAT(result.output, EndsWith("line 9998\nline 9999\n"));
  EXPECT_LE(result.output.size(), kMaxCutOutputBytes);
}

TEST(SyncCheckRequest, WhatWouldBreakARequestIsRefused) {
  const auto why = [](const CheckDefinition& check) {
    const auto valid =
        ValidateEntry({.id = "a", .name = "web", .value = "", .checks = {{.definition = check}}});
    return valid ? std::string() : valid.error().message;
  };
  CheckDefinition check{.id = "c", .kind = CheckKind::kHttp, .target = "http://x/"};
  check.method = "GET /";
  EXPECT_EQ(why(check), "entry a: check c: its method is not a word");
  check.method = "";
  check.headers = {{"A b", {"1"}}};
  EXPECT_EQ(why(check), "entry a: check c: the name of a header is not a word");
  for (const char* value : {"1\r\nB: 2", "1\n", "\x7f"}) {
    check.headers = {{"A", {value}}};
    EXPECT_EQ(why(check), "entry a: check c: a header has a control character");
  }
  check.headers = {{"A", {"1\t2"}}};
  EXPECT_EQ(why(check), "");
  check.body = std::string(kMaxRecordBytes + 1, 'x');
  EXPECT_EQ(why(check), "entry a: its record is larger than 262144 bytes");
}

TEST(SyncCheckWords, FailuresAreAWarningBeforeTheyAreCritical) {
  Rng rng(3);
  const ManualClock clock;
  const CheckDefinition definition = {.id = "up",
                                      .kind = CheckKind::kTcp,
                                      .target = "127.0.0.1:1",
                                      .failures_before_critical = 4,
                                      .failures_before_warning = 2};
  CheckMachine machine({.definition = definition, .health = Health::kPassing}, clock, rng);
  std::vector<Health> says;
  using enum Health;
  for (const Health health :
       {kCritical, kCritical, kCritical, kCritical, kCritical, kPassing, kCritical, kCritical})
    says.push_back(machine.ProbeEnded({.health = health}, clock.Now()).health);
  EXPECT_THAT(says, ElementsAre(kPassing, kWarning, kWarning, kCritical, kCritical, kPassing,
                                kPassing, kWarning));
}

TEST(SyncCheckWords, ATtlCheckWithDetailsRepeatsWhatWasSaidLast) {
  Rng rng(3);
  const ManualClock clock;
  const TimePoint now = clock.Now();
  const CheckDefinition definition = {.id = "ttl", .interval = 10s, .details = "{}"};
  CheckMachine machine({.definition = definition, .health = Health::kPassing}, clock, rng);
  EXPECT_EQ(machine.TakeExpired(now + 10s)->output, "TTL expired");
  machine.Reported(Health::kPassing, now + 11s, "all\x01 fine");
  EXPECT_EQ(machine.TakeExpired(now + 21s)->output,
            "TTL expired (last output before timeout follows): all  fine");
  Check check{.definition = definition,
              .health = Health::kPassing,
              .output = "fine",
              .reported_unix_ns = 1};
  ExpireTtl(check, 20'000'000'000);
  EXPECT_EQ(check.output, "TTL expired (last output before timeout follows): fine");
}

}  // namespace
}  // namespace kvorum::sync
