// Linearizable reads waiting for a confirmed index, with requests that are answered, lost, or
// answered too late.
#include "server/replica/drive/read_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/api_errors.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Duration kTimeout = std::chrono::seconds(7);
constexpr Duration kRetry = std::chrono::milliseconds(500);

class ReadRoundsTest : public ::testing::Test {
 protected:
  void Add(const std::string& name) {
    std::vector<ReadTask> tasks;
    tasks.push_back([this, name](const Result<void>& confirmed) {
      (confirmed.has_value() ? confirmed_ : failed_).push_back(name);
      if (!confirmed.has_value()) error_ = confirmed.error().message;
    });
    rounds_.Add(std::move(tasks), now_);
  }
  void Answer(std::uint64_t context) {
    for (ReadRounds::Read& read : rounds_.TakeConfirmed(context)) read.task({});
    rounds_.AskNext(now_);
  }
  void Wait(Duration time) {
    now_ = now_ + time;
    rounds_.Tick(now_);
  }

  TimePoint now_{1};
  std::uint64_t last_ = 0;  // the last request's id
  std::vector<std::string> confirmed_;
  std::vector<std::string> failed_;
  std::string error_;
  ReadRounds rounds_{[this] { return ++last_; }, kTimeout};
};

TEST_F(ReadRoundsTest, ReadsThatComeWhileARequestIsOutShareTheNext) {
  Add("a");
  Add("b");
  Add("c");
  EXPECT_EQ(last_, 1u);
  Answer(1);
  EXPECT_THAT(confirmed_, ElementsAre("a"));
  EXPECT_EQ(last_, 2u);
  Answer(2);
  EXPECT_THAT(confirmed_, ElementsAre("a", "b", "c"));
  EXPECT_EQ(last_, 2u) << "nobody waits";
}

TEST_F(ReadRoundsTest, ARequestWithoutAnAnswerIsRepeatedUnderAnotherId) {
  Add("a");
  Wait(kRetry - std::chrono::milliseconds(1));
  EXPECT_EQ(last_, 1u);
  Wait(std::chrono::milliseconds(1));
  EXPECT_EQ(last_, 2u);
  Answer(1);
  EXPECT_THAT(confirmed_, IsEmpty()) << "an answer to the old one confirms nothing";
  Answer(2);
  EXPECT_THAT(confirmed_, ElementsAre("a"));
}

TEST_F(ReadRoundsTest, ANewLeaderIsAskedAtOnceForAllThatWait) {
  rounds_.LeaderFound(now_);
  EXPECT_EQ(last_, 0u) << "nobody waits";
  Add("a");
  Add("b");
  rounds_.LeaderFound(now_);
  EXPECT_EQ(last_, 2u);
  Answer(1);
  EXPECT_THAT(confirmed_, IsEmpty());
  Answer(2);
  EXPECT_THAT(confirmed_, ElementsAre("a", "b"));
}

TEST_F(ReadRoundsTest, EachReadFailsAtItsOwnDeadline) {
  Add("a");
  Wait(std::chrono::seconds(1));
  Add("b");
  Wait(kTimeout - std::chrono::seconds(1));
  EXPECT_THAT(failed_, ElementsAre("a"));
  EXPECT_EQ(error_, kErrTimeout.ToError().message);
  Wait(std::chrono::seconds(1));
  EXPECT_THAT(failed_, ElementsAre("a", "b"));
  const std::uint64_t asked = last_;
  Wait(10 * kRetry);
  EXPECT_EQ(last_, asked) << "nothing is asked for nobody";
}

TEST_F(ReadRoundsTest, ReadsBehindAFailedRequestGetOneOfTheirOwn) {
  Add("a");
  now_ = now_ + kTimeout - kRetry / 2;
  Add("b");
  now_ = now_ + kRetry / 2;
  rounds_.Tick(now_);
  EXPECT_THAT(failed_, ElementsAre("a"));
  Answer(last_);
  EXPECT_THAT(confirmed_, ElementsAre("b"));
}

TEST_F(ReadRoundsTest, WhatWaitsFailsWhenTheMemberStops) {
  Add("a");
  Add("b");
  rounds_.FailAll(kErrStopped.ToError());
  EXPECT_THAT(failed_, ElementsAre("a", "b"));
  EXPECT_EQ(error_, kErrStopped.ToError().message);
  Answer(1);
  EXPECT_THAT(confirmed_, IsEmpty());
}

}  // namespace
}  // namespace kvorum::server
