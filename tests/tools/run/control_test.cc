// The control socket of a running command: what it answers, and how little a bad client gets.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/executor.h"
#include "base/file_descriptor.h"
#include "rpc/tls/socket.h"
#include "tools/run/control_client.h"
#include "tools/run/control_server.h"

namespace kvorum::ctl {
namespace {

using sync::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class ControlTest : public testing::Test {
 protected:
  ControlTest() : folder_(mkdtemp(name_.data())), path_(folder_ + "/socket") {}
  ~ControlTest() override {
    server_ = nullptr;
    unlink(path_.c_str());
    unlink((path_ + ".lock").c_str());
    rmdir(folder_.c_str());
  }

  void Serve(ControlHandlers handlers, const ControlLimits& limits = {}) {
    auto server = ControlServer::Open(path_, executor_, std::move(handlers), limits);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = *std::move(server);
  }
  // Answers "echo" with what came.
  void ServeEcho(const ControlLimits& limits = {}) {
    ControlHandlers handlers;
    handlers["echo"] = [](const Json& request, ControlReply reply) { reply.Ok(request["text"]); };
    Serve(std::move(handlers), limits);
  }
  Outcome<Json> Ask(const std::string& text) {
    return AskControl(path_, {{"command", "echo"}, {"text", text}});
  }

  FileDescriptor Connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  static void Send(const FileDescriptor& fd, std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count < 0) return;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  // All lines until there are `lines`, or until the server closes.
  static std::string Receive(const FileDescriptor& fd, std::size_t lines = 1) {
    std::string text;
    std::array<char, 65536> buffer;
    while (lines > 0) {
      const ssize_t seen = recv(fd.get(), buffer.data(), buffer.size(), MSG_PEEK);
      if (seen <= 0) break;
      std::size_t taken = 0;
      while (lines > 0 && taken < static_cast<std::size_t>(seen)) {
        if (buffer[taken++] == '\n') --lines;
      }
      recv(fd.get(), buffer.data(), taken, 0);
      text.append(buffer.data(), taken);
    }
    return text;
  }
  static bool IsClosed(const FileDescriptor& fd) {
    char c = 0;
    return recv(fd.get(), &c, 1, 0) <= 0;
  }

  std::string name_ = "/tmp/kvorum-control-XXXXXX";
  std::string folder_;
  std::string path_;
  ThreadExecutor executor_{"handlers"};
  std::unique_ptr<ControlServer> server_;
};

TEST_F(ControlTest, AnAnswerIsWhatTheHandlerGave) {
  ServeEcho();
  EXPECT_EQ(Ask("hello\n\"").value(), Json("hello\n\""));
}

TEST_F(ControlTest, AConnectionCarriesOneRequestAfterAnother) {
  ServeEcho();
  const auto fd = Connect();
  Send(fd, "{\"command\":\"echo\",\"text\":1}\n{\"command\":\"echo\",\"text\":2}\n{\"command\":");
  EXPECT_EQ(Receive(fd, 2), "{\"ok\":1}\n{\"ok\":2}\n");
  Send(fd, "\"echo\",\"text\":3}\n");
  EXPECT_EQ(Receive(fd), "{\"ok\":3}\n");
}

TEST_F(ControlTest, AClientThatEndsItsSideStillGetsItsAnswer) {
  std::promise<ControlReply> held;
  ControlHandlers handlers;
  handlers["wait"] = [&](const Json&, ControlReply reply) { held.set_value(std::move(reply)); };
  Serve(std::move(handlers));
  const auto fd = Connect();
  Send(fd, "{\"command\":\"wait\"}\n");
  shutdown(fd.get(), SHUT_WR);
  held.get_future().get().Ok();
  EXPECT_EQ(Receive(fd), "{\"ok\":{}}\n");
  EXPECT_TRUE(IsClosed(fd));
}

TEST_F(ControlTest, RubbishIsNamedAndReachesNoHandler) {
  ServeEcho();
  const auto fd = Connect();
  for (const auto& [line, why] : std::map<std::string, std::string>{
           {"", "the request is not a JSON object"},
           {"[]", "the request is not a JSON object"},
           {"{\"command\":\"echo\"", "the request is not a JSON object"},
           {std::string("\0\xff\x80", 3), "the request is not a JSON object"},
           {"{}", "\"command\" is not a string"},
           {"{\"command\":7}", "\"command\" is not a string"},
           {"{\"command\":\"x\"}", "unknown command \"x\"; there are: echo"},
           {std::string(65, '['), "the request is nested too deeply"}}) {
    Send(fd, line + "\n");
    EXPECT_EQ(Receive(fd), ControlText({{"error", why}}) + "\n") << line;
  }
  Send(fd, "{\"command\":\"echo\",\"text\":\"on\"}\n");
  EXPECT_EQ(Receive(fd), "{\"ok\":\"on\"}\n");
}

TEST_F(ControlTest, BracketsInStringsAreNoNesting) {
  const ControlLimits limits{.request_depth = 2};
  EXPECT_TRUE(ParseControlRequest(R"({"command":"[[[\"[[["})", limits).has_value());
  EXPECT_TRUE(ParseControlRequest(R"({"command":"a","b":[1],"c":[2]})", limits).has_value());
  EXPECT_FALSE(ParseControlRequest(R"({"command":"a","b":[[1]]})", limits).has_value());
}

TEST_F(ControlTest, ALineWithoutAnEndIsRefusedAtItsBound) {
  ServeEcho({.request_bytes = 1000});
  const auto fd = Connect();
  Send(fd, std::string(5000, 'x'));
  EXPECT_EQ(Receive(fd), "{\"error\":\"the request has more than 1000 bytes\"}\n");
  EXPECT_TRUE(IsClosed(fd));
  EXPECT_EQ(Ask("on").value(), Json("on"));
}

TEST_F(ControlTest, ConnectionsBeyondTheBoundAreToldSo) {
  ServeEcho({.connections = 2});
  auto first = Connect();
  auto second = Connect();
  const auto third = Connect();
  EXPECT_EQ(Receive(third), "{\"error\":\"too many connections\"}\n");
  EXPECT_TRUE(IsClosed(third));
  first.Close();
  while (!Ask("on").has_value()) {  // until the server has seen it
  }
}

TEST_F(ControlTest, ASilentClientIsClosedAndOneThatWaitsIsNot) {
  std::promise<ControlReply> held;
  ControlHandlers handlers;
  handlers["wait"] = [&](const Json&, ControlReply reply) { held.set_value(std::move(reply)); };
  Serve(std::move(handlers), {.patience = std::chrono::milliseconds(100)});
  const auto waiting = Connect();
  Send(waiting, "{\"command\":\"wait\"}\n");
  ControlReply reply = held.get_future().get();
  const auto silent = Connect();
  EXPECT_TRUE(IsClosed(silent));
  reply.Ok();
  EXPECT_EQ(Receive(waiting), "{\"ok\":{}}\n");
}

TEST_F(ControlTest, ItemsBeyondTheBoundOfAClientThatDoesNotReadAreRefused) {
  std::promise<std::size_t> written;
  ControlHandlers handlers;
  handlers["flood"] = [&](const Json&, ControlReply reply) {
    std::size_t items = 0;
    while (items < 100'000 && reply.Item(std::string(1000, 'x'))) ++items;
    written.set_value(items);
    reply.Ok();
  };
  Serve(std::move(handlers), {.unread_bytes = 100'000});
  const auto fd = Connect();
  Send(fd, "{\"command\":\"flood\"}\n");
  EXPECT_LT(written.get_future().get(), 5000U);  // the bound, and what the kernel takes
}

TEST_F(ControlTest, AStreamIsMadeAsTheClientReadsIt) {
  std::atomic<int> made = 0;
  ControlHandlers handlers;
  handlers["list"] = [&](const Json&, ControlReply reply) {
    reply.Stream([&made]() -> std::optional<Json> {
      if (made == 20'000) return std::nullopt;
      ++made;
      return std::string(1000, 'x');
    });
  };
  Serve(std::move(handlers));
  const auto fd = Connect();
  Send(fd, "{\"command\":\"list\"}\n");
  EXPECT_THAT(Receive(fd), StartsWith("{\"item\":\"xxx"));
  EXPECT_LT(made, 10'000);
  const std::string rest = Receive(fd, 20'000);
  EXPECT_EQ(made, 20'000);
  EXPECT_EQ(rest.substr(rest.size() - 10), "{\"ok\":{}}\n");
}

TEST_F(ControlTest, TheClientIsToldOfItemsAndMayHaveEnough) {
  ControlHandlers handlers;
  handlers["list"] = [](const Json& request, ControlReply reply) {
    for (int i = 0; i < request["count"].get<int>(); ++i) reply.Item(i);
    reply.Ok({{"end", true}});
  };
  Serve(std::move(handlers));
  std::vector<int> items;
  AskOptions options{.on_item = [&](const Json& item) {
    items.push_back(item.get<int>());
    return items.size() < 3;
  }};
  EXPECT_EQ(AskControl(path_, {{"command", "list"}, {"count", 2}}, options).value(),
            Json({{"end", true}}));
  EXPECT_EQ(AskControl(path_, {{"command", "list"}, {"count", 9}}, options).value(),
            Json::object());
  EXPECT_THAT(items, ElementsAre(0, 1, 0));
}

TEST_F(ControlTest, AnErrorIsTheFailuresText) {
  ControlHandlers handlers;
  handlers["fail"] = [](const Json&, ControlReply reply) { reply.Fail("no such service"); };
  handlers["drop"] = [](const Json&, const ControlReply&) {};
  Serve(std::move(handlers));
  EXPECT_EQ(AskControl(path_, {{"command", "fail"}}).error(),
            Failure(ExitCode::kError, "no such service"));
  EXPECT_EQ(AskControl(path_, {{"command", "drop"}}).error().message, "the request was dropped");
}

TEST_F(ControlTest, AStopEndsTheClientsWait) {
  std::promise<ControlReply> held;
  ControlHandlers handlers;
  handlers["wait"] = [&](const Json&, ControlReply reply) { held.set_value(std::move(reply)); };
  Serve(std::move(handlers));
  std::stop_source stop;
  std::jthread stopper([&] {
    const ControlReply reply = held.get_future().get();
    stop.request_stop();
  });
  EXPECT_EQ(AskControl(path_, {{"command", "wait"}}, {.stop = stop.get_token()}).value(),
            Json::object());
}

TEST_F(ControlTest, AReplyMayComeAfterTheServerHasGone) {
  std::promise<ControlReply> held;
  ControlHandlers handlers;
  handlers["wait"] = [&](const Json&, ControlReply reply) { held.set_value(std::move(reply)); };
  Serve(std::move(handlers));
  const auto fd = Connect();
  Send(fd, "{\"command\":\"wait\"}\n");
  ControlReply reply = held.get_future().get();
  server_ = nullptr;
  EXPECT_FALSE(reply.Item(1));
  reply.Ok();
  EXPECT_TRUE(IsClosed(fd));
  EXPECT_EQ(access(path_.c_str(), F_OK), -1);
}

TEST_F(ControlTest, TheSocketIsItsUsersAloneWhateverTheUmask) {
  for (const mode_t mask : {0U, 022U, 0177U, 0777U}) {
    server_ = nullptr;
    const mode_t before = umask(mask);
    {
      // From the moment in which it has its name, not only once it listens.
      const auto bound =
          rpc::ListenSocket::Unix(path_ + ".new", rpc::ListenSocket::UnixUse::kOwnerAlone);
      struct stat status{};
      EXPECT_EQ(stat((path_ + ".new").c_str(), &status), 0);
      EXPECT_EQ(status.st_mode, S_IFSOCK | S_IRUSR | S_IWUSR) << mask;
    }
    ServeEcho();
    umask(before);
    struct stat status{};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode, S_IFSOCK | S_IRUSR | S_IWUSR) << mask;
  }
}

TEST_F(ControlTest, ASocketWhereSomebodyListensIsNotTaken) {
  ServeEcho();
  EXPECT_THAT(ControlServer::Open(path_, executor_, {}).error().message, HasSubstr(path_));
  EXPECT_EQ(Ask("on").value(), Json("on"));
}

TEST_F(ControlTest, AListenerThatKnowsNoLockIsNotReplacedUntilItIsGone) {
  {
    auto other = rpc::ListenSocket::Unix(path_).value();
    ASSERT_TRUE(other.Listen().has_value());
    EXPECT_EQ(ControlServer::Open(path_, executor_, {}).error().message,
              path_ + ": another process listens there");
    ASSERT_EQ(rename(path_.c_str(), (path_ + ".old").c_str()), 0);  // dies without removing it
  }
  ASSERT_EQ(rename((path_ + ".old").c_str(), path_.c_str()), 0);
  EXPECT_EQ(Ask("on").error(),
            Failure(ExitCode::kBadConnection, path_ + ": no process listens there"));
  ServeEcho();
  EXPECT_EQ(Ask("on").value(), Json("on"));
}

TEST_F(ControlTest, AFileThatIsNoSocketStays) {
  std::ofstream(path_) << "precious";
  EXPECT_THAT(ControlServer::Open(path_, executor_, {}).error().message,
              HasSubstr("address already in use"));
  std::string content;
  std::ifstream(path_) >> content;
  EXPECT_EQ(content, "precious");
}

}  // namespace
}  // namespace kvorum::ctl
