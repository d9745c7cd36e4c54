#include "server/call/request_batcher.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "rpc/io/loop.h"
#include "server/call/held_view.h"
#include "server/replica/drive/replica.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

class RequestBatcherTest : public testing::Test {
 protected:
  RequestBatcherTest() {
    served_.set_loops(2);
    EXPECT_TRUE(served_.Start().has_value());
  }
  std::shared_ptr<const Answer> SendOn(rpc::Loop& loop, std::string_view path,
                                       std::string_view request) {
    auto call = std::make_shared<rpc::CallContext>();
    call->set_loop(&loop);
    return served_.Send(path, request, std::move(call));
  }
  void Run() { served_.lanes().RunFor(std::chrono::seconds(1)); }

  ServedMember served_;
  rpc::Loop one_{0, "one"};  // never started: the test empties its mailbox by hand
  rpc::Loop two_{1, "two"};
};

TEST_F(RequestBatcherTest, ProposalsOfALoopWaitForItsHook) {
  const raft::Index before = served_.parts().cluster.replica.commit_index();
  std::vector<std::shared_ptr<const Answer>> puts;
  for (int i = 0; i < 5; ++i)
    puts.push_back(SendOn(one_, kPutPath, PutBody("k", std::to_string(i))));
  const auto other = SendOn(two_, kPutPath, PutBody("k", "other"));
  Run();
  EXPECT_EQ(served_.parts().cluster.replica.commit_index(), before);
  served_.batcher().Flush(one_);
  Run();
  for (const auto& put : puts) EXPECT_EQ(put->times, 1);
  EXPECT_EQ(other->times, 0) << "the other loop's hook has not run";
  EXPECT_EQ(served_.parts().cluster.replica.commit_index(), before + 5);
  EXPECT_EQ(served_.member().Get("k", 0)->value_or(""), "4") << "in the order they came";
  served_.batcher().Flush(two_);
  Run();
  EXPECT_EQ(other->times, 1);
}

TEST_F(RequestBatcherTest, ReadsOfALoopAreAnsweredOnIt) {
  const auto first = SendOn(one_, kRangePath, RangeBody({.key = "k"}));
  const auto second = SendOn(one_, kRangePath, RangeBody({.key = "k"}));
  Run();
  served_.batcher().Flush(one_);
  Run();
  EXPECT_EQ(first->times, 0) << "confirmed, and posted to the loop";
  one_.mailbox()->Collect();
  EXPECT_EQ(first->times, 1);
  EXPECT_EQ(second->times, 1);
}

TEST_F(RequestBatcherTest, AReadBehindAPutOfTheSameBatchNeedNotSeeIt) {
  const auto put = SendOn(one_, kPutPath, PutBody("k", "v"));
  const auto read = SendOn(one_, kRangePath, RangeBody({.key = "k"}));
  served_.batcher().Flush(one_);
  Run();
  one_.mailbox()->Collect();
  EXPECT_EQ(put->times, 1);
  EXPECT_EQ(read->times, 1);
  EXPECT_TRUE(read->value.has_value());
}

TEST_F(RequestBatcherTest, TheReadsOfABatchSeeOneState) {
  std::vector<std::int64_t> seen;
  const auto look = [&](const Result<void>& confirmed) {
    EXPECT_TRUE(confirmed.has_value());
    seen.push_back(HeldView::Take(served_.member().store()).value()->revision());
  };
  served_.batcher().Read(&one_, look);
  served_.batcher().Read(&one_, [&](const Result<void>&) {
    EXPECT_TRUE(served_.Call(kPutPath, PutBody("k", "v")).has_value());
  });
  served_.batcher().Read(&one_, look);
  served_.batcher().Flush(one_);
  Run();
  one_.mailbox()->Collect();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(served_.member().store().readable_revision(), seen[0] + 1);
}

// More than share a view, keys that are there and that are not, and reads without a key in between.
TEST_F(RequestBatcherTest, ManyReadsOfABatchAreAnsweredEachWithItsOwn) {
  constexpr int kKeys = 200;
  const auto key = [](int i) { return "key " + std::to_string(i); };
  for (int i = 0; i < kKeys; i += 2)
    EXPECT_TRUE(served_.Call(kPutPath, PutBody(key(i), "value " + std::to_string(i))).has_value());
  std::vector<std::shared_ptr<const Answer>> answers;
  int others = 0;
  for (int i = 0; i < kKeys; ++i) {
    answers.push_back(
        SendOn(one_, kRangePath, RangeBody({.key = key(i), .count_only = i % 7 == 3})));
    if (i % 5 == 0) served_.batcher().Read(&one_, [&](const Result<void>&) { ++others; });
  }
  served_.batcher().Flush(one_);
  Run();
  one_.mailbox()->Collect();
  EXPECT_EQ(others, kKeys / 5);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_EQ(answers[i]->times, 1) << i;
    const std::string& answer = answers[i]->value.value();
    const bool has_value = answer.find("value " + std::to_string(i)) != std::string::npos;
    EXPECT_EQ(has_value, i % 2 == 0 && i % 7 != 3) << i;
  }
}

TEST_F(RequestBatcherTest, ReadsThatAreNotConfirmedAreToldSo) {
  std::vector<std::string> errors;
  for (int i = 0; i < 20; ++i) {
    served_.batcher().Read(
        &one_, [&](const Result<void>& confirmed) { errors.push_back(confirmed.error().message); },
        "k");
  }
  static_cast<void>(served_.Stop());
  served_.batcher().Flush(one_);
  Run();
  one_.mailbox()->Collect();
  EXPECT_EQ(errors.size(), 20);
}

TEST_F(RequestBatcherTest, AnEmptyBatchAsksNothing) {
  const raft::Index before = served_.parts().cluster.replica.commit_index();
  served_.batcher().Flush(one_);
  Run();
  EXPECT_EQ(served_.parts().cluster.replica.commit_index(), before);
}

TEST_F(RequestBatcherTest, ACallWithoutALoopGoesThroughAtOnce) {
  EXPECT_TRUE(served_.Call(kPutPath, PutBody("k", "v")).has_value());
  EXPECT_TRUE(served_.Call(kRangePath, RangeBody({.key = "k"})).has_value());
}

}  // namespace
}  // namespace kvorum::server
