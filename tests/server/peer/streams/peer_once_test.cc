// A message to a peer is sent once: a proposal that is delivered twice is applied twice, and the
// second time undoes writes acknowledged in between. The simulated network relies on that
// (docs/simulation.md).
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/peer/io/http_client.h"
#include "server/peer/streams/pipeline.h"
#include "server/peer/transport/peer_requests.h"
#include "tests/server/peer/peer_fixture.h"
#include "tests/server/peer/scripted_server.h"

namespace kvorum::server {
namespace {

using raft::Message;
using raft::MessageType;
using Then = ScriptedServer::Then;
using ScriptedReply = ScriptedServer::Reply;

ScriptedReply NoContentReply(Then then = Then::kKeep) {
  return {ScriptedServer::NoContent(), then};
}

std::string Post(const std::string& body) {
  return "POST /raft HTTP/1.1\r\nHost: peer\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

class HttpClientTest : public testing::Test {
 protected:
  HttpClientTest() { loop_.Start(); }
  ~HttpClientTest() override {
    loop_.Post([this] { client_.reset(); });
    loop_.Stop();
  }

  Result<HttpReceived> Ask(const std::string& url, std::string request) {
    std::promise<Result<HttpReceived>> answer;
    loop_.Post([&] {
      client_->Ask(*Url::Parse(url), {SharedBytes::Own(std::move(request))}, kPatience,
                   [&](Result<HttpReceived> received) { answer.set_value(std::move(received)); });
    });
    return answer.get_future().get();
  }

  PeerLoop loop_{"test"};
  PeerDialer dialer_{loop_, loop_, nullptr};
  std::unique_ptr<HttpClient> client_ = std::make_unique<HttpClient>(dialer_);
};

TEST_F(HttpClientTest, ARequestWhoseAnswerIsCutOffIsNotSentAgain) {
  ScriptedServer server([](const ScriptedServer::Request& request) {
    const bool is_first_of_it = request.body == "x" && request.connection == 1;
    return is_first_of_it ? ScriptedReply{.text = {}, .then = Then::kReset} : NoContentReply();
  });
  ASSERT_TRUE(Ask(server.url(), Post("before")).has_value());
  // The existing connection is used, and breaks when the request was read.
  EXPECT_FALSE(Ask(server.url(), Post("x")).has_value());
  EXPECT_EQ(server.TimesOf("x"), 1);
  // The next one takes a fresh connection.
  EXPECT_TRUE(Ask(server.url(), Post("after")).has_value());
  EXPECT_EQ(server.requests().back().connection, 2);
  EXPECT_EQ(server.TimesOf("x"), 1);
}

TEST_F(HttpClientTest, NorIsOneThatIsAnsweredByTheEndOfTheConnection) {
  ScriptedServer server([](const ScriptedServer::Request& request) {
    return request.body == "x" ? ScriptedReply{.text = {}, .then = Then::kEnd} : NoContentReply();
  });
  ASSERT_TRUE(Ask(server.url(), Post("before")).has_value());
  EXPECT_FALSE(Ask(server.url(), Post("x")).has_value());
  EXPECT_EQ(server.TimesOf("x"), 1);
}

TEST_F(HttpClientTest, AConnectionThatIsClosedWhileItIdlesIsGivenUpAtOnce) {
  ScriptedServer server([](const ScriptedServer::Request& request) {
    return NoContentReply(request.connection == 1 ? Then::kEnd : Then::kKeep);
  });
  ASSERT_TRUE(Ask(server.url(), Post("before")).has_value());
  ASSERT_TRUE(server.AwaitClosed(1, kPatience));
  // So the next request, of any kind, is not lost on it.
  EXPECT_TRUE(Ask(server.url(), Post("x")).has_value());
  EXPECT_EQ(server.requests().back().connection, 2);
}

TEST_F(HttpClientTest, AnAnswerToNothingEndsTheConnection) {
  ScriptedServer server([](const ScriptedServer::Request& request) {
    if (request.connection == 1)
      return ScriptedReply{ScriptedServer::NoContent() + "HTTP/1.1 500 x", {}};
    return NoContentReply();
  });
  ASSERT_TRUE(Ask(server.url(), Post("before")).has_value());
  const auto next = Ask(server.url(), Post("x"));
  ASSERT_TRUE(next.has_value()) << next.error().message;
  EXPECT_EQ(next->head.status, 204);
  EXPECT_EQ(server.requests().back().connection, 2);
}

TEST_F(HttpClientTest, InterimAnswersAreSkippedAndTheConnectionStays) {
  ScriptedServer server([](const ScriptedServer::Request& request) {
    const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
    if (request.body == "x") return ScriptedReply{interim + interim + ScriptedServer::NoContent()};
    return NoContentReply();
  });
  const auto answer = Ask(server.url(), Post("x"));
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->head.status, 204);
  EXPECT_TRUE(Ask(server.url(), Post("next")).has_value());
  EXPECT_EQ(server.requests().back().connection, 1);
}

TEST_F(HttpClientTest, InterimAnswersWithoutEndEndTheConnection) {
  ScriptedServer server([](const ScriptedServer::Request&) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "HTTP/1.1 102 Processing\r\n\r\n";
    return ScriptedReply{std::move(text)};
  });
  const auto answer = Ask(server.url(), Post("x"));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kResourceExhausted);
}

// ---- a member, whose peer is played by the test ----

Message ProposalOf(std::string data) {
  Message message{.type = MessageType::kProp, .to = 2, .from = 1};
  message.entries.push_back({.data = SharedBytes::Own(std::move(data))});
  return message;
}

class PeerOnceTest : public testing::Test {
 protected:
  void TearDown() override { member_.Stop(); }
  void StartWithPeerAt(const std::string& url) {
    MembershipView view = ViewOf({&member_});
    view.members[2] = MemberAt(2, {url});
    member_.Start(std::move(view));
  }
  const PeerCounters& counters() { return member_.transport().counters(); }
  template <class Condition>
  static bool Until(Condition&& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  TestPeer member_{1};
};

ScriptedReply RefuseStreams(const ScriptedServer::Request& request) {
  if (request.head.starts_with("POST /raft ")) return NoContentReply();
  return {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", Then::kReset};
}

TEST_F(PeerOnceTest, AProposalThatThePipelinePostedIsNotPostedAgain) {
  const Message proposal = ProposalOf("x=1");
  const std::string bytes = raft::Encode(proposal);
  ScriptedServer peer([&](const ScriptedServer::Request& request) {
    return request.body == bytes ? ScriptedReply{.text = {}, .then = Then::kReset}
                                 : RefuseStreams(request);
  });
  StartWithPeerAt(peer.url());
  // An existing connection, from an earlier message.
  member_.transport().Send({{.type = MessageType::kHeartbeat, .to = 2, .from = 1, .term = 1}});
  ASSERT_TRUE(Until([&] { return counters().sent_messages == 1; }));
  member_.transport().Send({proposal});
  ASSERT_TRUE(Until([&] { return counters().dropped_messages == 1; }))
      << "posted " << peer.TimesOf(bytes) << " times";
  EXPECT_EQ(peer.TimesOf(bytes), 1);
  // Raft learns of the loss, and repeats what it can.
  EXPECT_TRUE(member_.receiver().Until([&] { return member_.receiver().unreachable[2] == 1; }));
}

TEST_F(PeerOnceTest, AQuestionIsPostedOnceToo) {
  ScriptedServer peer([&](const ScriptedServer::Request& request) {
    if (request.body == "second") return ScriptedReply{.text = {}, .then = Then::kReset};
    if (request.body == "first") return NoContentReply();
    return RefuseStreams(request);
  });
  StartWithPeerAt(peer.url());
  const auto ask = [&](const std::string& body) {
    std::promise<bool> answered;
    member_.transport().Post(2, "/leases", SharedBytes::Copy(body), kPatience,
                             [&](const auto& answer) { answered.set_value(answer.has_value()); });
    return answered.get_future().get();
  };
  ASSERT_TRUE(Until([&] { return ask("first"); }));  // the peer is known a moment after the start
  EXPECT_FALSE(ask("second"));
  EXPECT_EQ(peer.TimesOf("second"), 1);
}

TEST_F(PeerOnceTest, WhatAStreamHadWhenItBrokeGoesOverNoOtherWay) {
  ScriptedServer peer(RefuseStreams);
  StartWithPeerAt(peer.url());
  const std::string open = PeerRequest("GET", "/raft/stream/message/2", 2, "X-Raft-To: 1\r\n");
  const auto stands = [&](std::uint64_t streams) {
    return [&, streams] { return counters().open_streams == streams; };
  };
  {
    // One that does not read: most of what follows stays in the queue.
    RawClient stream(member_.port());
    ASSERT_TRUE(stream.Send(open));
    ASSERT_TRUE(Until(stands(1)));
    std::vector<Message> messages;
    for (int i = 0; i < 32; ++i)
      messages.push_back(ProposalOf("old" + std::string(std::size_t{1} << 20, '.')));
    member_.transport().Send(std::move(messages));
    // Some of it is in flight.
    EXPECT_NE(stream.ReadUntil("old").find("old"), std::string::npos);
  }
  ASSERT_TRUE(Until(stands(0)));
  member_.transport().Send({ProposalOf("posted")});
  ASSERT_TRUE(Until([&] { return peer.TimesOf(raft::Encode(ProposalOf("posted"))) == 1; }));
  RawClient stream(member_.port());
  ASSERT_TRUE(stream.Send(open));
  ASSERT_TRUE(Until(stands(1)));
  member_.transport().Send({ProposalOf("new")});
  const std::string received = stream.ReadUntil("new");
  EXPECT_NE(received.find("new"), std::string::npos);
  EXPECT_EQ(received.find("old"), std::string::npos);
  EXPECT_EQ(received.find("posted"), std::string::npos);
  for (const ScriptedServer::Request& request : peer.requests())
    EXPECT_EQ(request.body.find("old"), std::string::npos);
}

}  // namespace
}  // namespace kvorum::server
