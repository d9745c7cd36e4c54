// Log-ins and tokens of the client: renewal, and what happens when it can't be had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "client/client.h"
#include "proto/rpc.pb.h"
#include "tests/client/fake_member.h"
#include "tests/eventually.h"

namespace kvorum::client {
namespace {

using testing::HasSubstr;
using testing::Not;

const grpc::Status kInvalidTokenStatus(grpc::UNAUTHENTICATED, "etcdserver: invalid auth token");
const grpc::Status kOldRevisionStatus(grpc::INVALID_ARGUMENT,
                                      "etcdserver: revision of auth store is old");
const grpc::Status kWrongPassword(grpc::INVALID_ARGUMENT,
                                  "etcdserver: authentication failed, invalid user ID or password");
const grpc::Status kNotEnabled(grpc::FAILED_PRECONDITION,
                               "etcdserver: authentication is not enabled");

std::unique_ptr<Client> LogInAt(const FakeMember& member) {
  auto client =
      Client::Connect({.endpoints = {member.endpoint()}, .user = "ann", .password = "secret"});
  EXPECT_TRUE(client);
  return *std::move(client);
}

TEST(ClientTokenTest, AUserLogsInAndShowsTheToken) {
  FakeMember member;
  const auto client = LogInAt(member);
  ASSERT_TRUE(client->Put({}, Soon()));
  EXPECT_EQ(member.Metadata("token"), "token-of-ann-1");
  EXPECT_EQ(member.logins(), 1);
}

TEST(ClientTokenTest, WhoGivesNoPasswordDoesNotLogIn) {
  FakeMember member;
  const auto client = Client::Connect({.endpoints = {member.endpoint()}, .user = "ann"});
  ASSERT_TRUE(client);
  ASSERT_TRUE((*client)->Put({}, Soon()));
  EXPECT_EQ(member.Metadata("token"), "");
  EXPECT_EQ(member.logins(), 0);
}

TEST(ClientTokenTest, ARefusedTokenIsRenewedForReadsAndWrites) {
  for (const grpc::Status& refusal : {kInvalidTokenStatus, kOldRevisionStatus}) {
    FakeMember member;
    const auto client = LogInAt(member);
    member.RequireToken(refusal);
    ASSERT_TRUE(client->Put({}, Soon()));
    EXPECT_EQ(member.Metadata("token"), "token-of-ann-2");
    member.RequireToken(refusal);
    ASSERT_TRUE(client->Range({}, Soon()));
    EXPECT_EQ(member.Metadata("token"), "token-of-ann-3");
    EXPECT_EQ(member.calls(), 2);
  }
}

TEST(ClientTokenTest, ManyCallsWithOneRefusedTokenLogInOnce) {
  FakeMember member;
  const auto client = LogInAt(member);
  constexpr int kThreads = 16;
  member.RequireToken();
  // The log-in is not answered before every call was refused.
  std::latch go_on(1);
  member.OnLogin([&] {
    go_on.wait();
    return grpc::Status::OK;
  });
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] { EXPECT_TRUE(client->Put({}, Soon())); });
  EXPECT_TRUE(Eventually([&] { return member.refused() >= kThreads; }));
  go_on.count_down();
  threads.clear();
  EXPECT_EQ(member.logins(), 2);
  EXPECT_EQ(member.calls(), kThreads);
}

TEST(ClientTokenTest, AChangedPasswordIsNoFloodOfLogIns) {
  FakeMember member;
  const auto client = LogInAt(member);
  member.RequireToken();
  member.AnswerLogins(kWrongPassword);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    const auto response = client->Put({}, Soon());
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error(), (Error{Code::kInvalidArgument, kWrongPassword.error_message()}));
  }
  const auto took = std::chrono::steady_clock::now() - began;
  // The first, the one that was refused, and one more for each second that has passed since.
  EXPECT_LE(member.logins(), 2 + took / std::chrono::seconds(1));
}

TEST(ClientTokenTest, ATokenThatIsRefusedHoweverNewItIsEndsTheCall) {
  FakeMember member;
  const auto client = LogInAt(member);
  member.Answer(std::vector<grpc::Status>(100, kInvalidTokenStatus));
  const auto response = client->Put({}, Soon());
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error(), (Error{Code::kUnauthenticated, kInvalidTokenStatus.error_message()}));
  EXPECT_EQ(member.calls(), 6);
  EXPECT_EQ(member.logins(), 6);
}

TEST(ClientTokenTest, AClusterWithoutAuthenticationLetsAnyUserIn) {
  FakeMember member;
  member.AnswerLogins(kNotEnabled);
  const auto client = LogInAt(member);
  ASSERT_TRUE(client->Put({}, Soon()));
  EXPECT_EQ(member.Metadata("token"), "");
}

TEST(ClientTokenTest, AuthenticationMayBeSwitchedOnLater) {
  FakeMember member;
  member.AnswerLogins(kNotEnabled);
  const auto client = LogInAt(member);
  member.AnswerLogins(grpc::Status::OK);
  member.RequireToken({grpc::INVALID_ARGUMENT, "etcdserver: user name is empty"});
  ASSERT_TRUE(client->Put({}, Soon()));
  EXPECT_EQ(member.Metadata("token"), "token-of-ann-2");
}

TEST(ClientTokenTest, ARequestWithoutAUsersNameIsRefusedAndNotRepeated) {
  FakeMember member;
  const auto client = LogInAt(member);
  const auto response = client->UserAdd({}, Soon());
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message, "etcdserver: user name is empty");
  EXPECT_EQ(member.calls(), 1);
  EXPECT_EQ(member.logins(), 1);
}

TEST(ClientTokenTest, AGivenTokenIsShownAndNeverRenewed) {
  FakeMember member;
  const auto client = Client::Connect({.endpoints = {member.endpoint()}, .token = "a.b.c"});
  ASSERT_TRUE(client);
  ASSERT_TRUE((*client)->Put({}, Soon()));
  EXPECT_EQ(member.Metadata("token"), "a.b.c");
  member.Answer({kInvalidTokenStatus});
  EXPECT_EQ((*client)->Put({}, Soon()).error().code, Code::kUnauthenticated);
  EXPECT_EQ(member.logins(), 0);
}

TEST(ClientTokenTest, WhiteSpaceAroundAGivenTokenIsNotShown) {
  for (const std::string token : {"a.b.c\n", " a.b.c", "\t\r\na.b.c \v\f\r\n"}) {
    FakeMember member;
    const auto client = Client::Connect({.endpoints = {member.endpoint()}, .token = token});
    ASSERT_TRUE(client);
    ASSERT_TRUE((*client)->Put({}, Soon()));
    EXPECT_EQ(member.Metadata("token"), "a.b.c");
  }
}

TEST(ClientTokenTest, AGivenTokenThatNoHeaderCanCarryIsRefusedAndNotTold) {
  using namespace std::string_literals;
  for (const std::string& token :
       {"ab\nyz"s, "ab\tyz"s, "ab\0yz"s, "ab\x7fyz"s, "ab\u00e9yz"s, "ab\x80yz"s}) {
    const auto client = Client::Connect({.endpoints = {"127.0.0.1:1"}, .token = token});
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error(),
              (Error{Code::kInvalidArgument,
                     "etcdclient: the token has a character that is not printable ASCII"}));
  }
  const auto blank = Client::Connect({.endpoints = {"127.0.0.1:1"}, .token = " \n"});
  ASSERT_FALSE(blank);
  EXPECT_EQ(blank.error(),
            (Error{Code::kInvalidArgument, "etcdclient: the token is nothing but white space"}));
}

TEST(ClientTokenTest, ATokenOfTheServerThatNoHeaderCanCarryIsAnErrorOfConnect) {
  FakeMember member;
  const auto client =
      Client::Connect({.endpoints = {member.endpoint()}, .user = "ann\n", .password = "secret"});
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error(),
            (Error{Code::kInternal, "the server gave a token that no header can carry"}));
}

TEST(ClientTokenTest, AWrongPasswordIsAnErrorOfConnectThatDoesNotTellIt) {
  FakeMember member;
  member.AnswerLogins(kWrongPassword);
  const auto client =
      Client::Connect({.endpoints = {member.endpoint()}, .user = "ann", .password = "hunter2"});
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr("authentication failed"));
  EXPECT_THAT(client.error().message, Not(HasSubstr("hunter2")));
  EXPECT_EQ(member.logins(), 1);
}

TEST(ClientTokenTest, TheLogInGoesOnAtAnotherMember) {
  FakeMember dying;
  FakeMember living;
  dying.AnswerLogins({grpc::UNAVAILABLE, "Socket closed"});
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(Client::Connect({.endpoints = {dying.endpoint(), living.endpoint()},
                                 .dial_timeout = std::chrono::seconds(20),
                                 .user = "ann",
                                 .password = "secret"}));
  }
  EXPECT_EQ(living.logins(), 4);
}

TEST(ClientTokenTest, TheDeadlineOfACallEndsItsLogInToo) {
  std::latch over(1);  // outlives the member, whose call waits for it
  FakeMember member;
  const auto client = LogInAt(member);
  member.RequireToken();
  member.OnLogin([&] {
    over.wait();
    return grpc::Status::OK;
  });
  const auto response = client->Put({}, CallOptions::Within(std::chrono::milliseconds(100)));
  over.count_down();
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error(), (Error{Code::kDeadlineExceeded, "context deadline exceeded"}));
}

TEST(ClientTokenTest, ALeaseIsRenewedWithANewToken) {
  FakeMember member;
  const auto client = LogInAt(member);
  member.RequireToken();
  const auto renewed = client->LeaseKeepAliveOnce(7, Soon());
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->id(), 7);
  EXPECT_EQ(member.Metadata("token"), "token-of-ann-2");
}

TEST(ClientTokenTest, AStreamOfARangeBeginsAgainWithANewToken) {
  FakeMember member;
  const auto client = LogInAt(member);
  member.RequireToken();
  std::vector<std::int64_t> counts;
  const auto done = client->RangeStream(
      {},
      [&](etcdserverpb::RangeResponse&& chunk) -> Result<void> {
        counts.push_back(chunk.count());
        return {};
      },
      Soon());
  EXPECT_TRUE(done);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 2, 3}));
}

using Stream = grpc::ServerReaderWriter<etcdserverpb::WatchResponse, etcdserverpb::WatchRequest>;

void WriteCreated(Stream* stream, std::int64_t revision) {
  etcdserverpb::WatchResponse response;
  response.set_created(true);
  response.mutable_header()->set_revision(revision);
  stream->Write(response);
}

void WriteEvent(Stream* stream, std::int64_t revision) {
  etcdserverpb::WatchResponse response;
  response.mutable_header()->set_revision(revision);
  response.add_events()->mutable_kv()->set_mod_revision(revision);
  stream->Write(response);
}

void WriteRefusal(Stream* stream, const std::string& reason) {
  etcdserverpb::WatchResponse response;
  response.set_created(true);
  response.set_canceled(true);
  response.set_watch_id(-1);
  response.set_cancel_reason(reason);
  stream->Write(response);
}

// The revisions of the events until that of the last one has come; what ended it otherwise.
struct Watched {
  std::vector<std::int64_t> revisions;
  int created = 0;
  std::string cancel_reason;
  Result<void> ended;
};
Watched WatchUntil(Client& client, std::int64_t last) {
  Watched seen;
  const auto watch = client.NewWatch({});
  seen.ended = watch->Run([&](const etcdserverpb::WatchResponse& response) -> Result<void> {
    if (response.created()) ++seen.created;
    if (response.canceled()) seen.cancel_reason = response.cancel_reason();
    for (const auto& event : response.events()) seen.revisions.push_back(event.kv().mod_revision());
    if (!seen.revisions.empty() && seen.revisions.back() >= last) watch->Cancel();
    return {};
  });
  return seen;
}

TEST(ClientTokenTest, AWatchWhoseTokenExpiresInTheMiddleGoesOnAfterTheLastEvent) {
  FakeMember member;
  const auto client = LogInAt(member);
  std::int64_t began_again_at = 0;
  member.OnWatches({[&](const auto&, Stream* stream) {
                      WriteCreated(stream, 4);
                      WriteEvent(stream, 5);
                      WriteEvent(stream, 6);
                      member.RequireToken();
                      return kInvalidTokenStatus;
                    },
                    [&](const auto& create, Stream* stream) {
                      began_again_at = create.start_revision();
                      WriteCreated(stream, 9);
                      WriteEvent(stream, 7);
                      etcdserverpb::WatchRequest ignored;
                      stream->Read(&ignored);
                      return grpc::Status::OK;
                    }});
  const Watched seen = WatchUntil(*client, 7);
  EXPECT_TRUE(seen.ended);
  EXPECT_EQ(seen.revisions, (std::vector<std::int64_t>{5, 6, 7}));
  EXPECT_EQ(seen.created, 1);
  EXPECT_EQ(began_again_at, 7);
  EXPECT_EQ(member.Metadata("token"), "token-of-ann-2");
}

TEST(ClientTokenTest, AWatchThatIsRefusedForItsTokenIsAskedForAgain) {
  for (const std::string reason :
       {"rpc error: code = Unauthenticated desc = etcdserver: invalid auth token",
        "rpc error: code = InvalidArgument desc = etcdserver: revision of auth store is old"}) {
    FakeMember member;
    const auto client = LogInAt(member);
    member.OnWatches({[&](const auto&, Stream* stream) {
                        WriteRefusal(stream, reason);
                        etcdserverpb::WatchRequest ignored;
                        stream->Read(&ignored);
                        return grpc::Status::OK;
                      },
                      [](const auto&, Stream* stream) {
                        WriteCreated(stream, 1);
                        WriteEvent(stream, 2);
                        etcdserverpb::WatchRequest ignored;
                        stream->Read(&ignored);
                        return grpc::Status::OK;
                      }});
    const Watched seen = WatchUntil(*client, 2);
    EXPECT_TRUE(seen.ended);
    EXPECT_EQ(seen.revisions, std::vector<std::int64_t>{2});
    EXPECT_EQ(seen.cancel_reason, "");
    EXPECT_EQ(member.logins(), 2);
  }
}

TEST(ClientTokenTest, AWatchWithoutPermissionIsToldSo) {
  FakeMember member;
  const auto client = LogInAt(member);
  const std::string reason =
      "rpc error: code = PermissionDenied desc = etcdserver: permission denied";
  member.OnWatches({[&](const auto&, Stream* stream) {
    WriteRefusal(stream, reason);
    return grpc::Status::OK;
  }});
  const Watched seen = WatchUntil(*client, 1);
  EXPECT_TRUE(seen.ended);
  EXPECT_EQ(seen.cancel_reason, reason);
  EXPECT_EQ(member.logins(), 1);
}

TEST(ClientTokenTest, AWatchEndsWhenNoNewTokenCanBeHad) {
  FakeMember member;
  const auto client = LogInAt(member);
  member.RequireToken();
  member.AnswerLogins(kWrongPassword);
  const Watched seen = WatchUntil(*client, 1);
  ASSERT_FALSE(seen.ended);
  EXPECT_EQ(seen.ended.error(), (Error{Code::kInvalidArgument, kWrongPassword.error_message()}));
}

TEST(ClientTokenTest, AWatchEndsWhenNoTokenIsNewEnough) {
  FakeMember member;
  const auto client = LogInAt(member);
  member.Answer(std::vector<grpc::Status>(100, kInvalidTokenStatus));
  const Watched seen = WatchUntil(*client, 1);
  ASSERT_FALSE(seen.ended);
  EXPECT_EQ(seen.ended.error(),
            (Error{Code::kUnauthenticated, kInvalidTokenStatus.error_message()}));
  EXPECT_EQ(member.logins(), 6);
}

}  // namespace
}  // namespace kvorum::client
