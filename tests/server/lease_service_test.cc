// The Lease service of one member: requests in, the API's answers out.
#include "server/services/lease/lease_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "server/replica/drive/replica.h"
#include "server/state/leases.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/live_stream.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class LeaseServiceTest : public testing::Test {
 protected:
  LeaseServiceTest() { EXPECT_TRUE(served_.Start().has_value()); }
  ~LeaseServiceTest() override {
    for (const auto& stream : streams_) {
      if (const auto alive = stream.lock()) alive->Drop();
    }
  }

  template <class Response, class Request>
  Result<Response> Call(std::string_view path, const Request& request) {
    KV_TRY(const std::string bytes, served_.Call(path, request.SerializeAsString()));
    Response response;
    if (!response.ParseFromString(bytes)) return Fail(Code::kUnknown, "not its message");
    return response;
  }
  Result<etcdserverpb::LeaseGrantResponse> Grant(std::int64_t id, std::int64_t ttl_s) {
    etcdserverpb::LeaseGrantRequest request;
    request.set_id(id);
    request.set_ttl(ttl_s);
    return Call<etcdserverpb::LeaseGrantResponse>(kLeaseGrantPath, request);
  }
  Result<etcdserverpb::LeaseRevokeResponse> Revoke(std::int64_t id) {
    etcdserverpb::LeaseRevokeRequest request;
    request.set_id(id);
    return Call<etcdserverpb::LeaseRevokeResponse>(kLeaseRevokePath, request);
  }
  etcdserverpb::LeaseTimeToLiveResponse TimeToLive(std::int64_t id, bool keys = false) {
    etcdserverpb::LeaseTimeToLiveRequest request;
    request.set_id(id);
    request.set_keys(keys);
    auto response = Call<etcdserverpb::LeaseTimeToLiveResponse>(kLeaseTimeToLivePath, request);
    EXPECT_TRUE(response.has_value());
    return *response;
  }
  std::vector<std::int64_t> Leases() {
    const auto response = Call<etcdserverpb::LeaseLeasesResponse>(
        kLeaseLeasesPath, etcdserverpb::LeaseLeasesRequest());
    std::vector<std::int64_t> ids;
    for (const auto& lease : response->leases()) ids.push_back(lease.id());
    return ids;
  }
  Result<std::string> Put(std::string_view key, std::int64_t lease) {
    std::string body = PutBody(key, "v");
    wire::AppendInt(body, 3, lease);
    return served_.Call(kPutPath, body);
  }
  std::int64_t Count(std::string_view key) {
    etcdserverpb::RangeResponse response;
    response.ParseFromString(*served_.Call(kRangePath, RangeBody({.key = key})));
    return response.count();
  }
  std::shared_ptr<LiveStream> KeepAlive() {
    auto stream = std::make_shared<LiveStream>(served_.lanes().io());
    served_.router().Find(kLeaseKeepAlivePath)->stream(stream);
    streams_.push_back(stream);
    return stream;
  }
  static std::string IdBody(std::int64_t id) { return EncodeLeaseId(id); }
  static etcdserverpb::LeaseKeepAliveResponse Parse(const std::string& bytes) {
    etcdserverpb::LeaseKeepAliveResponse response;
    EXPECT_TRUE(response.ParseFromString(bytes));
    return response;
  }
  // The time to live in the n-th answer of a stream; -1 if it does not come.
  std::int64_t TtlOf(const LiveStream& stream, std::size_t n) {
    if (!served_.lanes().RunUntil([&] { return stream.messages().size() > n; })) return -1;
    return Parse(stream.messages()[n]).ttl();
  }

  ServedMember served_;
  std::vector<std::weak_ptr<LiveStream>> streams_;
};

TEST_F(LeaseServiceTest, AGrantAnswersWithIdTimeAndHeader) {
  const auto granted = Grant(7, 60);
  ASSERT_TRUE(granted.has_value());
  EXPECT_EQ(granted->id(), 7);
  EXPECT_EQ(granted->ttl(), 60);
  EXPECT_EQ(granted->error(), "");
  EXPECT_EQ(granted->header().revision(), 1);
  EXPECT_EQ(granted->header().member_id(), served_.parts().cluster.member_id);
  EXPECT_EQ(granted->header().cluster_id(), served_.parts().cluster.cluster_id);
  EXPECT_GT(granted->header().raft_term(), 0U);
}

TEST_F(LeaseServiceTest, AnIdIsChosenThatIsPositive) {
  const auto first = Grant(0, 60);
  const auto second = Grant(0, 60);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_GT(first->id(), 0);
  EXPECT_GT(second->id(), 0);
  EXPECT_NE(first->id(), second->id());
}

TEST_F(LeaseServiceTest, ATimeOutOfRangeIsRaisedOrRefused) {
  for (const std::int64_t ttl_s : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1},
                                   std::int64_t{0}, std::int64_t{1}}) {
    EXPECT_EQ(Grant(0, ttl_s)->ttl(), 2) << ttl_s;
  }
  EXPECT_EQ(Grant(0, 9'000'000'000)->ttl(), 9'000'000'000);
  for (const std::int64_t ttl_s :
       {std::int64_t{9'000'000'001}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(ErrorOf(Grant(9, ttl_s)), kErrLeaseTtlTooLarge.ToError());
  }
  EXPECT_EQ(TimeToLive(9).ttl(), -1);
}

TEST_F(LeaseServiceTest, AnIdThatIsTakenIsRefused) {
  EXPECT_TRUE(Grant(-5, 60).has_value());
  EXPECT_EQ(ErrorOf(Grant(-5, 60)), kErrLeaseExist.ToError());
  EXPECT_THAT(Leases(), ElementsAre(-5));
}

TEST_F(LeaseServiceTest, ARevocationTakesTheKeysAlong) {
  Grant(7, 60);
  ASSERT_TRUE(Put("a", 7).has_value());
  ASSERT_TRUE(Put("b", 7).has_value());
  const auto revoked = Revoke(7);
  ASSERT_TRUE(revoked.has_value());
  EXPECT_EQ(revoked->header().revision(), 4);
  EXPECT_EQ(Count("a"), 0);
  EXPECT_EQ(Count("b"), 0);
  EXPECT_EQ(served_.store().revision(), 4);
  EXPECT_EQ(ErrorOf(Revoke(7)).message, "etcdserver: requested lease not found");
  EXPECT_EQ(ErrorOf(Revoke(7)).code, Code::kNotFound);
  EXPECT_EQ(ErrorOf(Put("a", 7)).message, "etcdserver: requested lease not found");
}

TEST_F(LeaseServiceTest, TimeToLiveTellsWhatIsLeftAndTheKeys) {
  Grant(7, 60);
  Put("b", 7);
  Put("a", 7);
  served_.lanes().RunFor(milliseconds(1500));
  const auto times = TimeToLive(7, true);
  EXPECT_EQ(times.id(), 7);
  EXPECT_EQ(times.ttl(), 58);
  EXPECT_EQ(times.grantedttl(), 60);
  EXPECT_THAT(times.keys(), ElementsAre("a", "b"));
  EXPECT_EQ(times.header().revision(), 3);
  EXPECT_THAT(TimeToLive(7).keys(), IsEmpty());
}

TEST_F(LeaseServiceTest, AnUnknownLeaseHasAnAnswerToo) {
  const auto times = TimeToLive(99, true);
  EXPECT_EQ(times.id(), 99);
  EXPECT_EQ(times.ttl(), -1);
  EXPECT_EQ(times.grantedttl(), 0);
  EXPECT_GT(times.header().revision(), 0);
}

TEST_F(LeaseServiceTest, TheListBeginsWithWhatExpiresFirst) {
  Grant(1, 30);
  Grant(2, 10);
  Grant(3, 20);
  EXPECT_THAT(Leases(), ElementsAre(2, 3, 1));
}

TEST_F(LeaseServiceTest, WhatIsNoMessageIsRefused) {
  for (const std::string_view path : {kLeaseGrantPath, kLeaseRevokePath, kLeaseTimeToLivePath})
    EXPECT_FALSE(served_.Call(path, "\xff").has_value()) << path;
  const auto stream = KeepAlive();
  stream->Send("\xff");
  served_.lanes().RunFor(milliseconds(100));
  ASSERT_TRUE(stream->status().has_value());
  EXPECT_EQ(stream->status()->code, Code::kInternal);
  EXPECT_EQ(stream->status()->message,
            "grpc: failed to unmarshal the received message: proto: cannot parse invalid "
            "wire-format data");
}

// --- keep-alive --------------------------------------------------------------------------------

TEST_F(LeaseServiceTest, ALeaseThatIsKeptAliveLivesOn) {
  Grant(7, 3);
  Put("a", 7);
  const auto stream = KeepAlive();
  for (std::size_t i = 0; i < 10; ++i) {
    served_.lanes().RunFor(seconds(2));
    stream->Send(IdBody(7));
    ASSERT_EQ(TtlOf(*stream, i), 3);
  }
  EXPECT_EQ(Count("a"), 1);
  EXPECT_EQ(Parse(stream->messages()[0]).id(), 7);
  EXPECT_EQ(Parse(stream->messages()[0]).header().revision(), 2);
}

TEST_F(LeaseServiceTest, ALeaseThatIsNotKeptAliveIsGoneWithinItsTimeAndASecond) {
  Grant(7, 3);
  Put("a", 7);
  Put("b", 7);
  served_.lanes().RunFor(seconds(2));
  EXPECT_EQ(Count("a"), 1);
  served_.lanes().RunFor(seconds(2));
  EXPECT_EQ(Count("a"), 0);
  EXPECT_EQ(Count("b"), 0);
  EXPECT_EQ(served_.store().revision(), 4);  // both at one revision
  EXPECT_THAT(Leases(), IsEmpty());
  EXPECT_EQ(TimeToLive(7).ttl(), -1);
}

TEST_F(LeaseServiceTest, AnUnknownLeaseIsAnsweredZeroAndTheStreamGoesOn) {
  Grant(7, 60);
  const auto stream = KeepAlive();
  stream->Send(IdBody(99));
  EXPECT_EQ(TtlOf(*stream, 0), 0);
  EXPECT_EQ(Parse(stream->messages()[0]).id(), 99);
  stream->Send("");  // no id
  EXPECT_EQ(TtlOf(*stream, 1), 0);
  stream->Send(IdBody(7));
  EXPECT_EQ(TtlOf(*stream, 2), 60);
  EXPECT_FALSE(stream->status().has_value());
}

TEST_F(LeaseServiceTest, AnswersComeInTheOrderOfTheRequests) {
  for (std::int64_t id = 1; id <= 400; ++id) Grant(id, 100 + id);
  const auto stream = KeepAlive();
  for (std::int64_t id = 400; id >= 1; --id) stream->Send(IdBody(id));
  stream->EndSending();
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return stream->status().has_value(); }));
  EXPECT_EQ(stream->status()->code, Code::kOk);
  ASSERT_EQ(stream->messages().size(), 400U);
  for (std::size_t i = 0; i < 400; ++i) {
    const auto answer = Parse(stream->messages()[i]);
    ASSERT_EQ(answer.id(), static_cast<std::int64_t>(400 - i));
    ASSERT_EQ(answer.ttl(), 100 + answer.id());
  }
}

TEST_F(LeaseServiceTest, AClientThatLeavesEndsItsStream) {
  Grant(7, 60);
  const auto stream = KeepAlive();
  stream->Send(IdBody(7));
  EXPECT_EQ(TtlOf(*stream, 0), 60);
  std::weak_ptr<LiveStream> weak = stream;
  stream->Break();
  served_.lanes().RunFor(seconds(1));
  EXPECT_EQ(weak.use_count(), 1);  // only ours
}

TEST_F(LeaseServiceTest, ALearnerOrALeaderlessMemberServesNoLeases) {
  auto call = std::make_shared<rpc::CallContext>();
  call->AddMetadata("hasleader", "true");
  ServedMember leaderless(2);
  ASSERT_TRUE(leaderless.Open().has_value());
  EXPECT_EQ(ErrorOf(leaderless.Call(kLeaseGrantPath, EncodeLeaseGrant({.ttl_s = 5}), call)),
            kErrNoLeader.ToError());
}

TEST_F(LeaseServiceTest, LeasesOutliveARestart) {
  Grant(7, 30);
  Grant(8, 40);
  Put("a", 7);
  Revoke(8);
  ServedMember again(served_.Stop(), 3);
  ASSERT_TRUE(again.Start().has_value());
  EXPECT_TRUE(again.member().local_member().leases().LeaseExists(7));
  EXPECT_FALSE(again.member().local_member().leases().LeaseExists(8));
  EXPECT_THAT(again.member().local_member().leases().KeysOf(7), ElementsAre("a"));
  again.lanes().RunFor(seconds(33));
  EXPECT_FALSE(again.member().local_member().leases().LeaseExists(7));
  etcdserverpb::RangeResponse response;
  response.ParseFromString(*again.Call(kRangePath, RangeBody({.key = "a"})));
  EXPECT_EQ(response.count(), 0);
}

TEST_F(LeaseServiceTest, UnderACorruptAlarmNothingExpiresAndNothingIsTried) {
  Grant(7, 3);
  served_.parts().proposer.Propose(
      nullptr, RequestKind::kAlarm,
      EncodeAlarmRequest(
          {.action = AlarmAction::kActivate, .alarm = {.member = 1, .type = AlarmType::kCorrupt}}),
      nullptr, seconds(7));
  served_.lanes().RunFor(seconds(4));
  EXPECT_EQ(ErrorOf(Revoke(7)), kErrCorrupt.ToError());
  const raft::Index before = served_.parts().cluster.replica.applied_index();
  served_.lanes().RunFor(seconds(10));
  EXPECT_EQ(served_.parts().cluster.replica.applied_index(), before);
  EXPECT_TRUE(served_.member().local_member().leases().LeaseExists(7));
}

// etcd lets such a renewal, and its stream, wait until the alarm is gone.
TEST_F(LeaseServiceTest, ARenewalDoesNotWaitForEverForARevocationThatCannotBe) {
  Grant(7, 3);
  Grant(8, 60);
  served_.parts().proposer.Propose(
      nullptr, RequestKind::kAlarm,
      EncodeAlarmRequest(
          {.action = AlarmAction::kActivate, .alarm = {.member = 1, .type = AlarmType::kCorrupt}}),
      nullptr, seconds(7));
  served_.lanes().RunFor(seconds(4));
  const auto stream = KeepAlive();
  stream->Send(IdBody(8));
  for (int i = 0; i < 100; ++i) stream->Send(IdBody(7));
  EXPECT_EQ(TtlOf(*stream, 0), 60);
  served_.lanes().RunFor(seconds(6));
  EXPECT_FALSE(stream->status().has_value());  // it may be disarmed
  served_.lanes().RunFor(seconds(9));
  ASSERT_TRUE(stream->status().has_value());
  EXPECT_EQ(*stream->status(), kErrTimeout.ToError());
  EXPECT_EQ(stream->messages().size(), 1U);
  std::weak_ptr<LiveStream> weak = stream;
  EXPECT_EQ(weak.use_count(), 1);  // nothing waits any more
}

// A renewal fails on another thread while the next request is about to be asked for.
TEST_F(LeaseServiceTest, AStreamThatEndsBeforeItsNextReadIsOver) {
  Grant(7, 3);
  served_.parts().proposer.Propose(
      nullptr, RequestKind::kAlarm,
      EncodeAlarmRequest(
          {.action = AlarmAction::kActivate, .alarm = {.member = 1, .type = AlarmType::kCorrupt}}),
      nullptr, seconds(7));
  served_.lanes().RunFor(seconds(4));
  const auto stream = KeepAlive();
  int reads = 0;
  stream->BeforeRead([&] {
    ++reads;
    served_.lanes().RunUntil([&] { return stream->status().has_value(); });
  });
  stream->Send(IdBody(7));
  served_.lanes().RunFor(seconds(30));
  EXPECT_EQ(reads, 1);
  ASSERT_TRUE(stream->status().has_value());
  EXPECT_EQ(*stream->status(), kErrTimeout.ToError());
  std::weak_ptr<LiveStream> weak = stream;
  EXPECT_EQ(weak.use_count(), 1);  // nothing waits any more
}

TEST_F(LeaseServiceTest, ARenewalThatWaitedIsAnsweredWhenTheAlarmIsGone) {
  Grant(7, 3);
  const auto alarm = [&](AlarmAction action) {
    served_.parts().proposer.Propose(
        nullptr, RequestKind::kAlarm,
        EncodeAlarmRequest({.action = action, .alarm = {.member = 1, .type = AlarmType::kCorrupt}}),
        nullptr, seconds(7));
  };
  alarm(AlarmAction::kActivate);
  served_.lanes().RunFor(seconds(4));
  const auto stream = KeepAlive();
  stream->Send(IdBody(7));
  served_.lanes().RunFor(seconds(5));
  EXPECT_TRUE(stream->messages().empty());
  alarm(AlarmAction::kDeactivate);
  EXPECT_EQ(TtlOf(*stream, 0), 0);
}

TEST_F(LeaseServiceTest, AWriteThatNamesAnUnknownLeaseChangesNothing) {
  Grant(7, 60);
  ASSERT_TRUE(Put("a", 7).has_value());
  EXPECT_TRUE(ErrorOf(Put("a", 8)) == kErrLeaseNotFound);
  etcdserverpb::TxnRequest txn;
  txn.add_success()->mutable_request_put()->set_key("b");
  txn.mutable_success(0)->mutable_request_put()->set_lease(7);
  txn.add_success()->mutable_request_delete_range()->set_key("a");
  auto& put = *txn.add_success()->mutable_request_put();
  put.set_key("c");
  put.set_lease(8);
  EXPECT_TRUE(ErrorOf(Call<etcdserverpb::TxnResponse>("/etcdserverpb.KV/Txn", txn)) ==
              kErrLeaseNotFound);
  EXPECT_EQ(served_.store().revision(), 2);
  EXPECT_THAT(TimeToLive(7, true).keys(), ElementsAre("a"));
  EXPECT_EQ(Count("a"), 1);
  EXPECT_EQ(Count("b"), 0);
}

// Both a revocation and an expiry: one revision, in one message, in the order of the keys.
TEST_F(LeaseServiceTest, AWatcherSeesTheEndOfALeaseAsOneBatch) {
  etcdserverpb::WatchRequest watch;
  watch.mutable_create_request()->set_key(std::string(1, '\0'));
  watch.mutable_create_request()->set_range_end(std::string(1, '\0'));
  watch.mutable_create_request()->set_start_revision(1);
  const auto stream = served_.OpenStream("/etcdserverpb.Watch/Watch", watch.SerializeAsString());
  Grant(7, 60);
  Grant(8, 3);
  for (const char* key : {"c", "a", "b"}) Put(key, 7);
  for (const char* key : {"z", "x", "y"}) Put(key, 8);
  served_.lanes().RunFor(seconds(5));
  ASSERT_TRUE(Revoke(7).has_value());
  served_.lanes().RunFor(seconds(1));
  std::vector<std::vector<std::string>> deleted;  // of each message
  for (const std::string& bytes : stream->messages()) {
    etcdserverpb::WatchResponse response;
    ASSERT_TRUE(response.ParseFromString(bytes));
    std::vector<std::string> keys;
    for (const auto& event : response.events()) {
      if (event.type() != mvccpb::Event::DELETE) continue;
      keys.push_back(event.kv().key());
      EXPECT_EQ(event.kv().mod_revision(), deleted.empty() ? 8 : 9);
    }
    if (!keys.empty()) deleted.push_back(keys);
  }
  EXPECT_THAT(deleted, ElementsAre(ElementsAre("x", "y", "z"), ElementsAre("a", "b", "c")));
  stream->Cut(Error{Code::kCanceled, "context canceled"});
  served_.lanes().RunFor(milliseconds(100));
}

// 3,000 in one moment, 512 at a time: all are gone within the two seconds, and other writes are
// answered meanwhile.
TEST_F(LeaseServiceTest, ManyExpireInOneMoment) {
  std::vector<std::shared_ptr<const Answer>> grants;
  for (std::int64_t id = 1; id <= 3000; ++id)
    grants.push_back(served_.Send(kLeaseGrantPath, EncodeLeaseGrant({.ttl_s = 10, .id = id})));
  for (const auto& grant : grants) ASSERT_TRUE(served_.Await(*grant).has_value());
  served_.lanes().RunFor(seconds(9));
  EXPECT_EQ(served_.member().local_member().leases().size(), 3000U);
  served_.lanes().RunFor(seconds(1));
  EXPECT_TRUE(Put("a", 0).has_value());
  served_.lanes().RunFor(seconds(2));
  EXPECT_EQ(served_.member().local_member().leases().size(), 0U);
  EXPECT_EQ(served_.member().local_member().leases().counters().expired.load(), 3000U);
}

}  // namespace
}  // namespace kvorum::server
