// The end of applying, over a whole member: what the log says and this version cannot do.
#include "server/apply/apply_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/api_errors.h"
#include "tests/disk/sim_file_system.h"
#include "tests/server/request_bodies.h"
#include "tests/server/small_member.h"

namespace kvorum::server {
namespace {

using ::testing::HasSubstr;

class ApplyLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto started = member_.Start();
    ASSERT_TRUE(started.has_value()) << started.error().message;
    ASSERT_TRUE(member_.CatchUp());
  }
  void Put(const std::string& key) {
    member_.Propose(RequestKind::kPut, PutBody(key, "v"), [this](const auto& value) {
      if (value.has_value()) ++acknowledged_;
    });
  }
  // An entry that is no request of ours.
  void ProposeGarbage() {
    std::vector<Proposal> proposals;
    proposals.push_back({.id = 1,
                         .data = SharedBytes::Own("\xff\xff\xff"),
                         .deadline = member_.lanes().clock().Now() + std::chrono::seconds(7),
                         .waiter = nullptr});
    member_.instance().replica().Propose(std::move(proposals));
  }
  bool Has(const std::string& key) { return member_.Get(key, 0).value().has_value(); }

  SimFileSystem fs_;
  SmallMember member_{fs_, 5};
  int acknowledged_ = 0;
};

TEST_F(ApplyLoopTest, BehindAnEntryThatCannotBeAppliedNothingIsAppliedOrAnswered) {
  Put("before");
  ASSERT_TRUE(member_.lanes().RunUntil([&] { return acknowledged_ == 1; }));
  const raft::Index applied = member_.instance().replica().applied_index();
  ProposeGarbage();
  ASSERT_TRUE(member_.lanes().RunUntil([&] { return member_.fatal().has_value(); }));
  EXPECT_THAT(member_.fatal()->message,
              HasSubstr("cannot apply log entry " + std::to_string(applied + 1)));

  // The owner ends the process; until it has, the loop stands still.
  for (int i = 0; i < 20; ++i) Put("after");
  bool read_succeeded = false;
  member_.instance().replica().ReadIndex(
      [&](const Result<void>& result) { read_succeeded = result.has_value(); });
  member_.lanes().RunFor(std::chrono::seconds(10));
  EXPECT_EQ(member_.instance().replica().applied_index(), applied);
  EXPECT_EQ(acknowledged_, 1);
  EXPECT_FALSE(read_succeeded);
  EXPECT_TRUE(Has("before"));
  EXPECT_FALSE(Has("after"));
}

TEST_F(ApplyLoopTest, OfABatchWithSuchAnEntryNothingIsShownAndARestartStopsThereAgain) {
  member_.lanes().Hold(member_.lanes().apply(), true);
  Put("same batch");
  ProposeGarbage();
  Put("same batch, behind");
  member_.lanes().RunFor(std::chrono::seconds(2));
  member_.lanes().Hold(member_.lanes().apply(), false);
  ASSERT_TRUE(member_.lanes().RunUntil([&] { return member_.fatal().has_value(); }));
  member_.lanes().RunFor(std::chrono::seconds(2));
  EXPECT_EQ(acknowledged_, 0);
  EXPECT_FALSE(Has("same batch"));

  fs_.Kill();
  SmallMember again(fs_, 6);
  ASSERT_TRUE(again.Start().has_value());
  ASSERT_TRUE(again.lanes().RunUntil([&] { return again.fatal().has_value(); }));
  again.lanes().RunFor(std::chrono::seconds(2));
  EXPECT_FALSE(again.Get("same batch, behind", 0).value().has_value());
}

}  // namespace
}  // namespace kvorum::server
