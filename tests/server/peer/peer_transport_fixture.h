// Two transports that speak with each other over the loopback, plain ("Plain") or under TLS
// ("Tls").
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string_view>
#include <thread>

#include "tests/server/peer/peer_certificates.h"
#include "tests/server/peer/peer_fixture.h"

namespace kvorum::server {

inline raft::Message Heartbeat(raft::MemberId from, raft::MemberId to, raft::Term term = 1) {
  return {.type = raft::MessageType::kHeartbeat, .to = to, .from = from, .term = term};
}

class PeerTransportTest : public testing::TestWithParam<const char*> {
 protected:
  static PeerTransport::Options Options() {
    PeerTransport::Options options = TestPeer::FastOptions();
    if (GetParam() == std::string_view("Tls")) options.tls = MutualTls().Peer();
    return options;
  }
  void TearDown() override {
    a_.Stop();
    b_.Stop();
  }
  void StartBoth() {
    a_.Start(ViewOf({&a_, &b_}));
    b_.Start(ViewOf({&a_, &b_}));
  }
  // Each hears the other by both streams: appends that go by the other one, while their own is
  // being opened, may be overtaken.
  void AwaitStreams() {
    AwaitActive(a_, 2);
    AwaitActive(b_, 1);
    AwaitBothStreams(a_);
    AwaitBothStreams(b_);
  }
  static void AwaitBothStreams(TestPeer& writer) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (writer.transport().counters().open_streams != 2) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::yield();
    }
  }
  static void AwaitActive(TestPeer& peer, raft::MemberId other) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!peer.transport().ActiveSince(other).has_value()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::yield();
    }
  }
  // Sends until something arrives: messages sent while streams are being opened may be lost.
  static void AwaitDelivery(TestPeer& from, TestPeer& to) {
    bool arrived = false;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!arrived) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      from.transport().Send({Heartbeat(from.id(), to.id(), 99)});
      std::unique_lock lock(to.receiver().mutex);
      arrived = to.receiver().changed.wait_for(lock, std::chrono::milliseconds(20),
                                               [&] { return !to.receiver().messages.empty(); });
    }
  }

  ScriptedGuard guard_a_{"of a"};
  ScriptedGuard guard_b_{"of b, an older copy"};
  TestPeer a_{1, Options()};
  TestPeer b_{2, Options()};
};

}  // namespace kvorum::server
