// When a peer is dialled again whose streams could not be opened: more and more seldom, until it
// calls itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "tests/server/peer/peer_fixture.h"
#include "tests/server/peer/scripted_server.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// Member 2 listens and refuses every stream: to us it is down.
class RefusingPeerTest : public testing::Test {
 protected:
  static PeerTransport::Options Options(milliseconds first_redial) {
    PeerTransport::Options options = TestPeer::FastOptions();
    options.peers.first_redial = first_redial;
    options.peers.last_redial = std::chrono::hours(1);
    options.peers.probe_interval = std::chrono::hours(1);
    return options;
  }
  void Start(TestPeer& us) {
    MembershipView view = ViewOf({&us});
    view.members[2] = MemberAt(2, {refusing_.url()});
    us.Start(view);
  }
  // The number of times that we have asked it for its stream of messages.
  std::ptrdiff_t Dials() const {
    const auto requests = refusing_.requests();
    return std::ranges::count_if(requests, [](const ScriptedServer::Request& request) {
      return request.head.starts_with("GET /raft/stream/message/");
    });
  }
  template <class Between>
  bool AwaitDials(std::ptrdiff_t count, Between&& between) {
    const auto deadline = SteadyClock::now() + kPatience;
    while (Dials() < count) {
      if (SteadyClock::now() > deadline) return false;
      between();
      std::this_thread::sleep_for(milliseconds(1));
    }
    return true;
  }
  bool AwaitDials(std::ptrdiff_t count) {
    return AwaitDials(count, [] {});
  }
  static void CallByAPost(TestPeer& us) {
    RawClient client(us.port());
    client.Send(
        PostOf({.type = raft::MessageType::kHeartbeatResp, .to = 1, .from = 2, .term = 1}, 2));
    EXPECT_TRUE(client.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 204 "));
  }
  static void CallByAStream(TestPeer& us) {
    RawClient client(us.port());
    client.Send(PeerRequest("GET", "/raft/stream/message/2", 2, "X-Raft-To: 1\r\n"));
    EXPECT_TRUE(client.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 200 "));
  }
  // It would be dialled a second later. A busy machine gets three tries to be faster than half of
  // that.
  void ExpectADialByACall(void (*call)(TestPeer& us)) {
    TestPeer us(1, Options(milliseconds(5)));
    Start(us);
    SteadyClock::duration fastest = std::chrono::hours(1);
    for (int i = 0; i < 3 && fastest > milliseconds(450); ++i) {
      EXPECT_TRUE(AwaitDials(Dials() + 14));
      const std::ptrdiff_t dials = Dials();
      call(us);
      const auto begin = SteadyClock::now();
      EXPECT_TRUE(AwaitDials(dials + 1));
      fastest = std::min(fastest, SteadyClock::now() - begin);
    }
    EXPECT_LT(fastest, milliseconds(450));
    us.Stop();
  }

  std::string refusal_ = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";  // before Start
  ScriptedServer refusing_{[this](const ScriptedServer::Request&) -> ScriptedServer::Reply {
    return {.text = refusal_};
  }};
};

TEST_F(RefusingPeerTest, IsDialledAtOnceWhenItPosts) { ExpectADialByACall(&CallByAPost); }

TEST_F(RefusingPeerTest, IsDialledAtOnceWhenItOpensAStream) { ExpectADialByACall(&CallByAStream); }

TEST_F(RefusingPeerTest, IsDialledNoMoreOftenThanWithTheShortestPause) {
  constexpr milliseconds kPause(50);
  TestPeer us(1, Options(kPause));
  const auto begin = SteadyClock::now();
  Start(us);
  EXPECT_TRUE(AwaitDials(8, [&] { CallByAPost(us); }));
  const std::ptrdiff_t dials = Dials();
  EXPECT_LE((dials - 1) * kPause, SteadyClock::now() - begin);
  us.Stop();
}

TEST_F(RefusingPeerTest, IsDialledMoreAndMoreSeldomWhileItIsSilent) {
  TestPeer us(1, Options(milliseconds(5)));
  const auto begin = SteadyClock::now();
  Start(us);
  EXPECT_TRUE(AwaitDials(10));
  // 5, 7.5, 11.25, … of a pause.
  EXPECT_GE(SteadyClock::now() - begin, milliseconds(370));
  us.Stop();
}

// The connection stays open, and nothing more comes: only who has given up dials again.
class EndlessRefusalTest : public RefusingPeerTest,
                           public testing::WithParamInterface<const char*> {};

TEST_P(EndlessRefusalTest, IsGivenUpAtItsBound) {
  refusal_ = std::string(GetParam()) + std::string(std::size_t{256} << 10, '1');
  PeerTransport::Options options = Options(milliseconds(5));
  options.peers.read_timeout = std::chrono::hours(1);
  TestPeer us(1, options);
  Start(us);
  EXPECT_TRUE(AwaitDials(4));
  us.Stop();
}

INSTANTIATE_TEST_SUITE_P(
    Of, EndlessRefusalTest,
    testing::Values("HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 404 ", "HTTP/1.1 404 Not Found\r\n\r\n",
                    "HTTP/1.1 404 Not Found\r\nContent-Length: 99999999\r\n\r\n",
                    "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n0;",
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0;"));

}  // namespace
}  // namespace kvorum::server
