#include "server/apply/applied_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/api_errors.h"
#include "server/state/raft_status.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AppliedReadsTest : public ::testing::Test {
 protected:
  void Wait(raft::Index index, TimePoint deadline = {100}) {
    reads_.Wait(index, deadline, [this, index](const Result<void>& result) {
      told_.push_back(std::to_string(index.value()) +
                      (result.has_value() ? "" : ": " + result.error().message));
    });
  }
  void Apply(raft::Index index) {
    status_.SetApplied(index);
    reads_.RunReady(index);
  }

  RaftStatus status_{5};
  AppliedReads reads_{status_};
  std::vector<std::string> told_;
};

TEST_F(AppliedReadsTest, WhatIsAppliedIsReadAtOnce) {
  Wait(5);
  EXPECT_THAT(told_, ElementsAre("5"));
}

TEST_F(AppliedReadsTest, TheOthersWaitForTheirIndex) {
  Wait(7);
  Wait(6);
  Wait(9);
  EXPECT_THAT(told_, IsEmpty());
  Apply(7);
  EXPECT_THAT(told_, ElementsAre("6", "7"));
  Apply(8);
  EXPECT_EQ(told_.size(), 2u);
  Apply(20);
  EXPECT_THAT(told_, ElementsAre("6", "7", "9"));
}

TEST_F(AppliedReadsTest, WhoseTimeIsOverIsToldSo) {
  Wait(6, {100});
  Wait(6, {101});
  reads_.Expire({99});
  EXPECT_THAT(told_, IsEmpty());
  reads_.Expire({100});
  EXPECT_THAT(told_, ElementsAre("6: " + kErrTimeoutWaitApplied.ToError().message));
  Apply(6);
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(AppliedReadsTest, BehindTheEndAllFail) {
  Wait(6);
  reads_.Stop();
  Wait(3);
  const std::string stopped = kErrStopped.ToError().message;
  EXPECT_THAT(told_, ElementsAre("6: " + stopped, "3: " + stopped));
}

// A task may ask for the next read: no lock is held.
TEST_F(AppliedReadsTest, ATaskMayWaitAgain) {
  reads_.Wait(6, {100}, [this](const Result<void>&) { Wait(7); });
  Apply(6);
  EXPECT_THAT(told_, IsEmpty());
  Apply(7);
  EXPECT_THAT(told_, ElementsAre("7"));
}

}  // namespace
}  // namespace kvorum::server
