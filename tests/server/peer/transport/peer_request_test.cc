// Single requests to peer ports: the bytes sent, the answers accepted, and that nothing waits
// beyond its time-out.
#include "server/peer/transport/peer_request.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "rpc/tls/socket.h"
#include "server/peer/io/peer_loop.h"
#include "server/peer/io/peer_socket.h"
#include "tests/server/peer/peer_fixture.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;

// Gives every client the same scripted answer, and nothing more; keeps the requests.
class Answerer {
 public:
  Answerer(std::string answer, bool then_closes)
      : answer_(std::move(answer)), then_closes_(then_closes), loop_("answerer") {
    listener_ = *PeerListener::Bind(loop_, *Url::Parse("http://127.0.0.1:0"));
    EXPECT_TRUE(listener_->Listen().has_value());
    loop_.Post([this] {
      listener_->Start([this](std::unique_ptr<PeerSocket> socket) { Answer(std::move(socket)); });
    });
    loop_.Start();
  }
  ~Answerer() {
    loop_.Post([this] {
      listener_->Close();
      sockets_.clear();
    });
    loop_.Stop();
  }
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

  std::string url() const { return "http://" + listener_->address(); }
  std::string Question() { return question_.get_future().get(); }

 private:
  void Answer(std::unique_ptr<PeerSocket> socket) {
    PeerSocket& asked = *sockets_.emplace_back(std::move(socket));
    asked.Read(buffer_, [this, &asked](const Result<std::size_t>& bytes) {
      if (!bytes.has_value()) return;
      if (!std::exchange(told_, true)) question_.set_value(std::string(buffer_.data(), *bytes));
      if (answer_.empty()) return;
      asked.Write({SharedBytes::Copy(answer_)}, [this, &asked](const Result<std::size_t>&) {
        if (then_closes_) asked.Close();
      });
    });
  }

  const std::string answer_;
  const bool then_closes_;
  PeerLoop loop_;
  std::unique_ptr<PeerListener> listener_;
  std::vector<std::unique_ptr<PeerSocket>> sockets_;
  std::array<char, 4096> buffer_{};
  std::promise<std::string> question_;
  bool told_ = false;
};

// Gives its one client the beginning of an answer, then the same piece for as long as the client
// takes it.
class EndlessAnswerer {
 public:
  EndlessAnswerer(std::string_view beginning, std::string_view piece)
      : beginning_(beginning), loop_("endless") {
    while (piece_.size() < kPieceBytes) piece_.append(piece);
    listener_ = *PeerListener::Bind(loop_, *Url::Parse("http://127.0.0.1:0"));
    EXPECT_TRUE(listener_->Listen().has_value());
    loop_.Post([this] {
      listener_->Start([this](std::unique_ptr<PeerSocket> socket) {
        socket_ = std::move(socket);
        socket_->Read(buffer_, [this](const Result<std::size_t>&) { Write(beginning_); });
      });
    });
    loop_.Start();
  }
  ~EndlessAnswerer() {
    loop_.Post([this] {
      listener_->Close();
      socket_.reset();
    });
    loop_.Stop();
  }
  EndlessAnswerer(const EndlessAnswerer&) = delete;
  EndlessAnswerer& operator=(const EndlessAnswerer&) = delete;

  std::string url() const { return "http://" + listener_->address(); }
  std::size_t sent_bytes() const { return sent_bytes_.load(); }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

  void Write(std::string_view text) {
    socket_->Write({SharedBytes::Copy(text)}, [this](const Result<std::size_t>& sent) {
      if (!sent.has_value() || socket_ == nullptr) return;
      sent_bytes_ += *sent;
      Write(piece_);
    });
  }

  const std::string beginning_;
  std::string piece_;
  PeerLoop loop_;
  std::unique_ptr<PeerListener> listener_;
  std::unique_ptr<PeerSocket> socket_;
  std::array<char, 4096> buffer_{};
  std::atomic<std::size_t> sent_bytes_ = 0;
};

// No process listens there: a port that was bound and released.
std::string DeadUrl() {
  PeerLoop loop("nobody");
  const auto listener = *PeerListener::Bind(loop, *Url::Parse("http://127.0.0.1:0"));
  return "http://" + listener->address();
}

TEST(PeerRequestTest, AsksAsHttpHasItAndGivesBackTheAnswer) {
  Answerer peer(
      "HTTP/1.1 412 Precondition Failed\r\nX-Etcd-Cluster-ID: c1\r\n"
      "Content-Length: 4\r\n\r\nbody",
      false);
  HttpPeerRequester requester;
  const auto answer = requester.Ask("POST", peer.url(), "/members/promote/7", kPatience);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->status, 412);
  EXPECT_EQ(answer->cluster_id, "c1");
  EXPECT_EQ(answer->body, "body");
  const std::string question = peer.Question();
  EXPECT_TRUE(question.starts_with("POST /members/promote/7 HTTP/1.1\r\n")) << question;
  EXPECT_NE(question.find("\r\nHost: " + peer.url().substr(7) + "\r\n"), std::string::npos);
  EXPECT_NE(question.find("\r\nContent-Length: 0\r\n"), std::string::npos);
}

TEST(PeerRequestTest, AQuestionMayHaveHeadersAndABody) {
  Answerer peer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", false);
  HttpPeerRequester requester;
  const auto answer = requester.Ask(
      {.method = "GET", .path = "/members/hashkv", .headers = "A: b\r\n", .body = "{}"}, peer.url(),
      kPatience);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->body, "body");
  const std::string question = peer.Question();
  EXPECT_TRUE(question.starts_with("GET /members/hashkv HTTP/1.1\r\n")) << question;
  EXPECT_TRUE(question.ends_with("A: b\r\nContent-Length: 2\r\n\r\n{}")) << question;
}

TEST(PeerRequestTest, AnAnswerMayEndWithItsConnection) {
  Answerer peer("HTTP/1.1 200 OK\r\n\r\nuntil the end", true);
  HttpPeerRequester requester;
  const auto answer = requester.Ask("GET", peer.url(), "/members", kPatience);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->body, "until the end");
  EXPECT_EQ(answer->cluster_id, "");
}

TEST(PeerRequestTest, WhatIsNoAnswerIsAnError) {
  HttpPeerRequester requester;
  for (const char* text :
       {"nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\nmore than anybody has to say"}) {
    Answerer peer(text, true);
    const auto answer = requester.Ask("GET", peer.url(), "/members", kPatience);
    ASSERT_FALSE(answer.has_value()) << text;
    EXPECT_EQ(answer.error().code, Code::kUnavailable);
    EXPECT_TRUE(answer.error().message.starts_with(peer.url() + ": ")) << answer.error().message;
  }
  for (const std::string& url : {DeadUrl(), std::string("https://127.0.0.1:1"),
                                 std::string("no url"), std::string("unix:///no/such:1")}) {
    const auto answer = requester.Ask("GET", url, "/members", kPatience);
    ASSERT_FALSE(answer.has_value()) << url;
    EXPECT_EQ(answer.error().code, Code::kUnavailable) << url;
  }
}

// The requester stops at its bound, wherever the answer does not end. The peer has sent what it
// took, and what the kernel's buffers hold.
TEST(PeerRequestTest, AnAnswerWithoutAnEndIsGivenUpAtItsBound) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  const std::vector<std::pair<std::string, std::string>> endless = {
      {"HTTP/1.1 200 ", "reason "},
      {ok + "X: ", "a"},
      {ok, "X: a\r\n"},
      {ok + "\r\n", "body"},
      {ok + "Content-Length: 18446744073709551615\r\n\r\n", "body"},
      {chunked, "4\r\nbody\r\n"},
      {chunked + "1;", "extension"},
      {chunked, "0"},
      {chunked + "0\r\n", "X: a\r\n"},
  };
  HttpPeerRequester requester;
  for (const auto& [beginning, piece] : endless) {
    EndlessAnswerer peer(beginning, piece);
    const auto answer = requester.Ask("GET", peer.url(), "/members", kPatience);
    ASSERT_FALSE(answer.has_value()) << beginning << piece;
    EXPECT_EQ(answer.error().message.find("no answer in time"), std::string::npos)
        << beginning << piece << ": it was read until the time was over";
    EXPECT_LT(peer.sent_bytes(), kMostBytes) << beginning << piece;
  }
}

TEST(PeerRequestTest, OneThatKeepsSilentIsGivenUp) {
  Answerer peer("", false);
  HttpPeerRequester requester;
  const auto answer = requester.Ask("GET", peer.url(), "/members", milliseconds(30));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().message, peer.url() + ": no answer in time");
}

TEST(PeerRequestTest, AllAreAskedAndEachOutcomeIsTold) {
  Answerer a("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", false);
  Answerer b("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb", false);
  const std::string dead = DeadUrl();
  HttpPeerRequester requester;
  std::map<std::string, std::string> outcomes;
  requester.AskAll("GET", {a.url(), dead, b.url()}, "/x", kPatience,
                   [&](const std::string& url, Result<PeerAnswer> answer) {
                     outcomes[url] = answer.has_value() ? answer->body : "error";
                     return false;
                   });
  EXPECT_EQ(outcomes,
            (std::map<std::string, std::string>{{a.url(), "a"}, {b.url(), "b"}, {dead, "error"}}));
}

TEST(PeerRequestTest, TheFirstThatSufficesEndsTheWaitForTheOthers) {
  Answerer silent("", false);
  Answerer peer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", false);
  HttpPeerRequester requester;
  std::set<std::string> told;
  requester.AskAll("GET", {silent.url(), peer.url()}, "/x", kPatience,
                   [&](const std::string& url, const Result<PeerAnswer>&) {
                     told.insert(url);
                     return true;
                   });
  EXPECT_EQ(told, std::set{peer.url()});
}

TEST(PeerRequestTest, StopEndsWhatIsUnderWayAndRefusesWhatComes) {
  Answerer silent("", false);
  HttpPeerRequester requester;
  std::thread asking(
      [&] { EXPECT_FALSE(requester.Ask("GET", silent.url(), "/x", kPatience * 10).has_value()); });
  silent.Question();  // it is in flight
  requester.Stop();
  asking.join();
  EXPECT_FALSE(requester.Ask("GET", silent.url(), "/x", kPatience * 10).has_value());
}

TEST(PeerRequestTest, NamesOfOneAddressResolveToIt) {
  HttpPeerRequester requester;
  EXPECT_EQ(requester.Resolve("http://localhost:2380"), "http://127.0.0.1:2380");
  EXPECT_EQ(requester.Resolve("https://127.0.0.1:2380"), "https://127.0.0.1:2380");
  EXPECT_EQ(requester.Resolve("http://no-such-host.invalid:1"), "http://no-such-host.invalid:1");
  EXPECT_EQ(requester.Resolve("no url"), "no url");
}

TEST(NearAddressTest, ConnectionsComeFromIt) {
  auto listener = rpc::ListenSocket::Tcp("127.0.0.1", 0);
  ASSERT_TRUE(listener.has_value() && listener->Listen().has_value());
  const std::string url = "http://" + listener->address();
  HttpPeerRequester requester(nullptr, "127.0.0.2");
  EXPECT_FALSE(requester.Ask("GET", url, "/version", std::chrono::milliseconds(300)).has_value())
      << "nobody answers";
  const auto accepted = listener->Accept();
  ASSERT_TRUE(accepted.has_value());
  EXPECT_TRUE(accepted->peer.starts_with("127.0.0.2:")) << accepted->peer;
}

TEST(NearAddressTest, OneThatCannotBeUsedIsNamed) {
  auto listener = rpc::ListenSocket::Tcp("127.0.0.1", 0);
  ASSERT_TRUE(listener.has_value() && listener->Listen().has_value());
  const std::string url = "http://" + listener->address();
  for (const char* address : {"192.0.2.1", "::1"}) {
    HttpPeerRequester requester(nullptr, address);
    const auto asked = requester.Ask("GET", url, "/version", std::chrono::seconds(20));
    ASSERT_FALSE(asked.has_value());
    EXPECT_NE(asked.error().message.find(std::string("from ") + address), std::string::npos)
        << asked.error().message;
  }
}

}  // namespace
}  // namespace kvorum::server
