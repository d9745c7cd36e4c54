// The failpoints' terms, registry and HTTP control.
#include "base/failpoint/failpoint.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "base/failpoint/failpoint_control.h"
#include "base/failpoint/failpoint_term.h"
#include "tests/eventually.h"

namespace kvorum::failpoint {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// --- terms -------------------------------------------------------------------------------------

TEST(FailpointTermTest, ReadsActionsWithTheirValues) {
  EXPECT_EQ(ParseTerm("off")->front().action, Action::kOff);
  EXPECT_EQ(ParseTerm("panic")->front().action, Action::kPanic);
  EXPECT_EQ(ParseTerm("panic(\"why\")")->front().action, Action::kPanic);
  EXPECT_EQ(ParseTerm("print")->front().action, Action::kPrint);
  EXPECT_EQ(ParseTerm("return")->front().value, "");
  EXPECT_EQ(ParseTerm("return()")->front().value, "");
  EXPECT_EQ(ParseTerm("return(42)")->front().value, "42");
  EXPECT_EQ(ParseTerm("return(true)")->front().value, "true");
  EXPECT_EQ(ParseTerm(R"(return("a \"b\" ) -> c"))")->front().value, "a \"b\" ) -> c");
  EXPECT_EQ(ParseTerm("sleep(100)")->front().duration, std::chrono::milliseconds(100));
  EXPECT_EQ(ParseTerm("sleep(\"1.5s\")")->front().duration, std::chrono::milliseconds(1500));
  EXPECT_EQ(ParseTerm("sleep(\"1m2s3ms4us5ns\")")->front().duration,
            std::chrono::nanoseconds(62'003'004'005));
}

TEST(FailpointTermTest, ReadsModifiersAndChains) {
  const Result<Term> term = ParseTerm("25.0%return(1)->3*sleep(1)->0.5%2*print->off");
  ASSERT_TRUE(term.has_value()) << term.error().message;
  ASSERT_EQ(term->size(), 4u);
  EXPECT_EQ((*term)[0].percent, 25.0);
  EXPECT_EQ((*term)[0].times_left, std::nullopt);
  EXPECT_EQ((*term)[1].times_left, 3u);
  EXPECT_EQ((*term)[2].percent, 0.5);
  EXPECT_EQ((*term)[2].times_left, 2u);
  EXPECT_EQ((*term)[3].action, Action::kOff);
}

TEST(FailpointTermTest, RefusesNonsense) {
  for (const char* text : {"",
                           "nothing",
                           "return(",
                           "return(\"x)",
                           "sleep",
                           "sleep()",
                           "sleep(soon)",
                           "sleep(\"10\")",
                           "sleep(\"10y\")",
                           "sleep(-1)",
                           "sleep(\"99999h\")",
                           "25return",
                           "25.5*off",
                           "%off",
                           "101%off",
                           "off->",
                           "->off",
                           "off off",
                           "3**off",
                           "-1*off",
                           "return(1)x",
                           "sleep(1e300)",
                           "99999999999999999999*off"}) {
    const Result<Term> term = ParseTerm(text);
    ASSERT_FALSE(term.has_value()) << text;
    EXPECT_EQ(term.error().code, Code::kInvalidArgument);
  }
}

TEST(FailpointTermTest, TheFirstPartThatMayActs) {
  Rng rng(1);
  Term term = *ParseTerm("2*return(a)->1*return(b)->off");
  EXPECT_EQ(Choose(term, rng)->value, "a");
  EXPECT_EQ(Choose(term, rng)->value, "a");
  EXPECT_EQ(Choose(term, rng)->value, "b");
  EXPECT_EQ(Choose(term, rng)->action, Action::kOff);
  EXPECT_EQ(Choose(term, rng)->action, Action::kOff);
  Term once = *ParseTerm("1*print");
  EXPECT_NE(Choose(once, rng), nullptr);
  EXPECT_EQ(Choose(once, rng), nullptr);
}

TEST(FailpointTermTest, APercentageIsAsOftenAsItSays) {
  Rng rng(2);
  Term term = *ParseTerm("25.0%print");
  int acted = 0;
  for (int i = 0; i < 10'000; ++i) acted += Choose(term, rng) != nullptr ? 1 : 0;
  EXPECT_GT(acted, 2200);
  EXPECT_LT(acted, 2800);
  Term never = *ParseTerm("0%panic");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Choose(never, rng), nullptr);
}

// --- points ------------------------------------------------------------------------------------

std::string ReachPoint() {
  KV_FAILPOINT_RETURN("testReturn", value) { return value; }
  return "not set";
}

void NeverReached() { KV_FAILPOINT("testNeverReached"); }

class FailpointTest : public testing::Test {
 protected:
  void TearDown() override { ClearAll(); }
};

TEST_F(FailpointTest, APointIsKnownBeforeItIsReached) {
  static_cast<void>(&NeverReached);
  EXPECT_TRUE(Set("testNeverReached", "panic").has_value());
  EXPECT_EQ(Get("testNeverReached").value(), "panic");
}

TEST_F(FailpointTest, ReturnsWhatItIsSetTo) {
  EXPECT_EQ(ReachPoint(), "not set");
  ASSERT_TRUE(Set("testReturn", "1*return(\"hello\")").has_value());
  EXPECT_EQ(ReachPoint(), "hello");
  EXPECT_EQ(ReachPoint(), "not set");
  EXPECT_EQ(Count("testReturn").value(), 1u);
  ASSERT_TRUE(Set("testReturn", "off").has_value());
  EXPECT_EQ(ReachPoint(), "not set");
  EXPECT_EQ(Count("testReturn").value(), 0u);
}

// A name that no code passes would be set in vain. This program has these two.
TEST_F(FailpointTest, ListsThePointsOfTheProgramAndNoOtherNames) {
  std::vector<std::string> names;
  for (const auto& [name, term] : List()) {
    names.push_back(name);
    EXPECT_EQ(term, "");
  }
  EXPECT_THAT(names, testing::ElementsAre("testNeverReached", "testReturn"));
}

TEST_F(FailpointTest, APointWithoutAnErrorRefusesToReturn) {
  for (const char* term : {"return", "return(\"x\")", "1*sleep(1)->50.0%return(1)"}) {
    const Result<void> set = Set("testNeverReached", term);
    ASSERT_FALSE(set.has_value()) << term;
    EXPECT_EQ(set.error().code, Code::kInvalidArgument);
    EXPECT_FALSE(SetAll("testReturn=print;testNeverReached=" + std::string(term)).has_value());
    EXPECT_EQ(Get("testReturn").value(), "") << "none of them";
  }
  EXPECT_EQ(Get("testNeverReached").value(), "");
}

TEST_F(FailpointTest, RefusesUnknownNamesAndBadTerms) {
  EXPECT_EQ(Set("noSuchPoint", "off").error().code, Code::kNotFound);
  EXPECT_EQ(Set("testReturn", "explode").error().code, Code::kInvalidArgument);
  EXPECT_EQ(Clear("noSuchPoint").error().code, Code::kNotFound);
  EXPECT_EQ(Count("noSuchPoint").error().code, Code::kNotFound);
}

TEST_F(FailpointTest, SeveralAreSetAllOrNone) {
  EXPECT_TRUE(SetAll("testReturn=return(\"a;b=c\");testNeverReached=sleep(1);").has_value());
  EXPECT_EQ(ReachPoint(), "a;b=c");
  EXPECT_EQ(Get("testNeverReached").value(), "sleep(1)");
  EXPECT_FALSE(SetAll("testReturn=return(x);testNeverReached=bad").has_value());
  EXPECT_FALSE(SetAll("testReturn=return(x);noSuchPoint=off").has_value());
  EXPECT_FALSE(SetAll("testReturn").has_value());
  EXPECT_EQ(ReachPoint(), "a;b=c");
}

TEST(FailpointDeathTest, APanicAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        static_cast<void>(Set("testReturn", "panic"));
        ReachPoint();
      },
      "failpoint panic.*testReturn");
}

// --- HTTP --------------------------------------------------------------------------------------

class FailpointHttpTest : public FailpointTest {
 protected:
  void SetUp() override {
    auto started = ControlServer::Start("127.0.0.1:0");
    ASSERT_TRUE(started.has_value()) << started.error().message;
    server_ = std::move(*started);
    ASSERT_NE(server_->port(), 0);
  }
  int Connect() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  static std::string Exchange(int fd, const std::string& request) {
    EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string answer;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
      answer.append(buffer, static_cast<std::size_t>(n));
    }
    ::close(fd);
    return answer;
  }
  std::string Ask(const std::string& method, const std::string& path,
                  const std::string& body = "") {
    return Exchange(Connect(), method + " " + path +
                                   " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                                   std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  std::unique_ptr<ControlServer> server_;
};

TEST_F(FailpointHttpTest, SetsListsCountsAndClears) {
  EXPECT_THAT(Ask("PUT", "/testReturn", "2*return(\"hi\")"), StartsWith("HTTP/1.1 204 "));
  EXPECT_EQ(ReachPoint(), "hi");
  EXPECT_THAT(Ask("GET", "/"), HasSubstr("\ntestReturn=2*return(\"hi\")\n"));
  EXPECT_THAT(Ask("GET", "/"), HasSubstr("\ntestNeverReached=\n"));
  EXPECT_THAT(Ask("GET", "/testReturn"), HasSubstr("\r\n\r\n2*return(\"hi\")\n"));
  EXPECT_THAT(Ask("GET", "/testReturn/count"), testing::EndsWith("\r\n\r\n1"));
  EXPECT_THAT(Ask("DELETE", "/testReturn"), StartsWith("HTTP/1.1 204 "));
  EXPECT_EQ(ReachPoint(), "not set");
  EXPECT_THAT(Ask("PUT", "/failpoints", "testReturn=return(x);testNeverReached=sleep(1)\n"),
              StartsWith("HTTP/1.1 204 "));
  EXPECT_EQ(ReachPoint(), "x");
}

TEST_F(FailpointHttpTest, AnswersMistakesWithTheirStatus) {
  EXPECT_THAT(Ask("PUT", "/noSuchPoint", "off"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("GET", "/noSuchPoint/count"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("DELETE", "/noSuchPoint"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("PUT", "/testReturn", "explode"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("PUT", "/failpoints", "testReturn=explode"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("POST", "/testReturn", "off"), StartsWith("HTTP/1.1 405 "));
}

TEST_F(FailpointHttpTest, AnswersWhileAPointSleeps) {
  ASSERT_TRUE(Set("testReturn", "1*sleep(\"400ms\")").has_value());
  const auto begin = std::chrono::steady_clock::now();
  std::future<std::string> reached = std::async(std::launch::async, ReachPoint);
  EXPECT_TRUE(Eventually([] { return Count("testReturn").value() != 0; }));
  EXPECT_THAT(Ask("GET", "/testReturn/count"), testing::EndsWith("1"));
  EXPECT_THAT(Ask("PUT", "/testReturn", "off"), StartsWith("HTTP/1.1 204 "));
  EXPECT_EQ(reached.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(reached.get(), "not set");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(400));
}

TEST_F(FailpointHttpTest, AClientThatStallsOrSendsNonsenseStopsNobodyForLong) {
  const int silent = Connect();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(Ask("GET", "/"), StartsWith("HTTP/1.1 200 "));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  ::close(silent);
  EXPECT_EQ(Exchange(Connect(), "nonsense\r\n\r\n"), "");
  EXPECT_EQ(Exchange(Connect(), "PUT /testReturn HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"),
            "");
  EXPECT_EQ(Exchange(Connect(), "PUT /testReturn HTTP/1.1\r\nContent-Length: 3x\r\n\r\noff"), "");
  EXPECT_THAT(Ask("GET", "/"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(FailpointHttpTest, TakesABodyThatWaitsForItsWelcome) {
  EXPECT_THAT(Exchange(Connect(),
                       "PUT /testReturn HTTP/1.1\r\nExpect: 100-continue\r\n"
                       "content-length: 3\r\n\r\noff"),
              StartsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 "));
}

TEST(FailpointHttpDeathTest, APanicWaitsForTheAnswerThatSetIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        auto pending = std::make_unique<AnswerPending>();
        static_cast<void>(Set("testReturn", "panic"));
        std::thread reacher([] { ReachPoint(); });
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        ::write(STDERR_FILENO, "answered ", 9);
        pending.reset();
        reacher.join();
      },
      "answered .*failpoint panic");
}

TEST(FailpointEnvironmentTest, StartsAsTheEnvironmentSays) {
  ::setenv("GOFAIL_FAILPOINTS", "testReturn=return(env)", 1);
  ::setenv("GOFAIL_HTTP", "no-port", 1);
  EXPECT_EQ(StartFromEnvironment().error().code, Code::kInvalidArgument);
  EXPECT_EQ(ReachPoint(), "env");
  ::setenv("GOFAIL_HTTP", "127.0.0.1:0", 1);
  EXPECT_TRUE(StartFromEnvironment().has_value());
  ::setenv("GOFAIL_FAILPOINTS", "noSuchPoint=off", 1);
  EXPECT_EQ(StartFromEnvironment().error().code, Code::kNotFound);
  ClearAll();
}

}  // namespace
}  // namespace kvorum::failpoint
