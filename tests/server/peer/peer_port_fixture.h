// A member whose peer port any HTTP client asks. Members 1, the tested one, and 2 stand in its
// cluster; 3 was removed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "tests/server/peer/peer_fixture.h"

namespace kvorum::server {

inline raft::Message Vote(raft::MemberId from, raft::MemberId to) {
  return {.type = raft::MessageType::kVote, .to = to, .from = from, .term = 5};
}

class PeerPortTest : public testing::Test {
 protected:
  void Start() {
    MembershipView view = ViewOf({&peer_});
    view.members[2] = MemberAt(2, {"http://127.0.0.1:1"});
    view.removed.insert(3);
    peer_.Start(std::move(view));
    started_ = true;
  }
  void TearDown() override { peer_.Stop(); }

  // "412 cluster ID mismatch": of a request that is answered with a length.
  std::string Answer(const std::string& request) {
    RawClient client(peer_.port());
    client.Send(request);
    client.EndSending();
    return Short(client.ReadToEnd());
  }
  static std::string Short(const std::string& answer) {
    if (!answer.starts_with("HTTP/1.1 ")) return answer;
    const std::size_t body = answer.find("\r\n\r\n");
    std::string text = answer.substr(9, 3) + " " + answer.substr(std::min(body + 4, answer.size()));
    while (text.ends_with('\n') || text.ends_with(' ')) text.pop_back();
    return text;
  }
  std::string Header(const std::string& request, std::string_view name) {
    RawClient client(peer_.port());
    client.Send(request);
    const std::string head = client.ReadUntil("\r\n\r\n");
    const std::size_t at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
  void ExpectServes() {
    EXPECT_EQ(Answer(PeerRequest("GET", "/version")), "200 GET /version");
    const std::size_t before = Received();
    EXPECT_EQ(Answer(PostOf(Vote(2, 1), 2)), "204");
    EXPECT_EQ(Received(), before + 1);
  }
  std::size_t Received() {
    std::lock_guard lock(peer_.receiver().mutex);
    return peer_.receiver().messages.size();
  }
  const PeerCounters& counters() { return peer_.transport().counters(); }

  TestPeer peer_{1, Options()};
  bool started_ = false;

 private:
  static PeerTransport::Options Options() {
    PeerTransport::Options options = TestPeer::FastOptions();
    options.server.max_connections = 40;
    options.server.max_gathered_bytes = std::size_t{8} << 20;
    return options;
  }
};

}  // namespace kvorum::server
