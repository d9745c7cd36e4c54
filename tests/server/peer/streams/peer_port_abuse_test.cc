// The peer port's resistance to abuse: every bound, and members served meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/entries/internal_request.h"
#include "server/peer/codec/stream_codec.h"
#include "tests/server/peer/peer_port_fixture.h"
#include "tests/server/replica/log_file.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using raft::Message;
using raft::MessageType;

TEST_F(PeerPortTest, MessagesThatNoMemberSendsAreDroppedAndCounted) {
  Start();
  std::vector<Message> bad = {Vote(2, 1), Vote(2, 1), Vote(2, 1)};
  bad[0].type = MessageType::kHup;
  bad[1].type = MessageType::kStorageAppend;
  bad[2].from = 1;  // not the sender
  for (const Message& message : bad) EXPECT_EQ(Answer(PostOf(message, 2)), "204");
  EXPECT_EQ(counters().refused_messages, 3);
  EXPECT_EQ(Received(), 0);
  Message transfer = Vote(7, 1);  // from the member that is to lead
  transfer.type = MessageType::kTransferLeader;
  EXPECT_EQ(Answer(PostOf(transfer, 2)), "204");
  EXPECT_EQ(Received(), 1);
}

TEST_F(PeerPortTest, EntriesThatNoMemberCouldApplyAreNotTakenFromALeaderEither) {
  Start();
  const auto append = [](SharedBytes data, raft::EntryType type = raft::EntryType::kNormal) {
    const raft::Entry entry{.term = 1, .index = 2, .type = type, .data = std::move(data)};
    const raft::Entry fine{.term = 1, .index = 1};
    return PostOf(
        {.type = MessageType::kApp, .to = 1, .from = 2, .term = 1, .entries = {fine, entry}}, 2);
  };
  EXPECT_EQ(Answer(append(SharedBytes::Static("junk"))), "204");
  EXPECT_EQ(Answer(append(EncodeInternalRequest(1, RequestKind::kPut, "junk"))), "204");
  EXPECT_EQ(Answer(append(EncodeInternalRequest(1, static_cast<RequestKind>(99), ""))), "204");
  EXPECT_EQ(Answer(append(SharedBytes::Static("junk"), raft::EntryType::kConfChange)), "204");
  EXPECT_EQ(counters().refused_messages, 4);
  EXPECT_EQ(Received(), 0);
  EXPECT_EQ(Answer(append(EncodeInternalRequest(1, RequestKind::kPut, PutBody("k", "v")))), "204");
  EXPECT_EQ(Received(), 1);
}

TEST_F(PeerPortTest, AFloodFromStrangersIsRefusedWithoutGrowth) {
  Start();
  for (raft::MemberId from = 100; from < 400; ++from) {
    EXPECT_EQ(Answer(PostOf(Vote(from, 1), from)), "403 unknown sender");  // tells no URLs
  }
  EXPECT_EQ(Received(), 0);
  for (raft::MemberId from = 100; from < 200; ++from) {
    EXPECT_EQ(
        Answer(RequestHead(
            {.member_id = from, .cluster_id = kTestCluster, .peer_urls = "http://127.0.0.1:1"},
            "GET", "x", "/raft/stream/message/" + IdText(from), "")),
        "404 error sender not found");
  }
  ExpectServes();
}

TEST_F(PeerPortTest, InventedPeersFillNoLog) {
  const LogFile log;
  Start();
  for (raft::MemberId from = 100; from < 400; ++from) {
    const std::string body =
        raft::Encode(Message{.type = MessageType::kVote, .to = 1, .from = from, .term = 5});
    EXPECT_EQ(
        Answer(
            RequestHead(
                {.member_id = from, .cluster_id = kTestCluster, .peer_urls = "http://127.0.0.1:1"},
                "POST", "x", "/raft", "Content-Length: " + std::to_string(body.size()) + "\r\n") +
            body),
        "204");
    EXPECT_TRUE(peer_.receiver().Until([&] { return !peer_.receiver().messages.empty(); }));
    peer_.transport().Send({{.type = MessageType::kVoteResp, .to = from, .from = 1, .term = 5}});
  }
  ExpectServes();
  EXPECT_EQ(log.LinesWith("heard of a peer").size(), 1U);
  EXPECT_LE(log.LinesWith("dropped a peer").size(), 1U);
  EXPECT_LE(log.LinesWith("cannot post a message to a peer").size(), 1U);
}

TEST_F(PeerPortTest, OneWhoIsNoMemberYetIsHeardAsLeaderOrCandidateOnly) {
  Start();
  const auto post = [](MessageType type) {
    const std::string body = raft::Encode(Message{.type = type, .to = 1, .from = 8, .term = 5});
    return RequestHead(
               {.member_id = 8, .cluster_id = kTestCluster, .peer_urls = "http://127.0.0.1:1"},
               "POST", "x", "/raft", "Content-Length: " + std::to_string(body.size()) + "\r\n") +
           body;
  };
  for (const MessageType type :
       {MessageType::kApp, MessageType::kHeartbeat, MessageType::kVote, MessageType::kPreVote}) {
    EXPECT_EQ(Answer(post(type)), "204");
  }
  EXPECT_EQ(Received(), 4);
  for (const MessageType type : {MessageType::kProp, MessageType::kVoteResp, MessageType::kAppResp,
                                 MessageType::kReadIndex, MessageType::kTimeoutNow}) {
    EXPECT_EQ(Answer(post(type)), "204");
  }
  EXPECT_EQ(Received(), 4);
  EXPECT_EQ(counters().refused_messages, 5);
}

TEST_F(PeerPortTest, MalformedAndOversizedRequestsEndTheirConnectionOnly) {
  Start();
  EXPECT_EQ(Answer("nonsense\r\n\r\n"), "400 Bad Request");
  EXPECT_EQ(Answer(std::string(300, '\0')), "400 Bad Request");
  EXPECT_EQ(Answer("GET / HTTP/1.1\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n"),
            "431 Request Header Fields Too Large");
  EXPECT_EQ(Answer(PeerRequest("POST", "/raft", 2, "Content-Length: 99999999999\r\n")),
            "413 Request Entity Too Large");
  EXPECT_EQ(Answer(PeerRequest("POST", "/raft", 2, "Content-Length: -1\r\n")), "400 Bad Request");
  EXPECT_EQ(Answer(PeerRequest("POST", "/raft", 2, "Transfer-Encoding: chunked\r\n") + "zz\r\n"),
            "400 Bad Request");
  EXPECT_GE(peer_.transport().server_stats().bad_requests, 6);
  ExpectServes();
}

TEST_F(PeerPortTest, ARequestThatIsRefusedForItsHeadIsTheLastOfItsConnection) {
  Start();
  RawClient client(peer_.port());
  client.Send("GET /version HTTP/1.1\r\nHost: x\r\n\r\nGET /version HTTP/1.1\r\n\r\n");
  const std::string received = client.ReadToEnd();
  EXPECT_TRUE(received.starts_with("HTTP/1.1 200 OK\r\n")) << received;
  const std::size_t second = received.find("HTTP/1.1 400 Bad Request\r\n");
  EXPECT_NE(second, std::string::npos) << received;
  EXPECT_EQ(received.find("HTTP/1.1", second + 1), std::string::npos) << received;
  EXPECT_EQ(Answer("POST /raft HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"),
            "501 Unsupported transfer encoding");
  ExpectServes();
}

// On each path, known or not, from any sender.
TEST_F(PeerPortTest, ChunksWithoutAnEndAreRefused) {
  Start();
  const auto post = [&](std::string_view path, const std::string& start, std::string_view piece) {
    std::string request =
        PeerRequest("POST", path, 2,
                    "X-Kvorum-Snapshot-Format: 1\r\nTransfer-Encoding: chunked\r\n") +
        start;
    for (std::size_t sent = 0; sent < 80'000; sent += piece.size()) request += piece;
    const std::string answer = Answer(request);
    return answer.substr(0, 3);
  };
  for (const std::string_view path :
       {"/raft", "/raft/snapshot", "/raft/probing", "/leases", "/leases/internal",
        "/members/promote/1", "/version", "/nothing"}) {
    for (const std::string start : {"1;", "0;", ""}) {
      EXPECT_EQ(post(path, start, start.empty() ? "0" : "x"), "400") << path << start;
    }
    EXPECT_EQ(post(path, "0\r\n", "a: b\r\n"), "431") << path;
    EXPECT_EQ(post(path, "0\r\na: ", "b"), "431") << path;
  }
  // The last connections may still be closing.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (peer_.transport().server_stats().gathered_bytes != 0 &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(peer_.transport().server_stats().gathered_bytes, 0);
  ExpectServes();
}

// Bytes of the framing do not show that the body goes on, and a body that comes byte by byte ends
// with the message's time.
TEST_F(PeerPortTest, ATrickleIsCutOff) {
  PeerTransport::Options options = TestPeer::FastOptions();
  options.server.head_timeout = std::chrono::milliseconds(300);
  options.server.body_timeout = std::chrono::milliseconds(300);
  options.server.message_timeout = std::chrono::milliseconds(600);
  TestPeer other(1, options);
  MembershipView view = ViewOf({&other});
  view.members[2] = MemberAt(2, {"http://127.0.0.1:1"});
  other.Start(std::move(view));
  const std::string post = PeerRequest("POST", "/raft", 2, "Transfer-Encoding: chunked\r\n");
  const std::string snapshot =
      PeerRequest("POST", "/raft/snapshot", 77,
                  "X-Kvorum-Snapshot-Format: 1\r\nTransfer-Encoding: chunked\r\n");
  for (const auto& [start, piece] : std::initializer_list<std::pair<std::string, std::string>>{
           {"GET / HTTP/1.1\r\nHost: x\r\nX: ", "x"},
           {post + "1;", "x"},
           {post + "0\r\na: ", "x"},
           {post, "1\r\nx\r\n"},
           {snapshot, "1\r\nx\r\n"}}) {
    RawClient client(other.port());
    client.Send(start);
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (client.Send(piece) && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_LT(std::chrono::steady_clock::now(), deadline) << start << piece;
  }
  other.Stop();
}

TEST_F(PeerPortTest, ManySilentConnectionsMakeRoomForAMember) {
  Start();
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(std::make_unique<RawClient>(peer_.port()));
    silent.back()->Send("POST /raft HT");
  }
  ExpectServes();
  EXPECT_LE(peer_.transport().server_stats().open, 40);
  EXPECT_GE(peer_.transport().server_stats().evicted, 60);
}

TEST_F(PeerPortTest, BodiesThatAreNeverFinishedAreBoundedTogether) {
  Start();
  std::vector<std::unique_ptr<RawClient>> slow;
  const std::string part(1 << 20, 'b');
  for (int i = 0; i < 20; ++i) {
    slow.push_back(std::make_unique<RawClient>(peer_.port()));
    if (slow.back()->Send(PeerRequest("POST", "/raft", 2, "Content-Length: 4000000\r\n")))
      slow.back()->Send(part);
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (peer_.transport().server_stats().bad_requests == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    EXPECT_LE(peer_.transport().server_stats().gathered_bytes, std::size_t{9} << 20);
    std::this_thread::yield();
  }
  EXPECT_LE(peer_.transport().server_stats().gathered_bytes, std::size_t{9} << 20);
  slow.clear();
  while (peer_.transport().server_stats().gathered_bytes != 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  ExpectServes();
}

// So are heads, with what their fields cost. One of usual size is taken all the same.
TEST_F(PeerPortTest, HeadsThatAreNeverFinishedAreBoundedTogether) {
  PeerTransport::Options options = TestPeer::FastOptions();
  options.server.max_gathered_bytes = std::size_t{1} << 20;
  TestPeer other(1, options);
  MembershipView view = ViewOf({&other});
  view.members[2] = MemberAt(2, {"http://127.0.0.1:1"});
  other.Start(std::move(view));
  const auto& stats = other.transport().server_stats();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const std::string head = "GET /version HTTP/1.1\r\nHost: x\r\nX: " + std::string(60'000, 'x');
  std::vector<std::unique_ptr<RawClient>> slow;
  constexpr std::size_t kMostOfOne = std::size_t{140} << 10;
  for (std::size_t i = 0; i < 40; ++i) {
    slow.push_back(std::make_unique<RawClient>(other.port()));
    slow.back()->Send(head);
  }
  while (stats.bad_requests == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  EXPECT_LE(stats.gathered_bytes, options.server.max_gathered_bytes + kMostOfOne);
  EXPECT_GT(stats.gathered_bytes, options.server.max_gathered_bytes / 2);
  RawClient usual(other.port());
  usual.Send("GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(usual.ReadToEnd().starts_with("HTTP/1.1 200 OK\r\n"));
  slow.clear();
  while (stats.gathered_bytes != 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  other.Stop();
}

// An announced length counts before its bytes come: else each connection would be good for 4 MiB.
TEST_F(PeerPortTest, MessagesInFrontOfSnapshotsAreBoundedTogether) {
  Start();
  const std::string start =
      PeerRequest("POST", "/raft/snapshot", 2,
                  "X-Kvorum-Snapshot-Format: 1\r\nContent-Length: 9000000\r\n") +
      std::string("\0\0\0\0\0\x30\0\0", 8) + "some";  // of 3 MiB
  constexpr std::size_t kEach = (std::size_t{3} << 20) + 8;
  const auto& stats = peer_.transport().server_stats();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto wait_for = [&](std::size_t bytes) {
    // With the heads.
    const std::size_t most = bytes == 0 ? 0 : bytes + 4'000;
    const auto is_right = [&] {
      return stats.gathered_bytes >= bytes && stats.gathered_bytes <= most;
    };
    while (!is_right() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_GE(stats.gathered_bytes, bytes);
    EXPECT_LE(stats.gathered_bytes, most);
  };
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(std::make_unique<RawClient>(peer_.port()));
    slow.back()->Send(start);
  }
  wait_for(2 * kEach);
  EXPECT_EQ(Answer(start), "503 too many requests");
  wait_for(2 * kEach);
  slow.clear();
  wait_for(0);
  ExpectServes();
}

// A server in place of a member: it writes given bytes into the streams that are opened at it.
class FalseMember {
 public:
  explicit FalseMember(std::string stream) : stream_(std::move(stream)), loop_("false-member") {
    listener_ = *PeerListener::Bind(loop_, *Url::Parse("http://127.0.0.1:0"));
    EXPECT_TRUE(listener_->Listen().has_value());
    url_ = "http://" + listener_->address();
    loop_.Post([this] {
      listener_->Start([this](std::unique_ptr<PeerSocket> socket) {
        ++accepted_;
        sockets_.push_back(std::move(socket));
        sockets_.back()->Write(
            {SharedBytes::Own("HTTP/1.1 200 OK\r\nX-Server-Version: 3.7.3\r\n\r\n" + stream_)},
            [](const Result<std::size_t>&) {});
      });
    });
    loop_.Start();
  }
  ~FalseMember() {
    loop_.Post([this] {
      listener_->Close();
      sockets_.clear();
    });
    loop_.Stop();
  }
  const std::string& url() const { return url_; }
  int accepted() const { return accepted_; }

 private:
  const std::string stream_;
  PeerLoop loop_;
  std::unique_ptr<PeerListener> listener_;
  std::string url_;
  std::vector<std::unique_ptr<PeerSocket>> sockets_;
  std::atomic<int> accepted_{0};
};

TEST_F(PeerPortTest, AMemberThatWritesNonsenseIsDialledAgainAndHarmsNobody) {
  const FalseMember liar(std::string("\x7f\xff\xff\xff\xff\xff\xff\xff nonsense", 17));
  MembershipView view = ViewOf({&peer_});
  view.members[2] = MemberAt(2, {liar.url()});
  peer_.Start(std::move(view));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (counters().broken_frames < 4) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  ExpectServes();
}

TEST_F(PeerPortTest, AMemberThatSpeaksForOthersIsNotHeard) {
  ChainWriter out;
  for (int i = 0; i < 50; ++i) EncodeMessageFrame(Vote(3, 1), out);
  EncodeMessageFrame(Vote(2, 5), out);
  EncodeMessageFrame(Vote(2, 1), out);
  const FalseMember liar(Join(out.Take()));
  MembershipView view = ViewOf({&peer_});
  view.members[2] = MemberAt(2, {liar.url()});
  peer_.Start(std::move(view));
  ASSERT_TRUE(peer_.receiver().Until([&] { return !peer_.receiver().messages.empty(); }));
  for (const Message& message : peer_.receiver().messages) EXPECT_EQ(message, Vote(2, 1));
  EXPECT_GE(counters().refused_messages, 51);
}

}  // namespace
}  // namespace kvorum::server
