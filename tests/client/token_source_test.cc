#include "client/token_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace kvorum::client {
namespace {

using namespace std::chrono_literals;
using TimePoint = TokenSource::TimePoint;

constexpr TimePoint kNever = TimePoint::max();
const Error kWrong{Code::kInvalidArgument,
                   "etcdserver: authentication failed, invalid user ID or password"};

TEST(TokenSourceTest, ItIsWhatItWasGivenUntilItIsRenewed) {
  TokenSource tokens("old", [](TimePoint) -> Result<std::string> { return "new"; });
  EXPECT_EQ(tokens.Current().text, "old");
  ASSERT_TRUE(tokens.Renew(0, kNever));
  EXPECT_EQ(tokens.Current().text, "new");
  EXPECT_EQ(tokens.Current().generation, 1U);
}

TEST(TokenSourceTest, OfAllWhoseTokenIsRefusedOneLogsIn) {
  std::atomic<int> log_ins = 0;
  TokenSource tokens(
      "", [&](TimePoint) -> Result<std::string> { return "token " + std::to_string(++log_ins); });
  constexpr int kThreads = 16;
  std::latch all_there(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      const Token shown = tokens.Current();
      all_there.arrive_and_wait();
      EXPECT_TRUE(tokens.Renew(shown.generation, kNever));
      EXPECT_EQ(tokens.Current().text, "token 1");
    });
  threads.clear();
  EXPECT_EQ(log_ins, 1);
}

TEST(TokenSourceTest, ANewerTokenIsRenewedAgain) {
  int log_ins = 0;
  TokenSource tokens("",
                     [&](TimePoint) -> Result<std::string> { return std::to_string(++log_ins); });
  ASSERT_TRUE(tokens.Renew(0, kNever));
  ASSERT_TRUE(tokens.Renew(tokens.Current().generation, kNever));
  EXPECT_EQ(tokens.Current().text, "2");
}

TEST(TokenSourceTest, ARefusalHoldsForASecond) {
  TimePoint now;
  int log_ins = 0;
  TokenSource tokens(
      "",
      [&](TimePoint) -> Result<std::string> {
        if (++log_ins == 2) return "token";
        return Fail(kWrong);
      },
      [&] { return now; });
  EXPECT_EQ(tokens.Renew(0, kNever).error(), kWrong);
  now += 999ms;
  EXPECT_EQ(tokens.Renew(0, kNever).error(), kWrong);
  EXPECT_EQ(log_ins, 1);
  now += 1ms;
  EXPECT_TRUE(tokens.Renew(0, kNever));
  EXPECT_EQ(log_ins, 2);
}

TEST(TokenSourceTest, WhoIsNotReachedIsAskedAgain) {
  int log_ins = 0;
  TokenSource tokens("", [&](TimePoint) -> Result<std::string> {
    ++log_ins;
    if (log_ins == 1) return Fail(Code::kUnavailable, "gone");
    if (log_ins == 2) return Fail(Code::kDeadlineExceeded, "context deadline exceeded");
    return "token";
  });
  EXPECT_EQ(tokens.Renew(0, kNever).error().code, Code::kUnavailable);
  EXPECT_EQ(tokens.Renew(0, kNever).error().code, Code::kDeadlineExceeded);
  EXPECT_TRUE(tokens.Renew(0, kNever));
}

TEST(TokenSourceTest, TheDeadlineEndsTheWaitForAnothersLogIn) {
  std::latch logging_in(1);
  std::latch go_on(1);
  TokenSource tokens("", [&](TimePoint) -> Result<std::string> {
    logging_in.count_down();
    go_on.wait();
    return "token";
  });
  std::jthread other([&] { EXPECT_TRUE(tokens.Renew(0, kNever)); });
  logging_in.wait();
  EXPECT_EQ(tokens.Renew(0, TimePoint()).error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(tokens.Current().text, "");  // the old one is there to be shown meanwhile
  go_on.count_down();
}

TEST(TokenSourceTest, WhoWaitedTriesForItselfWhenTheOtherRanOutOfTime) {
  std::latch logging_in(1);
  std::latch go_on(1);
  std::atomic<int> log_ins = 0;
  TokenSource tokens("", [&](TimePoint) -> Result<std::string> {
    if (++log_ins > 1) return "token";
    logging_in.count_down();
    go_on.wait();
    return Fail(Code::kDeadlineExceeded, "context deadline exceeded");
  });
  std::jthread hurried([&] { EXPECT_FALSE(tokens.Renew(0, kNever)); });
  logging_in.wait();
  std::jthread patient([&] { EXPECT_TRUE(tokens.Renew(0, kNever)); });
  go_on.count_down();
  patient.join();
  EXPECT_EQ(log_ins, 2);
}

}  // namespace
}  // namespace kvorum::client
