// The client against servers of grpc++ in this process, which answer as the test wants.
#include "client/client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "proto/rpc.grpc.pb.h"

namespace kvorum::client {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A member whose answers are scripted: each call takes the next status, OK when there is none left.
class FakeMember final : public etcdserverpb::KV::Service, public etcdserverpb::Auth::Service {
 public:
  FakeMember() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<etcdserverpb::KV::Service*>(this));
    builder.RegisterService(static_cast<etcdserverpb::Auth::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  FakeMember(const FakeMember&) = delete;
  FakeMember& operator=(const FakeMember&) = delete;
  ~FakeMember() override {
    server_->Shutdown();
    server_->Wait();
    // The thread sanitizer does not see how grpc++ waits for its handlers.
    const std::lock_guard lock(mutex_);
  }

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  void Answer(std::vector<grpc::Status> statuses) {
    const std::lock_guard lock(mutex_);
    statuses_ = std::move(statuses);
  }
  void AnswerLogins(grpc::Status status) {
    const std::lock_guard lock(mutex_);
    login_status_ = std::move(status);
  }
  int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  // The last call's metadata of that name.
  std::string Metadata(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto it = metadata_.find(name);
    return it == metadata_.end() ? "" : it->second;
  }

  grpc::Status Range(grpc::ServerContext* context, const etcdserverpb::RangeRequest*,
                     etcdserverpb::RangeResponse* response) override {
    response->set_count(1);
    return Next(*context);
  }
  grpc::Status Put(grpc::ServerContext* context, const etcdserverpb::PutRequest*,
                   etcdserverpb::PutResponse*) override {
    return Next(*context);
  }
  grpc::Status RangeStream(grpc::ServerContext* context, const etcdserverpb::RangeRequest*,
                           grpc::ServerWriter<etcdserverpb::RangeStreamResponse>* writer) override {
    etcdserverpb::RangeStreamResponse chunk;
    for (int i = 1; i <= 3; ++i) {
      chunk.mutable_range_response()->set_count(i);
      writer->Write(chunk);
    }
    return Next(*context);
  }
  grpc::Status Authenticate(grpc::ServerContext*, const etcdserverpb::AuthenticateRequest* request,
                            etcdserverpb::AuthenticateResponse* response) override {
    const std::lock_guard lock(mutex_);
    response->set_token("token-of-" + request->name() + "-" + std::to_string(++logins_));
    return login_status_;
  }

 private:
  grpc::Status Next(const grpc::ServerContext& context) {
    const std::lock_guard lock(mutex_);
    metadata_.clear();
    for (const auto& [name, value] : context.client_metadata())
      metadata_.emplace(std::string(name.data(), name.size()),
                        std::string(value.data(), value.size()));
    ++calls_;
    if (statuses_.empty()) return grpc::Status::OK;
    grpc::Status status = statuses_.front();
    statuses_.erase(statuses_.begin());
    return status;
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  mutable std::mutex mutex_;
  std::vector<grpc::Status> statuses_;
  grpc::Status login_status_;
  std::map<std::string, std::string> metadata_;
  int calls_ = 0;
  int logins_ = 0;
};

std::unique_ptr<Client> ConnectTo(std::vector<std::string> endpoints) {
  auto client = Client::Connect({.endpoints = std::move(endpoints)});
  EXPECT_TRUE(client);
  return *std::move(client);
}

CallOptions Soon() { return CallOptions::Within(20s); }

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
  EXPECT_THAT(counts, testing::ElementsAre(1, 2, 3));
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

TEST(ClientTest, AUserLogsInAndShowsTheToken) {
  FakeMember member;
  const auto client =
      Client::Connect({.endpoints = {member.endpoint()}, .user = "ann", .password = "secret"});
  ASSERT_TRUE(client);
  ASSERT_TRUE((*client)->Put({}, Soon()));
  EXPECT_EQ(member.Metadata("token"), "token-of-ann-1");
}

TEST(ClientTest, AnExpiredTokenIsRenewedOnce) {
  FakeMember member;
  const auto client =
      Client::Connect({.endpoints = {member.endpoint()}, .user = "ann", .password = "secret"});
  ASSERT_TRUE(client);
  member.Answer({{grpc::UNAUTHENTICATED, "etcdserver: invalid auth token"}});
  ASSERT_TRUE((*client)->Put({}, Soon()));
  EXPECT_EQ(member.Metadata("token"), "token-of-ann-2");
}

TEST(ClientTest, AClusterWithoutAuthenticationLetsAnyUserIn) {
  FakeMember member;
  member.AnswerLogins({grpc::FAILED_PRECONDITION, "etcdserver: authentication is not enabled"});
  const auto client =
      Client::Connect({.endpoints = {member.endpoint()}, .user = "ann", .password = "secret"});
  ASSERT_TRUE(client);
  ASSERT_TRUE((*client)->Put({}, Soon()));
  EXPECT_EQ(member.Metadata("token"), "");
}

TEST(ClientTest, AWrongPasswordIsAnErrorOfConnect) {
  FakeMember member;
  member.AnswerLogins(
      {grpc::INVALID_ARGUMENT, "etcdserver: authentication failed, invalid user ID or password"});
  const auto client =
      Client::Connect({.endpoints = {member.endpoint()}, .user = "ann", .password = "wrong"});
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr("authentication failed"));
}

TEST(ClientTest, OptionsThatCannotWorkAreRefused) {
  EXPECT_EQ(Client::Connect({}).error().message, "etcdclient: no available endpoints");
  Options options{.endpoints = {"127.0.0.1:1"}};
  options.max_receive_bytes = 1;
  EXPECT_EQ(Client::Connect(options).error().code, Code::kInvalidArgument);
  options = {.endpoints = {"127.0.0.1:1"}};
  options.tls.certificate_file = "/nowhere";
  EXPECT_EQ(Client::Connect(options).error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace kvorum::client
