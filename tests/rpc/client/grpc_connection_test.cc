// A client's connection for single calls, against our own server.
#include "rpc/client/grpc_connection.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rpc/tls/socket.h"
#include "tests/rpc/test_server.h"

namespace kvorum::rpc {
namespace {

constexpr Duration kLong = std::chrono::seconds(30);

class GrpcConnectionTest : public testing::Test {
 protected:
  std::unique_ptr<GrpcConnection> Dial(GrpcConnection::Options options = {}) {
    const Url url = *Url::Parse("http://" + server_.address());
    auto made = GrpcConnection::Dial(url, nullptr, options);
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return *std::move(made);
  }

  TestServer server_;
};

TEST_F(GrpcConnectionTest, CallsOneAfterTheOther) {
  const auto connection = Dial();
  for (const std::string& text : {std::string("one"), std::string(), std::string(100'000, 'x')})
    EXPECT_EQ(connection->Call({.path = "/test.Echo/Unary", .message = text}, kLong), text);
}

TEST_F(GrpcConnectionTest, TheServersErrorIsTheCallers) {
  const auto connection = Dial();
  const auto answer =
      connection->Call({.path = "/test.Echo/Fail", .message = "9:100 % off\n\u00e9"}, kLong);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(answer.error().message, "100 % off\n\u00e9");
  EXPECT_TRUE(connection->is_usable());
}

TEST_F(GrpcConnectionTest, TheTokenIsSent) {
  const auto answer =
      Dial()->Call({.path = "/test.Echo/Metadata", .message = "", .token = "abc.1"}, kLong);
  ASSERT_TRUE(answer.has_value());
  EXPECT_NE(answer->find("token=abc.1"), std::string::npos) << *answer;
}

TEST_F(GrpcConnectionTest, MetadataIsSent) {
  const std::vector<std::pair<std::string, std::string>> metadata{{"x-scope", "a b"}};
  const auto answer =
      Dial()->Call({.path = "/test.Echo/Metadata", .message = "", .metadata = metadata}, kLong);
  ASSERT_TRUE(answer.has_value());
  EXPECT_NE(answer->find("x-scope=a b"), std::string::npos) << *answer;
}

TEST_F(GrpcConnectionTest, AnotherThreadShortensACall) {
  const auto connection = Dial();
  const int wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  std::atomic<bool> is_over = false;
  const WaitLimit limit(
      SystemClock().Now() + kLong, [&] { return is_over ? TimePoint{} : TimePoint{INT64_MAX}; },
      wake_fd);
  std::thread other([&] {
    // Without its reason a wake-up changes nothing.
    eventfd_write(wake_fd, 1);
    is_over = true;
    eventfd_write(wake_fd, 1);
  });
  const auto answer = connection->Call({.path = "/test.Echo/Hold", .message = "x"}, limit);
  other.join();
  close(wake_fd);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kDeadlineExceeded);
  EXPECT_TRUE(connection->is_usable());
}

TEST_F(GrpcConnectionTest, ASilentConnectionNoticesThatItsServerLeaves) {
  auto server = std::make_unique<TestServer>();
  const Url url = *Url::Parse("http://" + server->address());
  const auto connection = *GrpcConnection::Dial(url, nullptr, {});
  EXPECT_EQ(connection->Call({.path = "/test.Echo/Unary", .message = "y"}, kLong), "y");
  server.reset();
  pollfd readable{.fd = connection->fd(), .events = POLLIN, .revents = 0};
  for (int i = 0; i < 100 && connection->is_usable(); ++i) {
    ASSERT_EQ(poll(&readable, 1, 30'000), 1);
    connection->Idle();
  }
  EXPECT_FALSE(connection->is_usable());
}

TEST_F(GrpcConnectionTest, ACallEndsAtItsTimeAndTheNextOneGoesOn) {
  const auto connection = Dial();
  const auto answer =
      connection->Call({.path = "/test.Echo/Hold", .message = "x"}, std::chrono::milliseconds(20));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(connection->Call({.path = "/test.Echo/Unary", .message = "y"}, kLong), "y");
}

TEST_F(GrpcConnectionTest, AnAnswerThatIsTooLongIsRefused) {
  const auto connection = Dial({.max_message_bytes = 1000});
  const auto answer = connection->Call({.path = "/test.Echo/Size", .message = "1001"}, kLong);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kResourceExhausted);
  EXPECT_EQ(connection->Call({.path = "/test.Echo/Size", .message = "1000"}, kLong)->size(), 1000u);
}

// Messages without end would fill the memory until the call's time is over.
TEST_F(GrpcConnectionTest, ASecondAnswerEndsTheCall) {
  const auto connection = Dial();
  const auto answer = connection->Call({.path = "/test.Echo/Expand", .message = "3"}, kLong);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().message, "a unary call with more than one answer");
  EXPECT_EQ(connection->Call({.path = "/test.Echo/Unary", .message = "y"}, kLong), "y");
}

TEST_F(GrpcConnectionTest, AStreamStaysOpenUntilItsReaderHasEnough) {
  const auto connection = Dial();
  std::vector<std::string> messages;
  const auto take = [&](std::string_view message) {
    messages.emplace_back(message);
    return false;
  };
  EXPECT_TRUE(
      connection->Stream({.path = "/test.Echo/Chat", .message = "hello"}, take).has_value());
  EXPECT_EQ(messages, std::vector<std::string>{"hello"});
  EXPECT_EQ(connection->Call({.path = "/test.Echo/Unary", .message = "y"}, kLong), "y");
}

TEST_F(GrpcConnectionTest, AStreamsErrorIsReported) {
  const auto ended = Dial()->Stream({.path = "/test.Echo/Nothing", .message = ""},
                                    [](std::string_view) { return true; });
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().code, Code::kUnimplemented);
}

TEST_F(GrpcConnectionTest, AServerThatLeavesIsNoticed) {
  const auto connection = Dial();
  EXPECT_EQ(connection->Call({.path = "/test.Echo/Unary", .message = "y"}, kLong), "y");
  server_.Shutdown(std::chrono::milliseconds(1));
  const auto answer = connection->Call({.path = "/test.Echo/Unary", .message = "y"}, kLong);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_FALSE(connection->is_usable());
}

// Accepts connections by its kernel only, and never answers.
TEST(GrpcConnectionToADeafServerTest, IsGivenUpWhenPingsStayUnanswered) {
  const auto listener = ListenSocket::Tcp("127.0.0.1", 0);
  ASSERT_TRUE(listener.has_value() && listener->Listen().has_value());
  auto connection = GrpcConnection::Dial(*Url::Parse("http://" + listener->address()), nullptr,
                                         {.ping_interval = std::chrono::milliseconds(10),
                                          .ping_timeout = std::chrono::milliseconds(20)});
  ASSERT_TRUE(connection.has_value());
  const auto ended =
      (*connection)->Stream({.path = "/test.Echo/Chat", .message = ""}, [](std::string_view) {
        return true;
      });
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().message, "keepalive ping failed to receive ACK within timeout");
}

TEST(GrpcConnectionToNobodyTest, FailsWithTheReason) {
  const auto listener = ListenSocket::Tcp("127.0.0.1", 0);  // bound, not listening
  ASSERT_TRUE(listener.has_value());
  const auto made = GrpcConnection::Dial(*Url::Parse("http://" + listener->address()), nullptr, {});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().message, "Connection refused");
}

}  // namespace
}  // namespace kvorum::rpc
