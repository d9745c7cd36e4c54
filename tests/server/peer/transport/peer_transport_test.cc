// Transports that speak with each other over the loopback, plain and under TLS.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/entries/internal_request.h"
#include "mvcc/lmdb/backend.h"
#include "tests/eventually.h"
#include "tests/server/peer/peer_transport_fixture.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using raft::Message;
using raft::MessageType;

Message App(raft::MemberId from, raft::MemberId to, raft::Index index, std::string_view data) {
  return {.type = MessageType::kApp,
          .to = to,
          .from = from,
          .term = 1,
          .log_term = 1,
          .index = index,
          .entries = {{.term = 1,
                       .index = index + 1,
                       .data = EncodeInternalRequest(1, RequestKind::kPut, PutBody("key", data))}}};
}

INSTANTIATE_TEST_SUITE_P(Plain, PeerTransportTest, testing::Values("Plain"));
INSTANTIATE_TEST_SUITE_P(Tls, PeerTransportTest, testing::Values("Tls"));

TEST_P(PeerTransportTest, MessagesArriveInOrderOnEitherStream) {
  StartBoth();
  AwaitStreams();
  AwaitDelivery(a_, b_);
  constexpr std::size_t kCount = 1000;
  for (std::size_t i = 1; i <= kCount; ++i) {
    std::vector<Message> messages = {App(1, 2, raft::Index{i}, std::string(i * 7 % 3000, 'e'))};
    messages.push_back(Heartbeat(1, 2, raft::Term{i}));
    a_.transport().Send(std::move(messages));
  }
  std::vector<raft::Index> appended;
  std::vector<raft::Term> beats;
  ASSERT_TRUE(b_.receiver().Until([&] {
    appended.clear();
    beats.clear();
    for (const Message& message : b_.receiver().messages) {
      if (message.term == 99 && message.type == MessageType::kHeartbeat && beats.empty()) continue;
      if (message.type == MessageType::kApp) {
        EXPECT_EQ(message,
                  App(1, 2, message.index, std::string(message.index.value() * 7 % 3000, 'e')));
        appended.push_back(message.index);
      } else {
        beats.push_back(message.term);
      }
    }
    return appended.size() == kCount && beats.size() >= kCount;
  }));
  EXPECT_TRUE(std::ranges::is_sorted(appended));
  EXPECT_EQ(a_.transport().counters().refused_messages + b_.transport().counters().refused_messages,
            0);
}

TEST_P(PeerTransportTest, AStreamThatIsCountedAndNotOpenIsABrokenInvariant) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  StartBoth();
  AwaitStreams();
  a_.transport().CheckInvariants();
  auto& open_streams = const_cast<PeerCounters&>(a_.transport().counters()).open_streams;
  ++open_streams;
  EXPECT_DEATH(a_.transport().CheckInvariants(), "other streams are open than are counted");
  --open_streams;
}

TEST_P(PeerTransportTest, APostThatIsCountedAndDoesNotWaitIsABrokenInvariant) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  StartBoth();
  AwaitStreams();
  auto& waiting = const_cast<PeerMetrics&>(a_.transport().metrics())[2].waiting_posts;
  ++waiting;
  EXPECT_DEATH(a_.transport().CheckInvariants(), "another number of waiting posts is shown");
  --waiting;
}

TEST_P(PeerTransportTest, BeforeAnyStreamStandsThePipelineCarriesThem) {
  // b knows of no member and so opens no stream, but accepts posts, and can answer.
  a_.Start(ViewOf({&a_, &b_}));
  b_.Start({});
  a_.transport().Send({Heartbeat(1, 2, 7)});
  ASSERT_TRUE(b_.receiver().Until([&] { return !b_.receiver().messages.empty(); }));
  EXPECT_EQ(b_.receiver().messages[0], Heartbeat(1, 2, 7));
  b_.transport().Send({{.type = MessageType::kHeartbeatResp, .to = 1, .from = 2, .term = 7}});
  ASSERT_TRUE(a_.receiver().Until([&] { return !a_.receiver().messages.empty(); }));
  EXPECT_EQ(a_.receiver().messages[0].type, MessageType::kHeartbeatResp);
  EXPECT_FALSE(b_.transport().ActiveSince(1).has_value());
}

TEST_P(PeerTransportTest, APeerThatIsNotThereIsReportedOnce) {
  a_.Start(ViewOf({&a_, &b_}));  // b listens, and answers nothing
  b_.Stop();
  const std::string nowhere = "http://127.0.0.1:1";
  MembershipView view = ViewOf({&a_});
  view.members[3] = MemberAt(3, {nowhere});
  a_.transport().SetMembers(std::make_shared<const MembershipView>(view));
  for (int i = 0; i < 500; ++i) a_.transport().Send({Heartbeat(1, 3)});
  ASSERT_TRUE(a_.receiver().Until([&] { return a_.receiver().unreachable[3] > 0; }));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (a_.transport().counters().dropped_messages < 500) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  EXPECT_EQ(a_.receiver().unreachable[3], 1);
}

TEST_P(PeerTransportTest, TheNextUrlIsTriedWhenOneFails) {
  MembershipView view = ViewOf({&a_, &b_});
  view.members[2].peer_urls = {"http://127.0.0.1:1", "unix:///nowhere/at/all", b_.url()};
  a_.Start(view);
  b_.Start(ViewOf({&a_, &b_}));
  AwaitActive(a_, 2);
}

TEST_P(PeerTransportTest, AMemberThatMovesIsFoundAtItsNewUrl) {
  TestPeer elsewhere(2, Options());
  StartBoth();
  AwaitStreams();
  b_.Stop();
  elsewhere.Start(ViewOf({&a_, &elsewhere}));
  a_.transport().SetMembers(std::make_shared<const MembershipView>(ViewOf({&a_, &elsewhere})));
  AwaitActive(elsewhere, 1);
  AwaitDelivery(a_, elsewhere);
  elsewhere.Stop();
}

TEST_P(PeerTransportTest, AMemberThatComesBackIsHeardAgain) {
  StartBoth();
  AwaitStreams();
  MembershipView alone = ViewOf({&b_});
  b_.transport().SetMembers(std::make_shared<const MembershipView>(alone));
  ASSERT_TRUE(a_.receiver().Until([&] { return a_.receiver().unreachable[2] > 0; }));
  b_.transport().SetMembers(std::make_shared<const MembershipView>(ViewOf({&a_, &b_})));
  AwaitActive(b_, 1);
  AwaitDelivery(a_, b_);
}

TEST_P(PeerTransportTest, ARemovedMemberIsToldSo) {
  StartBoth();
  AwaitStreams();
  MembershipView without_b = ViewOf({&a_});
  without_b.removed.insert(2);
  a_.transport().SetMembers(std::make_shared<const MembershipView>(without_b));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (b_.removals() == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  EXPECT_FALSE(a_.transport().ActiveSince(2).has_value());
}

TEST_P(PeerTransportTest, AMemberThatLostDataIsNotHeardUntilItKnows) {
  guard_a_.Expect("of b, lacking");
  a_.Start(ViewOf({&a_, &b_}), &guard_a_);
  b_.Start(ViewOf({&a_, &b_}), &guard_b_);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (guard_b_.losses() == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    b_.transport().Send({Heartbeat(2, 1, 9)});
    std::this_thread::yield();
  }
  EXPECT_EQ(guard_a_.losses(), 0);
  EXPECT_EQ(guard_b_.accuser(), "of a");
  {
    const std::lock_guard lock(a_.receiver().mutex);
    EXPECT_TRUE(a_.receiver().messages.empty()) << "neither by a stream nor by a post";
  }
  guard_b_.SetOwn("of b, lacking");
  AwaitStreams();
  AwaitDelivery(b_, a_);
  EXPECT_EQ(guard_b_.told(), "of a");
}

TEST_P(PeerTransportTest, ProbesTellTheRoundTripTime) {
  StartBoth();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  double seconds = 0;
  while (seconds == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
    a_.transport().metrics().ForEach([&](raft::MemberId peer, const PeerMetrics::Of& of) {
      if (peer == raft::MemberId{2}) seconds = of.round_trips.values().sum;
    });
  }
  EXPECT_GT(seconds, 0);
}

TEST_P(PeerTransportTest, ForwardedProposalsAreCutIntoMessagesThatFit) {
  StartBoth();
  AwaitStreams();
  AwaitDelivery(a_, b_);
  Message proposals{.type = MessageType::kProp, .to = 2, .from = 1};
  for (int i = 0; i < 10; ++i)
    proposals.entries.push_back(
        {.data = EncodeInternalRequest(1, RequestKind::kPut,
                                       PutBody("key", std::string(900'000, 'p')))});
  a_.transport().Send({proposals});
  std::size_t entries = 0;
  ASSERT_TRUE(b_.receiver().Until([&] {
    entries = 0;
    for (const Message& message : b_.receiver().messages) {
      if (message.type == MessageType::kProp) entries += message.entries.size();
    }
    return entries == 10;
  }));
}

}  // namespace
}  // namespace kvorum::server
