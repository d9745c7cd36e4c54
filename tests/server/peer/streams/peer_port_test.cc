// The peer port's answers to any HTTP client: every refusal with its status and text.
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

TEST_F(PeerPortTest, ChecksComeInOrderWithTheirAnswers) {
  Start();
  const auto stream = [](raft::MemberId from, std::string_view to) {
    return PeerRequest("GET", "/raft/stream/message/" + IdText(from), from,
                       "X-Raft-To: " + std::string(to) + "\r\n");
  };
  EXPECT_EQ(Answer(PeerRequest("POST", "/raft/stream/message/2")), "405 Method Not Allowed");
  EXPECT_EQ(Answer(PeerRequest("GET", "/raft")), "405 Method Not Allowed");
  EXPECT_EQ(Answer(PeerRequest("GET", "/raft/snapshot")), "405 Method Not Allowed");
  EXPECT_EQ(Header(PeerRequest("GET", "/raft"), "Allow"), "POST");
  EXPECT_EQ(Answer("GET /raft/stream/message/2 HTTP/1.1\r\nHost: x\r\n\r\n"),
            "412 incompatible version");
  EXPECT_EQ(Answer(RequestHead({.member_id = 2, .cluster_id = 9, .peer_urls = {}}, "POST", "x",
                               "/raft", "Content-Length: 3\r\n")),
            "412 cluster ID mismatch");
  EXPECT_EQ(Answer(PeerRequest("GET", "/raft/stream/else/2")), "404 invalid path");
  EXPECT_EQ(Answer(PeerRequest("GET", "/raft/stream/message/x")), "404 invalid from");
  EXPECT_EQ(Answer(stream(3, "1")), "410 removed member");
  EXPECT_EQ(Answer(stream(4, "1")), "404 error sender not found");
  EXPECT_EQ(Answer(stream(2, "7")), "412 to field mismatch");
  EXPECT_EQ(Header(stream(2, "7"), "X-Etcd-Cluster-Id"), "c1");
  EXPECT_EQ(Header(stream(2, "7"), "X-Server-Version"), "3.7.3");
  EXPECT_EQ(Answer(PostOf(Vote(3, 1), 3)), "403 cannot process message from removed member");
  EXPECT_EQ(Answer(PostOf(Vote(3, 1), 2)), "403 cannot process message from removed member");
  EXPECT_EQ(Answer(PostOf(Vote(2, 9), 2)), "403 cannot process message to mismatch member");
  EXPECT_EQ(Answer(PeerRequest("POST", "/raft", 2, "Content-Length: 2\r\n") + "zz"),
            "400 error unmarshalling raft message");
  EXPECT_EQ(Received(), 0);
  EXPECT_GE(counters().refused_requests, 10);
  ExpectServes();
}

TEST_F(PeerPortTest, AStreamIsAnsweredAndCarriesLinkHeartbeats) {
  PeerTransport::Options options = TestPeer::FastOptions();
  options.peers.read_timeout = std::chrono::milliseconds(30);
  TestPeer other(1, options);
  MembershipView view = ViewOf({&other});
  view.members[2] = MemberAt(2, {"http://127.0.0.1:1"});
  other.Start(std::move(view));
  RawClient client(other.port());
  client.Send(PeerRequest("GET", "/raft/stream/message/2", 2, "X-Raft-To: 1\r\n"));
  const std::string beat("\0\0\0\0\0\0\0\2\x08\x08", 10);
  const std::string received = client.ReadUntil(beat + beat);
  EXPECT_TRUE(received.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_NE(received.find("X-Server-Version: 3.7.3\r\n"), std::string::npos);
  other.Stop();
}

TEST_F(PeerPortTest, AStreamOpenedAnewTakesThePlaceOfTheOldOne) {
  Start();
  const std::string request = PeerRequest("GET", "/raft/stream/msgapp/2", 2, "X-Raft-To: 1\r\n");
  RawClient first(peer_.port());
  first.Send(request);
  first.ReadUntil("\r\n\r\n");
  RawClient second(peer_.port());
  second.Send(request);
  second.ReadUntil("\r\n\r\n");
  EXPECT_TRUE(Short(first.ReadToEnd()).starts_with("200"));  // and it ended
}

TEST_F(PeerPortTest, WhatIsNotOfTheProtocolGoesToTheOtherHandlers) {
  Start();
  EXPECT_EQ(Answer(PeerRequest("GET", "/members?x=1")), "200 GET /members?x=1");
  EXPECT_EQ(Answer("GET /version HTTP/1.1\r\nHost: x\r\n\r\n"), "200 GET /version");
  const std::string probe = Answer("GET /raft/probing HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(probe.starts_with("200 {\"OK\":true,\"Now\":\"")) << probe;
  EXPECT_EQ(Answer(PeerRequest("PUT", "/x", 2, "Content-Length: 70000\r\n")),
            "413 Request Entity Too Large");
}

TEST_F(PeerPortTest, OneConnectionServesManyRequests) {
  Start();
  RawClient client(peer_.port());
  for (int i = 0; i < 3; ++i) client.Send(PostOf(Vote(2, 1), 2));
  client.Send(PeerRequest("GET", "/version"));
  client.EndSending();
  const std::string received = client.ReadUntil("GET /version");
  std::size_t answers = 0;
  for (std::size_t at = 0; (at = received.find("HTTP/1.1 204", at)) != std::string::npos; ++at)
    ++answers;
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(Received(), 3);
}

// Members, removed ones and strangers get the same answer, as from etcd's peers.
TEST_F(PeerPortTest, NonsenseIsToldBeforeItsSenderIsLookedAt) {
  Start();
  const auto post = [&](const std::string& body, raft::MemberId from) {
    return Answer(PeerRequest("POST", "/raft", from,
                              "Content-Length: " + std::to_string(body.size()) + "\r\n") +
                  body);
  };
  for (const raft::MemberId from : {raft::MemberId{2}, raft::MemberId{3}, raft::MemberId{77}}) {
    EXPECT_EQ(post("\xff\xff\xff", from), "400 error unmarshalling raft message") << from;
    // An entry that claims to be 2 GiB long.
    EXPECT_EQ(post("\x08\x03\x3a\xff\xff\xff\xff\x07", from),
              "400 error unmarshalling raft message")
        << from;
  }
  EXPECT_EQ(Answer(PostOf(Vote(2, 1), 2)), "204");
  EXPECT_EQ(Answer(PostOf(Vote(3, 1), 3)), "403 cannot process message from removed member");
  EXPECT_EQ(Answer(PostOf(Vote(77, 1), 77)), "403 unknown sender");
  // A body that would take more than a glance is not read.
  EXPECT_EQ(post(std::string(65'537, '\xff'), 77), "403 unknown sender");
  EXPECT_EQ(post(std::string(65'537, '\xff'), 2), "400 error unmarshalling raft message");
  EXPECT_EQ(Received(), 1);
}

class PeerSnapshotPortTest : public PeerPortTest {
 protected:
  static std::string Request(const std::string& body, raft::MemberId from, int format) {
    return PeerRequest("POST", "/raft/snapshot", from,
                       "X-Kvorum-Snapshot-Format: " + std::to_string(format) +
                           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n") +
           body;
  }
  std::string Post(const std::string& body, raft::MemberId from = 2, int format = 1) {
    return Answer(Request(body, from, format));
  }
  static std::string Frame(const Message& message) {
    ChainWriter out;
    EncodeMessageFrame(message, out);
    return Join(out.Take());
  }
  static Message Snap(raft::MemberId from, raft::MemberId to) {
    auto snapshot = std::make_shared<raft::Snapshot>();
    snapshot->metadata = {.conf_state = {.voters = {1, 2}}, .index = 500, .term = 3};
    return {.type = MessageType::kSnap, .to = to, .from = from, .term = 3, .snapshot = snapshot};
  }
};

TEST_F(PeerSnapshotPortTest, ItsFrontIsChecked) {
  Start();
  EXPECT_EQ(Post(""), "400 failed to decode raft message (unexpected EOF)");
  EXPECT_EQ(Post(Frame(Snap(2, 1)).substr(0, 12)),
            "400 failed to decode raft message (unexpected EOF)");
  EXPECT_EQ(Post(std::string("\x7f\0\0\0\0\0\0\0", 8)),
            "400 failed to decode raft message (rafthttp: error limit exceeded)");
  EXPECT_EQ(Post(Frame(Vote(2, 1))), "400 wrong raft message type");
  EXPECT_EQ(Post(Frame({.type = MessageType::kSnap, .to = 1, .from = 2, .term = 3})),
            "400 no snapshot");
  EXPECT_EQ(Post(Frame(Snap(2, 9))), "403 cannot process message to mismatch member");
  EXPECT_EQ(Post(Frame(Snap(4, 1))), "403 cannot process message of another sender");
  EXPECT_TRUE(peer_.receiver().snapshot_messages.empty());
  EXPECT_EQ(counters().refused_messages, 7);
  EXPECT_EQ(Post(Frame(Snap(2, 1)) + "content"), "204");
  EXPECT_EQ(peer_.receiver().snapshots, std::vector<std::string>{"content"});
}

TEST_F(PeerSnapshotPortTest, EveryAnswerNamesTheClusterOnce) {
  Start();
  const auto names = [&](const std::string& body, raft::MemberId from, int format) {
    RawClient client(peer_.port());
    client.Send(Request(body, from, format));
    const std::string head = client.ReadUntil("\r\n\r\n");
    const std::size_t first = head.find("X-Etcd-Cluster-Id: c1\r\n");
    EXPECT_NE(first, std::string::npos) << head;
    EXPECT_EQ(head.find("X-Etcd-Cluster-Id", first + 1), std::string::npos) << head;
    return head.substr(9, 3);
  };
  EXPECT_EQ(names(Frame(Snap(2, 1)) + "content", 2, 1), "204");
  EXPECT_EQ(names(Frame(Vote(2, 1)), 2, 1), "400");
  EXPECT_EQ(names(Frame(Snap(2, 9)), 2, 1), "403");
  EXPECT_EQ(names(Frame(Snap(3, 1)), 3, 1), "403");
  EXPECT_EQ(names(Frame(Snap(2, 1)), 2, 7), "415");
}

// They carry the members once more, and no header of ours.
TEST_F(PeerSnapshotPortTest, AnEtcdMembersIsTakenAndItsMessageKeptShort) {
  Start();
  Message message = Snap(2, 1);
  raft::Snapshot snapshot = *message.snapshot;
  snapshot.data = SharedBytes::Own(std::string(2'000'000, 'm'));
  message.snapshot = std::make_shared<const raft::Snapshot>(std::move(snapshot));
  EXPECT_EQ(
      Answer(PeerRequest("POST", "/raft/snapshot", 2,
                         "Content-Length: " + std::to_string(Frame(message).size() + 4) + "\r\n") +
             Frame(message) + "file"),
      "204");
  EXPECT_EQ(peer_.receiver().snapshots, std::vector<std::string>{"file"});
  EXPECT_EQ(peer_.receiver().snapshot_messages.at(0), Snap(2, 1));
}

TEST_F(PeerSnapshotPortTest, OneOfAnotherFormatIsReadOnlyAsFarAsItsMessage) {
  Start();
  EXPECT_EQ(Post(Frame(Snap(2, 1)) + "content", 2, 7), "415 a snapshot of another format");
  EXPECT_TRUE(peer_.receiver().snapshot_messages.empty());
}

TEST_F(PeerSnapshotPortTest, NonsenseIsToldBeforeItsSenderIsLookedAt) {
  Start();
  const std::string huge = std::string("\0\0\0\0\0\0\0\x08", 8) +
                           "\x08\x07\x4a\xff\xff\xff\xff\x07";  // a snapshot of 2 GiB
  const std::string garbage = std::string("\0\0\0\0\0\0\0\x03", 8) + "\xff\xff\xff";
  for (const raft::MemberId from : {raft::MemberId{2}, raft::MemberId{3}, raft::MemberId{77}}) {
    EXPECT_TRUE(Post(garbage, from).starts_with("400 failed to decode raft message (")) << from;
    EXPECT_TRUE(Post(huge, from).starts_with("400 failed to decode raft message (")) << from;
    EXPECT_EQ(Post(Frame(Vote(from, 1)), from), "400 wrong raft message type");
    EXPECT_EQ(Post(Frame(Vote(from, 1)).substr(0, 12), from),
              "400 failed to decode raft message (unexpected EOF)");
    EXPECT_EQ(Post(Frame(Vote(from, 1)), from, 7), "400 wrong raft message type");
  }
  EXPECT_EQ(Post(Frame(Snap(3, 1)), 3), "403 cannot process message from removed member");
  EXPECT_EQ(Post(Frame(Snap(77, 1)), 77), "403 unknown sender");
  EXPECT_EQ(Post(Frame(Snap(77, 1)), 77, 7), "403 unknown sender");
  // A body that would take more than a glance is not read.
  const std::string large = std::string("\0\0\0\0\0\x0f\0\0", 8) + std::string(80'000, '\xff');
  EXPECT_EQ(Post(large, 77), "403 unknown sender");
  EXPECT_TRUE(peer_.receiver().snapshot_messages.empty());
}

TEST_F(PeerSnapshotPortTest, WhatTheSinkSaysIsTheAnswer) {
  Start();
  peer_.receiver().sink_error = Error{Code::kUnavailable, "another one is under way"};
  EXPECT_EQ(Post(Frame(Snap(2, 1)) + "x"), "503 another one is under way");
  peer_.receiver().sink_error = Error{Code::kResourceExhausted, "no space"};
  EXPECT_EQ(Post(Frame(Snap(2, 1)) + "x"), "500 failed to save KV snapshot (no space)");
}

TEST_F(PeerSnapshotPortTest, ABodyThatBreaksOffDropsTheSink) {
  Start();
  {
    RawClient client(peer_.port());
    client.Send(PeerRequest("POST", "/raft/snapshot", 2,
                            "X-Kvorum-Snapshot-Format: 1\r\nContent-Length: 100000\r\n") +
                Frame(Snap(2, 1)) + "some");
    ASSERT_TRUE(
        peer_.receiver().Until([&] { return !peer_.receiver().snapshot_messages.empty(); }));
  }
  ASSERT_TRUE(peer_.receiver().Until([&] { return peer_.receiver().dropped_sinks == 1; }));
  EXPECT_TRUE(peer_.receiver().snapshots.empty());
}

}  // namespace
}  // namespace kvorum::server
