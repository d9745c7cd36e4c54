// The client against servers of grpc++ in this process, which answer as the test wants.
#include "client/client.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <thread>

#include "proto/rpc.pb.h"
#include "tests/client/fake_member.h"
#include "tests/client/stalled_member.h"

namespace kvorum::client {
namespace {

using namespace std::chrono_literals;

TEST(ClientTest, AnAnswerComesBack) {
  FakeMember member;
  const auto response = ConnectTo({member.endpoint()})->Range({}, Soon());
  ASSERT_TRUE(response);
  EXPECT_EQ(response->count(), 1);
}

TEST(ClientTest, AnErrorKeepsItsCodeAndText) {
  FakeMember member;
  member.Answer({{grpc::OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted"}});
  const auto response = ConnectTo({member.endpoint()})->Range({}, Soon());
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error(),
            (Error{Code::kOutOfRange, "etcdserver: mvcc: required revision has been compacted"}));
}

TEST(ClientTest, MetadataSaysWhoAsksAndWhatIsRequired) {
  FakeMember member;
  const auto client = ConnectTo({member.endpoint()});
  ASSERT_TRUE(client->Put({}, Soon()));
  EXPECT_EQ(member.Metadata("client-api-version"), "3.7");
  EXPECT_EQ(member.Metadata("hasleader"), "");
  CallOptions call = Soon();
  call.require_leader = true;
  ASSERT_TRUE(client->Put({}, call));
  EXPECT_EQ(member.Metadata("hasleader"), "true");
}

TEST(ClientTest, AReadIsTriedAgainWhenTheMemberIsUnavailable) {
  FakeMember member;
  member.Answer({{grpc::UNAVAILABLE, "etcdserver: leader changed"}, {grpc::UNAVAILABLE, "gone"}});
  EXPECT_TRUE(ConnectTo({member.endpoint()})->Range({}, Soon()));
  EXPECT_EQ(member.calls(), 3);
}

TEST(ClientTest, AWriteIsNeverTriedAgain) {
  FakeMember member;
  member.Answer({{grpc::UNAVAILABLE, "gone"}});
  const auto response = ConnectTo({member.endpoint()})->Put({}, Soon());
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error(), (Error{Code::kUnavailable, "gone"}));
  EXPECT_EQ(member.calls(), 1);
}

TEST(ClientTest, ADeadMemberAmongSeveralIsPassedOver) {
  FakeMember member;
  const auto client = ConnectTo({"127.0.0.1:1", member.endpoint(), "unix:/nowhere/kv.sock"});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(client->Put({}, Soon()));
  EXPECT_EQ(member.calls(), 5);
}

TEST(ClientTest, CallsTakeTurnsAmongTheMembers) {
  FakeMember first;
  FakeMember second;
  const auto client = ConnectTo({first.endpoint(), second.endpoint()});
  for (int i = 0; i < 200 && (first.calls() == 0 || second.calls() == 0); ++i)
    ASSERT_TRUE(client->Put({}, Soon()));
  EXPECT_GT(first.calls(), 0);
  EXPECT_GT(second.calls(), 0);
}

TEST(ClientTest, TheDeadlineEndsTheWaitForAConnection) {
  for (const std::vector<std::string>& endpoints :
       {std::vector<std::string>{"127.0.0.1:1"}, {"127.0.0.1:1", "127.0.0.1:2"}}) {
    const auto response = ConnectTo(endpoints)->Range({}, CallOptions::Within(100ms));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error(), (Error{Code::kDeadlineExceeded, "context deadline exceeded"}));
  }
}

TEST(ClientTest, AStopEndsTheWaitForAConnection) {
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  const auto response = ConnectTo({"127.0.0.1:1"})->Range({}, {.stop = stop.get_token()});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error(), (Error{Code::kCanceled, "the call was stopped"}));
}

TEST(ClientTest, AStopEndsACallThatIsNotAnswered) {
  const StalledMember member(1 << 20);
  const auto client = ConnectTo({member.endpoint()});
  std::stop_source stop;
  std::jthread stopper([&] {
    member.AwaitCall();
    stop.request_stop();
  });
  const auto response = client->Range({}, {.stop = stop.get_token()});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error(), (Error{Code::kCanceled, "the call was stopped"}));
  EXPECT_EQ(client->Put({}, {.stop = stop.get_token()}).error().code, Code::kCanceled);
}

TEST(ClientTest, AStreamHandsOverItsChunksInOrder) {
  FakeMember member;
  std::vector<std::int64_t> counts;
  const auto done = ConnectTo({member.endpoint()})
                        ->RangeStream(
                            {},
                            [&](etcdserverpb::RangeResponse&& chunk) -> Result<void> {
                              counts.push_back(chunk.count());
                              return {};
                            },
                            Soon());
  EXPECT_TRUE(done);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(ClientTest, AStreamEndsWithTheReadersError) {
  FakeMember member;
  const auto done = ConnectTo({member.endpoint()})
                        ->RangeStream(
                            {},
                            [](etcdserverpb::RangeResponse&&) -> Result<void> {
                              return Fail(Code::kAborted, "enough");
                            },
                            Soon());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), (Error{Code::kAborted, "enough"}));
}

TEST(ClientTest, ARequestPastTheLimitIsNotSent) {
  FakeMember member;
  etcdserverpb::PutRequest request;
  request.set_value(std::string(3 * 1024 * 1024, 'x'));
  const auto response = ConnectTo({member.endpoint()})->Put(request, Soon());
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error(),
            (Error{Code::kResourceExhausted,
                   "trying to send message larger than max (3145733 vs. 2097152)"}));
  EXPECT_EQ(member.calls(), 0);
}

TEST(ClientTest, OptionsThatCannotWorkAreRefused) {
  EXPECT_EQ(Client::Connect({}).error().message, "etcdclient: no available endpoints");
  Options options{.endpoints = {"127.0.0.1:1"}};
  options.max_receive_bytes = 1;
  EXPECT_EQ(Client::Connect(options).error().code, Code::kInvalidArgument);
  options.max_receive_bytes = Options().max_receive_bytes;
  options.user = "ann";
  options.password = "secret";
  options.token = "t";
  EXPECT_EQ(Client::Connect(options).error(),
            (Error{Code::kInvalidArgument,
                   "Username/Password and Token configurations are mutually exclusive"}));
  options.token.clear();
  options.tls.certificate_file = "/nowhere";
  EXPECT_EQ(Client::Connect(options).error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace kvorum::client
