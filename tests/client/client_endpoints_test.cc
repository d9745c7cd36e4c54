// Several members: whose turn it is, who takes over, and how the list of them changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "client/client.h"
#include "proto/rpc.pb.h"
#include "tests/client/fake_member.h"
#include "tests/eventually.h"

namespace kvorum::client {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const grpc::Status kNoLeader(grpc::UNAVAILABLE, "etcdserver: no leader");
const grpc::Status kSocketClosed(grpc::UNAVAILABLE, "Socket closed");

// Calls until each of the members has answered, and so is connected.
void ConnectAll(Client& client, const std::vector<FakeMember*>& members) {
  const auto has_answered = [](const FakeMember* member) { return member->calls() > 0; };
  while (!std::ranges::all_of(members, has_answered)) ASSERT_TRUE(client.Range({}, Soon()));
}

std::vector<int> Calls(const std::vector<FakeMember*>& members) {
  std::vector<int> calls;
  for (const FakeMember* member : members) calls.push_back(member->calls());
  return calls;
}

class ThreeMembers : public testing::Test {
 protected:
  ThreeMembers() : client_(ConnectTo({first_.endpoint(), second_.endpoint(), third_.endpoint()})) {
    ConnectAll(*client_, members_);
    before_ = Calls(members_);
  }
  // The number of calls that each has had since all are connected.
  std::vector<int> CallsSince() const {
    std::vector<int> calls = Calls(members_);
    for (std::size_t i = 0; i < calls.size(); ++i) calls[i] -= before_[i];
    return calls;
  }

  FakeMember first_;
  FakeMember second_;
  FakeMember third_;
  const std::vector<FakeMember*> members_{&first_, &second_, &third_};
  const std::unique_ptr<Client> client_;
  std::vector<int> before_;
};

TEST_F(ThreeMembers, TakeTurns) {
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(client_->Put({}, Soon()));
  EXPECT_THAT(CallsSince(), ElementsAre(3, 3, 3));
}

TEST_F(ThreeMembers, AReadThatIsNotAnsweredGoesToEachInTurn) {
  for (FakeMember* member : members_) member->Answer({kNoLeader});
  ASSERT_TRUE(client_->Range({}, Soon()));
  const std::vector<int> calls = CallsSince();
  EXPECT_EQ(calls[0] + calls[1] + calls[2], 4);
  EXPECT_THAT(calls, testing::Each(testing::Ge(1)));
}

TEST_F(ThreeMembers, AWriteThatMayHaveBeenAppliedGoesNowhereElse) {
  for (FakeMember* member : members_) member->Answer({kSocketClosed});
  const auto response = client_->Put({}, Soon());
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error(), (Error{Code::kUnavailable, "Socket closed"}));
  const std::vector<int> calls = CallsSince();
  EXPECT_EQ(calls[0] + calls[1] + calls[2], 1);
}

TEST_F(ThreeMembers, ALearnerSendsAWriteOn) {
  first_.Answer(std::vector<grpc::Status>(
      10, {grpc::FAILED_PRECONDITION, "etcdserver: rpc not supported for learner"}));
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(client_->Put({}, Soon()));
}

TEST_F(ThreeMembers, ARangeStreamThatHasBegunIsNotBegunAgain) {
  for (FakeMember* member : members_) member->Answer({{grpc::UNAVAILABLE, "late"}});
  int chunks = 0;
  const auto done = client_->RangeStream(
      {},
      [&](etcdserverpb::RangeResponse&&) -> Result<void> {
        ++chunks;
        return {};
      },
      Soon());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), (Error{Code::kUnavailable, "late"}));
  EXPECT_EQ(chunks, 2);
}

TEST_F(ThreeMembers, ARangeStreamThatHasNotBegunGoesOnElsewhere) {
  for (FakeMember* member : members_) member->Answer({kNoLeader});
  int chunks = 0;
  ASSERT_TRUE(client_->RangeStream(
      {},
      [&](etcdserverpb::RangeResponse&&) -> Result<void> {
        ++chunks;
        return {};
      },
      Soon()));
  EXPECT_EQ(chunks, 3);
}

// A write that the stopped one had taken fails: it is unknown whether it was applied.
TEST_F(ThreeMembers, WhenOneIsStoppedReadsGoOnAndNoWriteIsMadeTwice) {
  std::atomic<bool> is_over = false;
  std::atomic<int> puts = 0;
  std::atomic<int> succeeded = 0;
  std::jthread writer([&] {
    for (; !is_over; ++puts)
      if (client_->Put({}, Soon())) ++succeeded;
  });
  std::jthread reader([&] {
    while (!is_over) {
      const auto range = client_->Range({}, Soon());
      EXPECT_TRUE(range) << range.error().message;
    }
  });
  EXPECT_TRUE(Eventually([&] { return succeeded >= 30; }));
  second_.Stop();
  const int at_stop = succeeded;
  EXPECT_TRUE(Eventually([&] { return succeeded >= at_stop + 30; }));
  is_over = true;
  writer.join();
  EXPECT_LE(first_.puts() + second_.puts() + third_.puts(), puts);
}

TEST_F(ThreeMembers, AMemberThatIsNotTheirsAnyMoreGetsNoCalls) {
  ASSERT_TRUE(client_->SetEndpoints({first_.endpoint(), third_.endpoint()}));
  EXPECT_THAT(client_->endpoints(), ElementsAre(first_.endpoint(), third_.endpoint()));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(client_->Put({}, Soon()));
  EXPECT_THAT(CallsSince(), ElementsAre(4, 0, 4));
}

TEST_F(ThreeMembers, NoEndpointsAreRefused) {
  EXPECT_EQ(client_->SetEndpoints({}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(client_->endpoints().size(), 3U);
}

TEST_F(ThreeMembers, TheEndpointsAreThoseOfTheVotersThatHaveStarted) {
  etcdserverpb::MemberListResponse members;
  const auto add = [&](const char* name, const std::string& url, bool is_learner) {
    auto& member = *members.add_members();
    member.set_name(name);
    if (!url.empty()) member.add_clienturls(url);
    member.set_islearner(is_learner);
  };
  add("n1", "http://" + first_.endpoint(), false);
  add("", "http://127.0.0.1:1", false);
  add("n3", "http://127.0.0.1:2", true);
  add("n4", "http://" + third_.endpoint(), false);
  for (FakeMember* member : members_) member->SetMembers(members);
  ASSERT_TRUE(client_->SyncEndpoints(Soon()));
  EXPECT_THAT(client_->endpoints(),
              ElementsAre("http://" + first_.endpoint(), "http://" + third_.endpoint()));
  EXPECT_TRUE(client_->Put({}, Soon()));
}

TEST_F(ThreeMembers, AClusterThatNamesNoEndpointsChangesNothing) {
  EXPECT_FALSE(client_->SyncEndpoints(Soon()));
  EXPECT_EQ(client_->endpoints().size(), 3U);
}

TEST(ClientEndpointsTest, ACallThatWaitsForAConnectionGoesToANewEndpoint) {
  FakeMember member;
  const auto client = ConnectTo({"127.0.0.1:1"});
  std::latch calling(1);
  std::jthread caller([&] {
    calling.count_down();
    EXPECT_TRUE(client->Put({}, Soon()));
  });
  calling.wait();
  ASSERT_TRUE(client->SetEndpoints({member.endpoint()}));
  caller.join();
  EXPECT_EQ(member.calls(), 1);
}

TEST(ClientEndpointsTest, AnEndpointGivenTwiceIsOne) {
  FakeMember member;
  const auto client = ConnectTo({member.endpoint(), member.endpoint()});
  EXPECT_EQ(client->endpoints().size(), 1U);
}

TEST(ClientEndpointsTest, WhyNobodyWasReachedIsTold) {
  std::string told;
  Options options{.endpoints = {"127.0.0.1:1", "unix:/nowhere/kv.sock"}};
  options.on_unreachable = [&](const std::string& why) { told = why; };
  const auto client = Client::Connect(options);
  ASSERT_TRUE(client);
  EXPECT_EQ((*client)->Put({}, CallOptions::Within(500ms)).error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(told, AllOf(HasSubstr("127.0.0.1:1: "), HasSubstr("; unix:/nowhere/kv.sock: ")));
}

}  // namespace
}  // namespace kvorum::client
