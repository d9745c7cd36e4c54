// The Watch service over a whole member: its wire format, and the cost of a stream.
#include "server/services/kv/watch_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "server/call/leader_streams.h"
#include "tests/manual_clock.h"
#include "tests/mvcc/manual_executor.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

using etcdserverpb::WatchResponse;
using testing::ElementsAre;

constexpr std::string_view kWatch = "/etcdserverpb.Watch/Watch";

class WatchServiceTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(served_.Start().has_value()); }
  ~WatchServiceTest() override {
    if (stream_ != nullptr) stream_->context().Cancel({Code::kCanceled, "context canceled"});
    EXPECT_FALSE(served_.member().fatal().has_value());
  }

  std::shared_ptr<FakeStream> Open() {
    auto stream = std::make_shared<FakeStream>(served_.lanes().io(), std::deque<std::string>{});
    stream->StayOpen();
    served_.router().Find(kWatch)->stream(stream);
    return stream;
  }
  FakeStream& stream() {
    if (stream_ == nullptr) stream_ = Open();
    return *stream_;
  }
  static etcdserverpb::WatchRequest Create(std::string_view key, std::int64_t start = 0,
                                           std::string_view end = {}) {
    etcdserverpb::WatchRequest request;
    request.mutable_create_request()->set_key(std::string(key));
    request.mutable_create_request()->set_range_end(std::string(end));
    request.mutable_create_request()->set_start_revision(start);
    return request;
  }
  static etcdserverpb::WatchRequest Cancel(std::int64_t id) {
    etcdserverpb::WatchRequest request;
    request.mutable_cancel_request()->set_watch_id(id);
    return request;
  }
  static etcdserverpb::WatchRequest Progress() {
    etcdserverpb::WatchRequest request;
    request.mutable_progress_request();
    return request;
  }
  void Say(const etcdserverpb::WatchRequest& request) { stream().Say(request.SerializeAsString()); }
  void Put(std::string_view key, std::string_view value) {
    ASSERT_TRUE(served_.Call("/etcdserverpb.KV/Put", PutBody(key, value)).has_value());
  }
  // The responses since the last call, when nothing is left to do.
  std::vector<WatchResponse> Take() {
    served_.lanes().RunFor(std::chrono::milliseconds(50));
    std::vector<WatchResponse> responses;
    const auto& messages = stream().messages();
    for (; taken_ < messages.size(); ++taken_) {
      EXPECT_TRUE(responses.emplace_back().ParseFromString(messages[taken_]));
    }
    return responses;
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (const WatchResponse& response : Take()) {
      EXPECT_NE(response.header().cluster_id(), 0U);
      EXPECT_NE(response.header().member_id(), 0U);
      EXPECT_NE(response.header().raft_term(), 0U);
      std::string text = std::to_string(response.watch_id());
      if (response.created()) text += " created";
      if (response.canceled()) text += " canceled";
      if (response.compact_revision() != 0)
        text += " compact " + std::to_string(response.compact_revision());
      text += " @" + std::to_string(response.header().revision());
      for (const auto& event : response.events()) {
        text += event.type() == mvccpb::Event::DELETE ? " del " : " put ";
        text += event.kv().key() + "=" + event.kv().value();
        if (event.has_prev_kv()) text += "(" + event.prev_kv().value() + ")";
      }
      if (!response.cancel_reason().empty()) text += ": " + response.cancel_reason();
      texts.push_back(text);
    }
    return texts;
  }

  ServedMember served_;
  std::shared_ptr<FakeStream> stream_;
  std::size_t taken_ = 0;
};

TEST_F(WatchServiceTest, AClientThatLeftBeforeItsHandlerCameIsNoBody) {
  const auto gone = std::make_shared<FakeStream>(served_.lanes().io(), std::deque<std::string>{});
  gone->context().Cancel({Code::kCanceled, "context canceled"});
  served_.router().Find(kWatch)->stream(gone);
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(gone.use_count(), 1);  // nothing waits for it
}

TEST_F(WatchServiceTest, ACreateItsEventsAndItsCancel) {
  etcdserverpb::WatchRequest create = Create("k");
  create.mutable_create_request()->set_prev_kv(true);
  Say(create);
  EXPECT_THAT(Texts(), ElementsAre("0 created @1"));
  Put("k", "1");
  Put("k", "2");
  EXPECT_THAT(Texts(), ElementsAre("0 @2 put k=1", "0 @3 put k=2(1)"));
  Say(Cancel(0));
  Put("k", "3");
  EXPECT_THAT(Texts(), ElementsAre("0 canceled @3"));
}

TEST_F(WatchServiceTest, FiltersAndIdsAreUnderstood) {
  etcdserverpb::WatchRequest create = Create("k");
  create.mutable_create_request()->add_filters(etcdserverpb::WatchCreateRequest::NOPUT);
  create.mutable_create_request()->set_watch_id(7);
  Say(create);
  create.mutable_create_request()->clear_filters();
  create.mutable_create_request()->add_filters(etcdserverpb::WatchCreateRequest::NODELETE);
  create.mutable_create_request()->add_filters(
      static_cast<etcdserverpb::WatchCreateRequest::FilterType>(99));
  create.mutable_create_request()->set_watch_id(8);
  Say(create);
  Take();
  Put("k", "1");
  ASSERT_TRUE(served_.Call("/etcdserverpb.KV/DeleteRange", DeleteBody("k")).has_value());
  EXPECT_THAT(Texts(), ElementsAre("8 @2 put k=1", "7 @3 del k="));
}

TEST_F(WatchServiceTest, BadInputIsAnsweredAndTheStreamGoesOn) {
  Say(Create("b", 0, "a"));
  Say(Create("b", 0, "b"));
  Say(Create("b", -1));
  Say(Create("b", std::numeric_limits<std::int64_t>::min()));
  Say(Create("b", std::numeric_limits<std::int64_t>::max()));
  Say(Create("b", 2));
  etcdserverpb::WatchRequest taken = Create("b");
  taken.mutable_create_request()->set_watch_id(1);
  Say(taken);
  Say(Cancel(99));
  Say(Cancel(-1));
  Say(etcdserverpb::WatchRequest());
  stream().Say("\x7a\x01x");  // of a kind that we do not know
  EXPECT_THAT(
      Texts(),
      ElementsAre("-1 created canceled @1: mvcc: watcher range is empty",
                  "-1 created canceled @1: mvcc: watcher range is empty",
                  "-1 created canceled @1: etcdserver: mvcc: required revision has been compacted",
                  "-1 created canceled @1: etcdserver: mvcc: required revision has been compacted",
                  "0 created @1", "1 created @1",
                  "-1 created canceled @1: mvcc: duplicate watch ID provided on the WatchStream"));
  Put("b", "1");
  EXPECT_THAT(Texts(), ElementsAre("1 @2 put b=1"));
}

TEST_F(WatchServiceTest, WhatIsNoRequestEndsTheStream) {
  Say(Create("b"));
  stream().Say("\x0a");
  ASSERT_TRUE(served_.RunUntilFinished(stream()));
  EXPECT_EQ(stream().status()->code, Code::kInternal);
  Put("b", "1");
  EXPECT_LE(Take().size(), 1U);
}

TEST_F(WatchServiceTest, AClosedSideStillGetsEvents) {
  Say(Create("k"));
  EXPECT_THAT(Texts(), ElementsAre("0 created @1"));
  stream().CloseSide();
  Put("k", "1");
  EXPECT_THAT(Texts(), ElementsAre("0 @2 put k=1"));
  EXPECT_FALSE(stream().status().has_value());
}

TEST_F(WatchServiceTest, AClientThatLeftCostsNothingMore) {
  Say(Create("k"));
  Say(Create("k", 1));
  Take();
  Put("k", "1");
  stream().context().Cancel({Code::kCanceled, "context canceled"});
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(served_.watches().shard(0).watchers(), 0U);
  EXPECT_EQ(stream_.use_count(), 1) << "nobody holds it";
}

TEST_F(WatchServiceTest, ProgressIsToldOnRequestAndByTime) {
  etcdserverpb::WatchRequest create = Create("k");
  create.mutable_create_request()->set_progress_notify(true);
  Say(create);
  Put("other", "1");
  Say(Progress());
  EXPECT_THAT(Texts(), ElementsAre("0 created @1", "-1 @2"));
  served_.lanes().RunFor(std::chrono::minutes(11));
  EXPECT_THAT(Texts(), ElementsAre("0 @2"));
}

TEST_F(WatchServiceTest, AHundredThousandCreatesOnOneStream) {
  constexpr int kCreates = 100'000;
  for (int i = 0; i < kCreates; ++i) Say(Create(i % 2 == 0 ? "a" : "b" + std::to_string(i), i % 3));
  std::set<std::int64_t> ids;
  const auto answered = [&] { return stream().messages().size() >= kCreates; };
  ASSERT_TRUE(served_.lanes().RunUntil(answered));
  for (const WatchResponse& response : Take()) {
    EXPECT_TRUE(response.created() && !response.canceled());
    ids.insert(response.watch_id());
  }
  EXPECT_EQ(ids.size(), kCreates);
  EXPECT_EQ(*ids.rbegin(), kCreates - 1);
  Put("a", "1");
  EXPECT_EQ(Take().size(), kCreates / 2);
}

// --- a client that does not read ---------------------------------------------------------------

class SilentReaderTest : public WatchServiceTest {
 protected:
  static constexpr std::size_t kValueBytes = 20'000;
  void PutMany(int count) {
    for (int i = 0; i < count; ++i) Put("k", std::string(kValueBytes, 'v'));
  }
  std::size_t SentBytes() {
    std::size_t bytes = 0;
    for (const std::string& message : stream().messages()) bytes += message.size();
    return bytes;
  }
};

TEST_F(SilentReaderTest, CostsAWindowAndMissesNothing) {
  Say(Create("k"));
  Take();
  stream().SetReading(false);
  PutMany(200);
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_LT(SentBytes(), 5 * kValueBytes) << "one write is outstanding, the rest waits";
  stream().SetReading(true);
  std::vector<std::int64_t> revisions;
  for (const WatchResponse& response : Take()) {
    for (const auto& event : response.events()) revisions.push_back(event.kv().mod_revision());
  }
  ASSERT_EQ(revisions.size(), 200U);
  for (std::size_t i = 0; i < revisions.size(); ++i)
    EXPECT_EQ(revisions[i], static_cast<std::int64_t>(i) + 2);
}

TEST_F(SilentReaderTest, IsNotReadFromEither) {
  stream().SetReading(false);
  PutMany(50);
  Say(Create("k", 1));
  served_.lanes().RunFor(std::chrono::seconds(1));
  for (int i = 1; i < 100; ++i) Say(Create("k", 1));
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_LT(served_.watches().shard(0).watchers(), 4U) << "requests wait while answers do";
  stream().SetReading(true);
  std::size_t events = 0;
  for (const WatchResponse& response : Take())
    events += static_cast<std::size_t>(response.events_size());
  EXPECT_EQ(events, 100U * 50U);
}

TEST_F(SilentReaderTest, IsToldOfACompactionWhenItReadsAgain) {
  Say(Create("k"));
  Take();
  stream().SetReading(false);
  PutMany(100);
  ASSERT_TRUE(served_.Call("/etcdserverpb.KV/Compact", CompactBody(90)).has_value());
  stream().SetReading(true);
  const auto responses = Take();
  ASSERT_FALSE(responses.empty());
  EXPECT_TRUE(responses.back().canceled());
  EXPECT_EQ(responses.back().compact_revision(), 90);
  std::int64_t next = 2;
  for (const WatchResponse& response : responses) {
    for (const auto& event : response.events()) EXPECT_EQ(event.kv().mod_revision(), next++);
  }
  EXPECT_GT(next, 2);
  EXPECT_LT(next, 90);
}

// One byte more or less decides whether an event is held for a client that does not read.
TEST_F(SilentReaderTest, HasRoomWhileLessThanTheWindowWaitsAndNoLonger) {
  const auto unsynced = [this] {
    return served_.watches().counters().Read(watch::WatchCounters::kUnsynced);
  };
  Say(Create("k"));
  // The messages have one size, so from the second on the buffer of one is as large as the message.
  Put("k", "1");
  Take();
  Put("k", "2");
  Take();
  const std::size_t one = stream().messages().back().size() + rpc::kMessagePrefixBytes;
  for (const std::size_t window : {one, one + 1}) {
    served_.limits().watch_window_bytes = window;
    stream().SetReading(false);
    Put("k", "3");
    served_.lanes().RunFor(std::chrono::milliseconds(50));
    ASSERT_EQ(stream().messages().back().size() + rpc::kMessagePrefixBytes, one);
    Put("k", "4");
    served_.lanes().RunFor(std::chrono::milliseconds(50));
    EXPECT_EQ(unsynced(), window == one ? 1U : 0U);
    stream().SetReading(true);
    EXPECT_EQ(Take().size(), 2U);
    EXPECT_EQ(unsynced(), 0U);
  }
}

// --- streams that want a leader ----------------------------------------------------------------

TEST(LeaderStreamsTest, AreCutAtTheNextLookWhenThereIsNone) {
  ManualClock clock;
  ManualExecutor executor(clock);
  bool is_leaderless = false;
  LeaderStreams streams(executor, std::chrono::seconds(1), [&] { return is_leaderless; });
  streams.Start();
  const auto look = [&] {
    clock.Advance(std::chrono::milliseconds(50));
    while (executor.RunOne()) {
    }
  };
  const auto stream = std::make_shared<FakeStream>(executor, std::deque<std::string>{});
  auto left = std::make_shared<FakeStream>(executor, std::deque<std::string>{});
  streams.Add(stream);
  streams.Add(left);
  left.reset();
  look();
  EXPECT_FALSE(stream->status().has_value());
  is_leaderless = true;
  look();
  EXPECT_EQ(stream->status(), kErrNoLeader.ToError());
  EXPECT_TRUE(stream->context().cancelled());
}

TEST_F(WatchServiceTest, AWatchThatIsCutIsGone) {
  served_.SetLeaderless();
  const auto wants_leader =
      std::make_shared<FakeStream>(served_.lanes().io(), std::deque<std::string>{});
  wants_leader->StayOpen();
  wants_leader->context().AddMetadata("hasleader", "true");
  served_.router().Find(kWatch)->stream(wants_leader);
  wants_leader->Say(Create("k").SerializeAsString());
  Say(Create("k"));
  Take();
  EXPECT_EQ(served_.watches().shard(0).watchers(), 2U);
  served_.leader_streams().Start();
  ASSERT_TRUE(served_.RunUntilFinished(*wants_leader));
  EXPECT_EQ(wants_leader->status(), kErrNoLeader.ToError());
  Put("k", "1");
  EXPECT_EQ(Take().size(), 1U) << "the other stream goes on";
  EXPECT_EQ(served_.watches().shard(0).watchers(), 1U);
}

}  // namespace
}  // namespace kvorum::server
