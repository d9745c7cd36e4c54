// The behaviours W1 to W21 of docs/sync_behaviours.md as subscribers see them, with the store and
// the wire replaced.
#include "sync/delta/control_plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/sync/fake_delta.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class SyncControlPlane : public testing::Test {
 protected:
  SyncControlPlane() {
    options.types = {"dp", "mesh"};
    options.on_error = [this](const Error& error) { errors.push_back(error.message); };
    types.Put("dp", "a", "1");
    types.Put("mesh", "m", "1");
  }
  void Start() {
    plane = std::make_unique<ControlPlane>(executor, types, metrics, options);
    executor.Settle();
  }
  void Put(const std::string& type, const std::string& name, const std::string& text) {
    types.Put(type, name, text);
    plane->Changed(type);
  }

  // A subscriber that answers every response by default.
  struct Node {
    SyncControlPlane* test;
    std::shared_ptr<FakeCarrier> carrier = std::make_shared<FakeCarrier>();
    ControlPlane::StreamId stream = test->plane->Open(carrier);
    std::map<std::string, std::string> texts = {};  // what it holds, by name

    void Say(DeltaRequest request) {
      test->plane->Receive(stream, std::move(request));
      test->executor.Settle();
    }
    // The names that one response brings, and those that it removes behind a minus.
    std::vector<std::string> Take() {
      test->executor.Settle();
      if (carrier->sent.empty()) return {"nothing"};
      const DeltaResponse response = std::move(carrier->sent.front());
      carrier->sent.pop_front();
      std::vector<std::string> names;
      for (const auto& resource : response.resources) {
        names.push_back(resource.name);
        texts[resource.name] = *resource.bytes;
      }
      for (const auto& name : response.removed) names.push_back("-" + name);
      test->plane->Sent(stream);
      Say({.type = response.type, .nonce = response.nonce});
      return names;
    }
    // All that has been sent so far.
    std::vector<std::string> TakeAll() {
      std::vector<std::string> all;
      for (auto names = Take(); names != std::vector<std::string>{"nothing"}; names = Take())
        all.insert(all.end(), names.begin(), names.end());
      return all;
    }
  };
  Node Connect(const std::string& name, std::vector<std::string> of = {"dp"}) {
    Node node{this};
    for (const std::string& type : of) node.Say({.node = name, .type = type});
    return node;
  }
  std::vector<NodeState> States() {
    std::vector<NodeState> states;
    plane->Ask([&](std::vector<NodeState> answer) { states = std::move(answer); });
    executor.Settle();
    return states;
  }

  ManualExecutor executor;
  FakeTypes types;
  Metrics metrics;
  ControlPlaneOptions options;
  std::vector<std::string> errors;
  std::unique_ptr<ControlPlane> plane;
};

TEST_F(SyncControlPlane, TheNamesOfAllStreamsHaveABoundTogether) {
  options.max_names_bytes = 10'000;
  Start();
  const auto names = [](int count) {
    std::vector<std::string> made;
    for (int i = 0; i < count; ++i) made.push_back("name-" + std::to_string(i));
    return made;
  };
  Node one{this};
  one.Say({.node = "zone-1", .type = "dp", .subscribe = names(60)});
  Node two{this};
  two.Say({.node = "zone-2", .type = "dp", .subscribe = names(60)});
  EXPECT_FALSE(one.carrier->closed.has_value());
  ASSERT_TRUE(two.carrier->closed.has_value());
  EXPECT_EQ(two.carrier->closed->code, Code::kResourceExhausted);
  EXPECT_EQ(two.carrier->closed->message, "the names of all streams exceed 10000 bytes");
  // The names that it presents count until it is known to hold what everybody does.
  Node three{this};
  std::map<std::string, std::string> presented;
  for (const std::string& name : names(30)) presented[name] = "";
  three.Say({.node = "zone-3", .type = "dp", .initial_versions = presented});
  EXPECT_FALSE(three.carrier->closed.has_value());
  Node four{this};
  four.Say({.node = "zone-4", .type = "dp", .subscribe = names(20)});
  EXPECT_TRUE(four.carrier->closed.has_value());
  three.TakeAll();
  Node five{this};
  five.Say({.node = "zone-5", .type = "dp", .subscribe = names(20)});
  EXPECT_FALSE(five.carrier->closed.has_value());
  // And what a stream asked for, until it ends.
  plane->Closed(one.stream);
  Node six{this};
  six.Say({.node = "zone-6", .type = "dp", .subscribe = names(50)});
  EXPECT_FALSE(six.carrier->closed.has_value());
}

TEST_F(SyncControlPlane, WhileTooMuchIsBeingSentOthersWaitForTheirTurn) {
  options.max_sending_bytes = 1'500;
  types.Put("dp", "a", std::string(1'000, 'x'));
  Start();
  std::vector<Node> nodes;
  for (int i = 0; i < 5; ++i) nodes.push_back(Connect("zone-" + std::to_string(i)));
  const auto sending = [&] {
    std::vector<int> now;
    for (int i = 0; i < 5; ++i)
      if (!nodes[static_cast<std::size_t>(i)].carrier->sent.empty()) now.push_back(i);
    return now;
  };
  EXPECT_THAT(sending(), ElementsAre(0, 1)) << "the second began below the bound";
  EXPECT_THAT(nodes[0].Take(), ElementsAre("a"));
  EXPECT_THAT(sending(), ElementsAre(1, 2));
  plane->Closed(nodes[3].stream);
  plane->Closed(nodes[1].stream);  // it never read
  nodes[1].carrier->sent.clear();
  executor.Settle();
  EXPECT_THAT(sending(), ElementsAre(2, 4)) << "one that has left has no turn";
  EXPECT_THAT(nodes[2].Take(), ElementsAre("a"));
  EXPECT_THAT(nodes[4].Take(), ElementsAre("a"));
}

TEST_F(SyncControlPlane, W1_TheFirstPassSendsAllTypes) {
  types.Hold();
  Start();
  Node node = Connect("zone-1", {"dp", "mesh"});
  EXPECT_THAT(node.Take(), ElementsAre("nothing"));
  types.LetGo();
  EXPECT_THAT(node.TakeAll(), ElementsAre("a", "m"));
  EXPECT_EQ(States().at(0).last_reason, "resync");
}

TEST_F(SyncControlPlane, W2_EventsBetweenTicksAreOnePassOfTheirTypes) {
  options.types = {"dp", "mesh", "zone"};
  Start();
  types.TakeReads();
  executor.Advance(300ms);
  for (int i = 0; i < 5; ++i) {
    Put("dp", "a", std::to_string(i));
    Put("zone", "z", std::to_string(i));
    executor.Settle();
  }
  EXPECT_THAT(types.TakeReads(), IsEmpty());
  executor.Advance(5s);
  EXPECT_THAT(types.TakeReads(), ElementsAre(Pair("dp", 1), Pair("zone", 1)));
}

TEST_F(SyncControlPlane, W5_AnErrorIsToldAndTheSameTypesAreReadAgain) {
  Start();
  Node node = Connect("zone-1", {"dp", "mesh"});
  node.TakeAll();
  types.TakeReads();
  types.Fail("mesh", {Code::kUnavailable, "no leader"});
  Put("dp", "a", "2");
  Put("mesh", "m", "2");
  executor.Advance(1s);
  EXPECT_THAT(errors, ElementsAre("type mesh: no leader"));
  EXPECT_THAT(node.TakeAll(), ElementsAre("a")) << "what could be read is sent";
  EXPECT_THAT(types.TakeReads(), ElementsAre(Pair("dp", 1), Pair("mesh", 1)));
  types.Recover();
  executor.Advance(1s);
  EXPECT_THAT(types.TakeReads(), ElementsAre(Pair("dp", 1), Pair("mesh", 1)));
  EXPECT_THAT(node.TakeAll(), ElementsAre("m"));
  executor.Advance(5s);
  EXPECT_THAT(types.TakeReads(), IsEmpty());
  EXPECT_THAT(errors, SizeIs(1));
}

TEST_F(SyncControlPlane, W5_ACancellationIsNoError) {
  Start();
  Node node = Connect("zone-1");
  node.TakeAll();
  types.Fail("dp", {Code::kCanceled, "the reader is closing"});
  Put("dp", "a", "2");
  executor.Advance(1s);
  EXPECT_THAT(errors, IsEmpty());
  types.Recover();
  executor.Advance(1s);
  EXPECT_THAT(node.TakeAll(), ElementsAre("a")) << "nothing is lost by it";
}

TEST_F(SyncControlPlane, W6_UnchangedContentIsNotSent) {
  Start();
  Node node = Connect("zone-1");
  node.TakeAll();
  const std::string version = States().at(0).subscriptions.at(0).version;
  Put("dp", "a", "1");
  executor.Advance(1s);
  EXPECT_THAT(node.Take(), ElementsAre("nothing"));
  EXPECT_EQ(States().at(0).subscriptions.at(0).version, version);
  EXPECT_EQ(States().at(0).last_reason, "event");
  EXPECT_THAT(metrics.Text(),
              HasSubstr("kvsync_wd_generation_seconds_count{reason=\"event\",result=\"no_changes\","
                        "node=\"zone-1\"} 1\n"));
}

TEST_F(SyncControlPlane, W7_OnlyChangedTypesAreRead) {
  Start();
  Node node = Connect("zone-1", {"dp", "mesh"});
  EXPECT_THAT(types.TakeReads(), ElementsAre(Pair("dp", 1), Pair("mesh", 1)));
  Put("mesh", "m", "2");
  executor.Advance(1s);
  EXPECT_THAT(types.TakeReads(), ElementsAre(Pair("mesh", 1)));
  executor.Advance(59s);
  EXPECT_THAT(types.TakeReads(), ElementsAre(Pair("dp", 1), Pair("mesh", 1))) << "the full pass";
}

TEST_F(SyncControlPlane, W8_ARestartedServerSendsNothingToWhoPresentsItsVersions) {
  Start();
  Node node = Connect("zone-1");
  node.Take();
  plane.reset();
  Start();
  Node again{this};
  again.Say({.node = "zone-1", .type = "dp", .initial_versions = {{"a", HashOf("1").Hex()}}});
  executor.Advance(100s);
  EXPECT_THAT(again.Take(), ElementsAre("nothing"));
  Put("dp", "b", "1");
  executor.Advance(1s);
  EXPECT_THAT(again.Take(), ElementsAre("b"));
}

TEST_F(SyncControlPlane, W9_TheRemovalOfATypesLastResourceIsSent) {
  Start();
  Node node = Connect("zone-1");
  node.TakeAll();
  types.Remove("dp", "a");
  plane->Changed("dp");
  executor.Advance(1s);
  EXPECT_THAT(node.Take(), ElementsAre("-a"));
}

TEST_F(SyncControlPlane, W10_NothingIsSentWhileAResponseWaitsAndThenTheNewestState) {
  Start();
  Node node = Connect("zone-1");
  for (const char* text : {"2", "3", "4"}) {
    Put("dp", "a", text);
    executor.Advance(1s);
  }
  EXPECT_THAT(node.carrier->sent, SizeIs(1));
  plane->Sent(node.stream);
  executor.Settle();
  EXPECT_THAT(node.carrier->sent, SizeIs(1)) << "sent, but not acknowledged";
  node.Take();
  node.Take();
  EXPECT_EQ(node.texts["a"], "4");
  EXPECT_THAT(node.Take(), ElementsAre("nothing"));
}

TEST_F(SyncControlPlane, W11_TheStatusAndTheMetricsShowARefusal) {
  std::string told;
  options.on_refusal = [&](const std::string& name, const SubscriptionState& state) {
    told = name + " " + state.type + " " + state.refused + ": " + state.refusal;
  };
  Start();
  Node node = Connect("zone-1");
  plane->Sent(node.stream);
  node.carrier->sent.clear();
  node.Say({.type = "dp", .nonce = "1", .refusal = "a: not JSON"});
  executor.Advance(120s);
  EXPECT_THAT(node.carrier->sent, IsEmpty());
  const NodeState shown = States().at(0);
  EXPECT_EQ(shown.node, "zone-1");
  EXPECT_EQ(shown.subscriptions.at(0).refused, "1");
  EXPECT_EQ(shown.subscriptions.at(0).refusal, "a: not JSON");
  EXPECT_EQ(told, "zone-1 dp 1: a: not JSON");
  EXPECT_THAT(metrics.Text(), HasSubstr("kvsync_wd_nack_total{node=\"zone-1\",type=\"dp\"} 1\n"));
  Put("dp", "a", "2");
  executor.Advance(1s);
  EXPECT_THAT(node.Take(), ElementsAre("a"));
}

TEST_F(SyncControlPlane, W14_AfterAnOverflowOfTheBusAllTypesConverge) {
  Bus<std::string> bus;
  Start();
  plane->Follow(bus);
  Node node = Connect("zone-1", {"dp", "mesh"});
  node.TakeAll();
  types.TakeReads();
  types.Put("mesh", "m", "2");
  for (int i = 0; i < 3000; ++i) {
    types.Put("dp", "a", "x" + std::to_string(i));
    bus.Publish("dp");
  }
  executor.Advance(1s);
  EXPECT_THAT(types.TakeReads(), ElementsAre(Pair("dp", 1), Pair("mesh", 1)));
  node.TakeAll();
  EXPECT_EQ(node.texts["a"], "x2999");
  EXPECT_EQ(node.texts["m"], "2");
  EXPECT_THAT(metrics.Text(), HasSubstr("kvsync_bus_overflow_total{subscriber=\"watchdog\"}"));
  bus.Publish("mesh");
  executor.Advance(1s);
  EXPECT_THAT(types.TakeReads(), ElementsAre(Pair("mesh", 1)));
}

TEST_F(SyncControlPlane, W15_AStreamThatEndsLeavesNothing) {
  Start();
  std::weak_ptr<FakeCarrier> carrier;
  for (int i = 0; i < 10'000; ++i) {
    Node node = Connect("zone-" + std::to_string(i));
    carrier = node.carrier;
    plane->Closed(node.stream);
    executor.Settle();
    ASSERT_FALSE(node.carrier->closed);
  }
  EXPECT_TRUE(carrier.expired());
  EXPECT_THAT(States(), IsEmpty());
  EXPECT_THAT(metrics.Text(), testing::Not(HasSubstr("zone-")));
  executor.Advance(120s);
  EXPECT_LE(executor.timers(), 2U);
}

TEST_F(SyncControlPlane, W16_ASecondStreamOfANodeReplacesTheFirst) {
  Start();
  Node first = Connect("zone-1");
  Node other = Connect("zone-2");
  Node second = Connect("zone-1");
  ASSERT_TRUE(first.carrier->closed);
  EXPECT_EQ(first.carrier->closed->code, Code::kAborted);
  EXPECT_FALSE(other.carrier->closed);
  plane->Closed(first.stream);  // the carrier's own word, later
  second.TakeAll();
  Put("dp", "a", "2");
  executor.Advance(1s);
  EXPECT_THAT(second.Take(), ElementsAre("a"));
  EXPECT_THAT(States(), SizeIs(2));
}

TEST_F(SyncControlPlane, W17_NoPassBeginsAfterStop) {
  Start();
  Put("dp", "a", "2");
  plane.reset();
  types.TakeReads();
  executor.Advance(200s);
  EXPECT_THAT(types.TakeReads(), IsEmpty());
}

TEST_F(SyncControlPlane, W18_ANodeGetsNothingThatItsViewRejects) {
  options.view_of = [](const std::string& node) -> View {
    return [node](const std::string&, const std::string&, const Bytes& bytes) {
      return bytes->starts_with(node) ? bytes : nullptr;
    };
  };
  types.Put("dp", "a", "zone-1");
  types.Put("dp", "b", "zone-2");
  Start();
  Node one = Connect("zone-1");
  Node two = Connect("zone-2");
  EXPECT_THAT(one.TakeAll(), ElementsAre("a"));
  EXPECT_THAT(two.TakeAll(), ElementsAre("b"));
  Put("dp", "a", "zone-2 now");
  executor.Advance(1s);
  EXPECT_THAT(one.TakeAll(), ElementsAre("-a"));
  EXPECT_THAT(two.TakeAll(), ElementsAre("a"));
  Put("dp", "a", "zone-2 still");
  executor.Advance(1s);
  EXPECT_THAT(one.TakeAll(), IsEmpty());
}

TEST_F(SyncControlPlane, W19_AStreamThatDoesNotReadIsEndedAndOthersAreNot) {
  Start();
  Node stuck = Connect("zone-1");
  Node well = Connect("zone-2");
  well.TakeAll();
  executor.Advance(59s);
  Put("dp", "a", "2");
  executor.Advance(900ms);
  EXPECT_FALSE(stuck.carrier->closed);
  executor.Advance(100ms);
  ASSERT_TRUE(stuck.carrier->closed);
  EXPECT_EQ(stuck.carrier->closed->code, Code::kDeadlineExceeded);
  executor.Advance(1s);
  EXPECT_THAT(well.Take(), ElementsAre("a"));
  EXPECT_FALSE(well.carrier->closed);
}

TEST_F(SyncControlPlane, W19_AStreamThatNeverAsksIsEnded) {
  Start();
  const auto silent = std::make_shared<FakeCarrier>();
  plane->Open(silent);
  executor.Advance(61s);
  ASSERT_TRUE(silent->closed);
  EXPECT_EQ(silent->closed->code, Code::kDeadlineExceeded);
}

TEST_F(SyncControlPlane, W21_TheSourceIsReadOnceForAllSubscribers) {
  for (int i = 0; i < 10'000; ++i) types.Put("dp", "r" + std::to_string(i), std::to_string(i));
  Start();
  std::vector<Node> nodes;
  for (int i = 0; i < 10; ++i) nodes.push_back(Connect("zone-" + std::to_string(i)));
  EXPECT_THAT(types.TakeReads(), ElementsAre(Pair("dp", 1), Pair("mesh", 1)));
  for (Node& node : nodes) EXPECT_THAT(node.TakeAll(), SizeIs(10'001));
  Put("dp", "r7", "new");
  executor.Advance(1s);
  for (Node& node : nodes) EXPECT_THAT(node.TakeAll(), ElementsAre("r7"));
  EXPECT_THAT(types.TakeReads(), ElementsAre(Pair("dp", 1)));
}

TEST_F(SyncControlPlane, RequestsThatMakeNoSenseEndTheirStream) {
  options.max_streams = 2;
  Start();
  Node nameless = Connect("");
  EXPECT_EQ(nameless.carrier->closed.value().code, Code::kInvalidArgument);
  Node stranger = Connect("zone-1", {"secrets"});
  EXPECT_EQ(
      stranger.carrier->closed.value(),
      (Error{Code::kInvalidArgument, "type secrets is not served here; these are: dp, mesh"}));
  Node one = Connect("zone-1");
  Node two = Connect("zone-2");
  Node three = Connect("zone-3");
  EXPECT_EQ(three.carrier->closed.value().code, Code::kResourceExhausted);
  EXPECT_FALSE(one.carrier->closed || two.carrier->closed);
  EXPECT_EQ(one.carrier->requests_done, 1);
  EXPECT_THAT(
      errors,
      ElementsAre("a stream without a node: a stream begins with a request that names its node in "
                  "1 to 1024 bytes",
                  "node zone-1: type secrets is not served here; these are: dp, mesh",
                  "a new stream: there are as many streams as are allowed, 2"));
}

TEST_F(SyncControlPlane, AResourceWhoseNameTheWireDoesNotTakeIsToldAndTheRestGoesOn) {
  types.Put("dp", "b\xff", "1");
  types.Put("dp", std::string("c\0/d", 4), "1");
  Start();
  Node node = Connect("zone-1");
  EXPECT_THAT(node.TakeAll(), ElementsAre("a", std::string("c\0/d", 4)));
  EXPECT_THAT(errors, ElementsAre("type dp: the name of a resource is not UTF-8: b\xff"));
}

TEST_F(SyncControlPlane, AViewThatThrowsLeavesTheNodeAsItIs) {
  bool throws = false;
  options.view_of = [&](const std::string& node) -> View {
    if (node != "zone-1") return nullptr;
    return [&](const std::string&, const std::string&, const Bytes& bytes) {
      if (throws) throw std::runtime_error("no such zone");
      return bytes;
    };
  };
  Start();
  Node one = Connect("zone-1");
  Node two = Connect("zone-2");
  one.TakeAll();
  two.TakeAll();
  throws = true;
  Put("dp", "a", "2");
  executor.Advance(1s);
  EXPECT_THAT(one.Take(), ElementsAre("nothing"));
  EXPECT_THAT(two.Take(), ElementsAre("a"));
  EXPECT_THAT(errors, testing::Contains("node zone-1: the view of type dp failed: no such zone"));
  throws = false;
  executor.Advance(1s);
  EXPECT_THAT(one.Take(), ElementsAre("a")) << "the pass was done again";
}

}  // namespace
}  // namespace kvorum::sync
