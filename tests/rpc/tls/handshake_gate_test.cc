// Turns and places of handshakes, without sockets: the gate's loop is not started, its time stands
// still.
#include "rpc/tls/handshake_gate.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace kvorum::rpc {
namespace {

class HandshakeGateTest : public ::testing::Test {
 protected:
  struct Client final : HandshakeGate::Guest {
    Client(HandshakeGate& g, std::string n, std::string& l) : gate(g), name(std::move(n)), log(l) {}
    void Shake() override {
      log += name + " ";
      if (--steps == 0) gate.Leave(*this);
    }
    void GiveUpPlace() override { log += name + "! "; }

    HandshakeGate& gate;
    std::string name;
    std::string& log;
    int steps = 2;
  };

  std::unique_ptr<Client> NewClient(HandshakeGate& gate, const std::string& name) {
    return std::make_unique<Client>(gate, name, log_);
  }
  std::string Turn(HandshakeGate& gate) {
    gate.Flush();
    return std::exchange(log_, {});
  }

  Loop loop_{0, "test"};
  std::string log_;
};

TEST_F(HandshakeGateTest, AWakeupRunsFourStepsOldestFirst) {
  HandshakeGate gate(loop_, 100, std::chrono::seconds(1));
  std::vector<std::unique_ptr<Client>> clients;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    clients.push_back(NewClient(gate, name));
    gate.Ready(*clients.back());
    gate.Ready(*clients.back());  // twice is once
  }
  EXPECT_EQ(Turn(gate), "a b c d ");
  EXPECT_EQ(Turn(gate), "e f ");
  EXPECT_EQ(gate.active(), 6U);
  EXPECT_EQ(Turn(gate), "");
}

TEST_F(HandshakeGateTest, WhoGoesOnAndWhoComesTakeTurns) {
  HandshakeGate gate(loop_, 100, std::chrono::seconds(1));
  auto old = NewClient(gate, "old");
  old->steps = 100;
  gate.Ready(*old);
  EXPECT_EQ(Turn(gate), "old ");
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(NewClient(gate, "new"));
    gate.Ready(*clients.back());
  }
  gate.Ready(*old);
  EXPECT_EQ(Turn(gate), "old new new new ");
}

TEST_F(HandshakeGateTest, WithoutAPlaceNewcomersWaitForWhoeverEnds) {
  HandshakeGate gate(loop_, 1, std::chrono::hours(1));
  auto first = NewClient(gate, "first");
  auto second = NewClient(gate, "second");
  gate.Ready(*first);
  gate.Ready(*second);
  EXPECT_EQ(Turn(gate), "first ");
  EXPECT_EQ(Turn(gate), "");
  EXPECT_EQ(gate.waiting(), 1U);
  gate.Ready(*first);  // its second step is its last
  EXPECT_EQ(Turn(gate), "first second ");
  EXPECT_EQ(gate.active(), 1U);
}

TEST_F(HandshakeGateTest, WhoHasHadItsTimeMakesRoom) {
  HandshakeGate gate(loop_, 1, std::chrono::seconds(0));
  auto first = NewClient(gate, "first");
  auto second = NewClient(gate, "second");
  gate.Ready(*first);
  EXPECT_EQ(Turn(gate), "first ");
  gate.Ready(*second);
  EXPECT_EQ(Turn(gate), "first! second ");
  EXPECT_EQ(gate.active(), 1U);
}

TEST_F(HandshakeGateTest, WhoLeavesIsForgottenWhereverItStood) {
  HandshakeGate gate(loop_, 1, std::chrono::hours(1));
  auto first = NewClient(gate, "first");
  auto second = NewClient(gate, "second");
  auto third = NewClient(gate, "third");
  gate.Leave(*third);  // was never there
  for (auto* each : {&first, &second, &third}) gate.Ready(**each);
  EXPECT_EQ(Turn(gate), "first ");
  gate.Leave(*second);  // waited
  second.reset();
  gate.Ready(*first);
  gate.Leave(*first);  // had a place, and could have gone on
  first.reset();
  EXPECT_EQ(Turn(gate), "third ");
}

}  // namespace
}  // namespace kvorum::rpc
