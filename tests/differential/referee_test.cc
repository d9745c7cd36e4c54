// The parts that make the comparison mean something: that a difference is seen, that each allowed
// one is only itself, and that a seed makes the same stream again.
#include "tests/differential/referee.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/differential/random_requests.h"
#include "tests/differential/request_stream.h"

namespace kvorum::differential {
namespace {

using etcdserverpb::HashKVRequest;
using etcdserverpb::HashKVResponse;
using etcdserverpb::PutResponse;
using etcdserverpb::RangeRequest;
using etcdserverpb::RangeResponse;
using etcdserverpb::TxnRequest;
using etcdserverpb::TxnResponse;
using testing::IsEmpty;
using testing::Not;

constexpr char kOldPeer[] = "3.4.23";

template <class Response>
Answer Ok(Response response) {
  return {.code = grpc::StatusCode::OK,
          .text = {},
          .details = {},
          .trailers = {},
          .response = std::make_unique<Response>(std::move(response))};
}

template <class Response>
Answer Refused(grpc::StatusCode code, const std::string& text) {
  return {.code = code,
          .text = text,
          .details = {},
          .trailers = {},
          .response = std::make_unique<Response>()};
}

TEST(AnswersTest, IdsAndTermMayDifferButMustBeThere) {
  PutResponse ours;
  ours.mutable_header()->set_cluster_id(7);
  ours.mutable_header()->set_member_id(8);
  ours.mutable_header()->set_raft_term(2);
  PutResponse peer = ours;
  peer.mutable_header()->set_cluster_id(70);
  peer.mutable_header()->set_raft_term(20);
  PutResponse without = ours;
  without.mutable_header()->clear_member_id();
  for (PutResponse* response : {&ours, &peer, &without}) Anonymize(*response);
  EXPECT_THAT(Differences(Ok(ours), Ok(peer)), IsEmpty());
  EXPECT_THAT(Differences(Ok(ours), Ok(without)), Not(IsEmpty()));
}

TEST(AnswersTest, CodeTextTrailersAndEveryFieldCount) {
  const auto refused = [] {
    return Refused<PutResponse>(grpc::StatusCode::INVALID_ARGUMENT, "no");
  };
  Answer other_code = refused();
  other_code.code = grpc::StatusCode::NOT_FOUND;
  Answer other_text = refused();
  other_text.text = "No";
  Answer other_trailers = refused();
  other_trailers.trailers.emplace("name", "value");
  EXPECT_THAT(Differences(refused(), refused()), IsEmpty());
  EXPECT_THAT(Differences(refused(), other_code), Not(IsEmpty()));
  EXPECT_THAT(Differences(refused(), other_text), Not(IsEmpty()));
  EXPECT_THAT(Differences(refused(), other_trailers), Not(IsEmpty()));
  PutResponse with_prev_kv;
  with_prev_kv.mutable_prev_kv();
  EXPECT_THAT(Differences(Ok(PutResponse()), Ok(with_prev_kv)), Not(IsEmpty()));
}

// Rows of equal version: key i has value i.
RangeResponse Rows(const std::vector<int>& order, bool more = false) {
  RangeResponse response;
  response.set_count(20);
  response.set_more(more);
  for (const int i : order) {
    auto& kv = *response.add_kvs();
    kv.set_key(std::to_string(i));
    kv.set_version(i < 10 ? 1 : 2);
  }
  return response;
}

class TiesTest : public testing::Test {
 protected:
  TiesTest() {
    request_.set_sort_order(RangeRequest::ASCEND);
    request_.set_sort_target(RangeRequest::VERSION);
  }
  bool Allowed(const RangeResponse& ours, const RangeResponse& peer) {
    Referee referee("3.7.3");
    Answer peer_answer = Ok(peer);
    return referee.Judge(request_, Ok(ours), peer_answer).empty();
  }
  RangeRequest request_;
};

TEST_F(TiesTest, EqualSortKeysMayComeInAnyOrder) {
  EXPECT_TRUE(Allowed(Rows({1, 2, 3, 10, 11}), Rows({3, 1, 2, 11, 10})));
}

TEST_F(TiesTest, OtherSortKeysMayNot) { EXPECT_FALSE(Allowed(Rows({1, 2, 10}), Rows({1, 10, 2}))); }

TEST_F(TiesTest, OtherRowsAreOnlyAllowedWhereTheAnswerWasCut) {
  EXPECT_FALSE(Allowed(Rows({1, 2, 10}), Rows({1, 3, 10})));
  EXPECT_FALSE(Allowed(Rows({1, 2, 10}), Rows({1, 2, 11})));
  EXPECT_TRUE(Allowed(Rows({1, 2, 10}, true), Rows({2, 1, 11}, true)));
  EXPECT_FALSE(Allowed(Rows({1, 2, 10}, true), Rows({1, 3, 11}, true)));
}

TEST_F(TiesTest, FewRowsAndKeysHaveAnOrder) {
  RangeResponse ours = Rows({1, 2});
  RangeResponse peer = Rows({2, 1});
  ours.set_count(12);
  peer.set_count(12);
  EXPECT_FALSE(Allowed(ours, peer));
  request_.set_sort_target(RangeRequest::KEY);
  EXPECT_FALSE(Allowed(Rows({1, 2}), Rows({2, 1})));
}

TEST_F(TiesTest, AnotherDifferenceStaysToBeSeen) {
  RangeResponse peer = Rows({2, 1});
  peer.mutable_header()->set_revision(5);
  EXPECT_FALSE(Allowed(Rows({1, 2}), peer));
}

TEST(AllowedDifferencesTest, HashKvOfOldPeers) {
  HashKVRequest request;
  request.set_revision(5);
  HashKVResponse ours;
  ours.set_hash(1);
  ours.set_compact_revision(3);
  ours.set_hash_revision(5);
  HashKVResponse without_revision = ours;
  without_revision.clear_hash_revision();
  HashKVResponse other_hash = without_revision;
  other_hash.set_hash(2);
  const auto compacted = [] {
    return Refused<HashKVResponse>(grpc::StatusCode::OUT_OF_RANGE,
                                   "etcdserver: mvcc: required revision has been compacted");
  };
  const auto allowed = [&](const std::string& version, Answer peer) {
    return Referee(version).Judge(request, Ok(ours), peer).empty();
  };
  EXPECT_TRUE(allowed(kOldPeer, Ok(without_revision)));
  EXPECT_FALSE(allowed(kOldPeer, Ok(other_hash)));
  EXPECT_FALSE(allowed("3.7.3", Ok(without_revision)));
  EXPECT_TRUE(allowed(kOldPeer, compacted()));
  EXPECT_FALSE(allowed("3.7.3", compacted()));
  ours.set_compact_revision(6);
  EXPECT_FALSE(allowed(kOldPeer, compacted()));
}

TEST(AllowedDifferencesTest, AnUnknownSortOrderIsAllowedToOldPeersOnly) {
  RangeRequest request;
  request.set_key("a");
  const Answer ours =
      Refused<RangeResponse>(grpc::StatusCode::INVALID_ARGUMENT, "etcdserver: invalid sort option");
  const auto allowed = [&](const std::string& version) {
    Answer peer = Ok(Rows({1}));
    return Referee(version).Judge(request, ours, peer).empty();
  };
  EXPECT_FALSE(allowed(kOldPeer));
  request.set_sort_order(static_cast<RangeRequest::SortOrder>(3));
  EXPECT_TRUE(allowed(kOldPeer));
  EXPECT_FALSE(allowed("3.7.3"));
}

// Rows of keys only, the second with a lease.
RangeResponse RowsWithALease(std::int64_t lease) {
  RangeResponse response = Rows({1, 2});
  response.mutable_kvs(1)->set_lease(lease);
  return response;
}

TEST(AllowedDifferencesTest, OldPeersTellLeasesOfKeysOnly) {
  RangeRequest range;
  range.set_keys_only(true);
  const auto allowed = [&](const std::string& version, const RangeResponse& peer) {
    Answer peer_answer = Ok(peer);
    return Referee(version).Judge(range, Ok(Rows({1, 2})), peer_answer).empty();
  };
  EXPECT_TRUE(allowed(kOldPeer, RowsWithALease(7)));
  EXPECT_FALSE(allowed("3.7.3", RowsWithALease(7)));
  RangeResponse other_row = RowsWithALease(7);
  other_row.mutable_kvs(1)->set_version(9);
  EXPECT_FALSE(allowed(kOldPeer, other_row));
  range.set_sort_target(RangeRequest::VALUE);
  EXPECT_FALSE(allowed(kOldPeer, RowsWithALease(7)));
  range.set_sort_target(RangeRequest::KEY);
  range.set_keys_only(false);
  EXPECT_FALSE(allowed(kOldPeer, RowsWithALease(7)));
}

TEST(AllowedDifferencesTest, OldPeersTellLeasesOfKeysOnlyInATxn) {
  TxnRequest txn;
  txn.add_success()->mutable_request_range()->set_keys_only(true);
  TxnResponse ours;
  ours.set_succeeded(true);
  *ours.add_responses()->mutable_response_range() = Rows({1, 2});
  TxnResponse peer = ours;
  *peer.mutable_responses(0)->mutable_response_range() = RowsWithALease(7);
  Answer peer_answer = Ok(peer);
  EXPECT_THAT(Referee(kOldPeer).Judge(txn, Ok(ours), peer_answer), IsEmpty());
}

TEST(AnswersTest, WhatIsLeftOfALeaseAndTheOrderOfItsKeysAreChance) {
  const auto times = [](std::int64_t ttl_s, const std::vector<std::string>& keys) {
    etcdserverpb::LeaseTimeToLiveResponse response;
    response.set_ttl(ttl_s);
    response.set_grantedttl(60);
    for (const std::string& key : keys) response.add_keys(key);
    NormalizeLeases(response);
    return Ok(response);
  };
  EXPECT_THAT(Differences(times(59, {"a", "b"}), times(60, {"b", "a"})), IsEmpty());
  EXPECT_THAT(Differences(times(59, {"a", "b"}), times(59, {"a"})), Not(IsEmpty()));
  for (const std::int64_t wrong : {-1, 0, 61})
    EXPECT_THAT(Differences(times(59, {}), times(wrong, {})), Not(IsEmpty())) << wrong;
}

class TwoReasonsTest : public testing::Test {
 protected:
  static Answer Refusal(const std::string& text) {
    return Refused<TxnResponse>(grpc::StatusCode::UNKNOWN, text);
  }
  bool Allowed(const std::string& version, const std::string& ours, const std::string& peer) {
    Answer peer_answer = Refusal(peer);
    return Referee(version).Judge(txn_, Refusal(ours), peer_answer).empty();
  }
  static constexpr char kKey[] = "etcdserver: key not found";
  static constexpr char kLease[] = "etcdserver: requested lease not found";
  static constexpr char kFuture[] = "etcdserver: mvcc: required revision is a future revision";
  TxnRequest txn_;
};

TEST_F(TwoReasonsTest, OldPeersMissAPutsKeyBeforeItsLease) {
  auto& put = *txn_.add_failure()->mutable_request_txn()->add_success()->mutable_request_put();
  put.set_lease(5);
  EXPECT_FALSE(Allowed(kOldPeer, kLease, kKey));
  put.set_ignore_value(true);
  EXPECT_TRUE(Allowed(kOldPeer, kLease, kKey));
  EXPECT_FALSE(Allowed(kOldPeer, kKey, kLease));
  EXPECT_FALSE(Allowed("3.7.3", kLease, kKey));
}

TEST_F(TwoReasonsTest, OldPeersLookAtPutsBeforeRanges) {
  auto& put = *txn_.add_success()->mutable_request_put();
  EXPECT_FALSE(Allowed(kOldPeer, kFuture, kLease));
  put.set_lease(5);
  EXPECT_TRUE(Allowed(kOldPeer, kFuture, kLease));
  EXPECT_FALSE(Allowed(kOldPeer, kFuture, kKey));
  EXPECT_FALSE(Allowed(kOldPeer, kLease, kFuture));
  EXPECT_FALSE(Allowed("3.7.3", kFuture, kLease));
}

std::string StreamText(std::uint64_t seed) {
  RequestStream stream(seed);
  stream.Observe(500, 100);
  std::string text;
  for (const Request& request : stream.Next(3000)) text += Describe(request) + "\n";
  return text;
}

TEST(RequestStreamTest, ASeedMakesTheSameStreamAgain) {
  EXPECT_EQ(StreamText(1), StreamText(1));
  EXPECT_NE(StreamText(1), StreamText(2));
}

template <class Predicate>
bool AnyDirectOp(const etcdserverpb::TxnRequest& txn, Predicate predicate) {
  for (const auto* branch : {&txn.success(), &txn.failure()}) {
    for (const etcdserverpb::RequestOp& op : *branch) {
      if (predicate(op)) return true;
    }
  }
  return false;
}

bool IgnoresSomething(const etcdserverpb::TxnRequest& txn) {
  return AnyDirectOp(txn, [](const etcdserverpb::RequestOp& op) {
    return op.request_put().ignore_value() || op.request_put().ignore_lease() ||
           IgnoresSomething(op.request_txn());
  });
}

bool HasOddDelete(const etcdserverpb::TxnRequest& txn) {
  return AnyDirectOp(txn, [](const etcdserverpb::RequestOp& op) {
    const auto& del = op.request_delete_range();
    // Without a key it is refused.
    const bool is_odd =
        !del.key().empty() &&
        ((!del.range_end().empty() && del.range_end() <= del.key()) || del.range_end() == kZero);
    return is_odd || HasOddDelete(op.request_txn());
  });
}

TEST(RequestStreamTest, NothingEndsThePeer) {
  Choices choices(1);
  choices.Observe(500, 100);
  int ignoring = 0;
  int odd = 0;
  for (int i = 0; i < 20'000; ++i) {
    const etcdserverpb::TxnRequest txn = RandomTxn(choices);
    ignoring += IgnoresSomething(txn) ? 1 : 0;
    odd += HasOddDelete(txn) ? 1 : 0;
    ASSERT_FALSE(IgnoresSomething(txn) && HasOddDelete(txn)) << Describe(txn);
  }
  EXPECT_GT(ignoring, 100);
  EXPECT_GT(odd, 100);
}

}  // namespace
}  // namespace kvorum::differential
