// The answers of the KV and Maintenance services, written by hand, as the protobuf library reads
// them.
#include "api/kv_encode.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>

#include "api/cluster_encode.h"
#include "api/maintenance_encode.h"
#include "proto/rpc.pb.h"

namespace kvorum::server {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr ResponseHeader kHeader{.cluster_id = 0xcdf818194e3a8c32,
                                 .member_id = raft::MemberId{0x8e9e05c52164694d},
                                 .revision = 300,
                                 .raft_term = 4};

// Parses, and holds the bytes against those that the library writes for the same message.
template <class Proto>
Proto ParsedExactly(std::string_view bytes) {
  Proto message;
  EXPECT_TRUE(message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  EXPECT_EQ(message.SerializeAsString(), bytes) << message.ShortDebugString();
  return message;
}

template <class Proto>
void ExpectHeader(const Proto& message) {
  EXPECT_EQ(message.header().cluster_id(), kHeader.cluster_id);
  EXPECT_EQ(message.header().member_id(), kHeader.member_id);
  EXPECT_EQ(message.header().revision(), kHeader.revision);
  EXPECT_EQ(message.header().raft_term(), kHeader.raft_term);
}

std::string EncodedKv(std::string_view key, std::string_view value = "v") {
  return mvcc::Encode({.key = key,
                       .create_revision = 2,
                       .mod_revision = kLargest,
                       .version = 3,
                       .value = value,
                       .lease = -1});
}
mvcc::Row RowOf(std::string_view key, std::string_view encoded) {
  return {.key = key, .create_revision = 2, .mod_revision = 5, .version = 3, .encoded = encoded};
}
void ExpectKv(const mvccpb::KeyValue& kv, std::string_view key, std::string_view value = "v") {
  EXPECT_EQ(kv.key(), key);
  EXPECT_EQ(kv.create_revision(), 2);
  EXPECT_EQ(kv.mod_revision(), kLargest);
  EXPECT_EQ(kv.version(), 3);
  EXPECT_EQ(kv.value(), value);
  EXPECT_EQ(kv.lease(), -1);
}
mvcc::RowBuffer Rows(std::initializer_list<std::string> keys) {
  mvcc::RowBuffer rows;
  for (const std::string& key : keys) {
    const std::string encoded = EncodedKv(key);
    rows.Add(RowOf(key, encoded));
  }
  return rows;
}

TEST(KvEncodeTest, AHeaderHasItsFourFieldsOrIsEmpty) {
  ExpectHeader(ParsedExactly<etcdserverpb::CompactionResponse>(EncodeHeaderOnly(kHeader).view()));
  const auto empty = ParsedExactly<etcdserverpb::CompactionResponse>(EncodeHeaderOnly({}).view());
  EXPECT_TRUE(empty.has_header());
  EXPECT_EQ(empty.header().ByteSizeLong(), 0);
  constexpr std::uint64_t kTenBytes = std::numeric_limits<std::uint64_t>::max();
  const auto longest = ParsedExactly<etcdserverpb::CompactionResponse>(
      EncodeHeaderOnly({.cluster_id = kTenBytes,
                        .member_id = raft::MemberId{kTenBytes},
                        .revision = -1,
                        .raft_term = raft::Term{kTenBytes}})
          .view());
  EXPECT_EQ(longest.header().ByteSizeLong(), 44);
}

TEST(KvEncodeTest, ARangeHasRowsMoreAndCount) {
  RangeEncoder encoder(kHeader);
  const std::string first = EncodedKv("a");
  const std::string second = EncodedKv("b", std::string(100'000, 'x'));
  encoder.Add(RowOf("a", first));
  encoder.Add(RowOf("b", second));
  encoder.Add(RowOf("c", {}));  // of a keys_only range
  EXPECT_EQ(encoder.rows(), 3);
  EXPECT_EQ(encoder.last_key(), "") << "not asked to keep it";
  const SharedBytes bytes = encoder.Finish(/*more=*/true, 77);
  const auto range = ParsedExactly<etcdserverpb::RangeResponse>(bytes.view());
  ExpectHeader(range);
  ASSERT_EQ(range.kvs_size(), 3);
  ExpectKv(range.kvs(0), "a");
  ExpectKv(range.kvs(1), "b", std::string(100'000, 'x'));
  EXPECT_EQ(range.kvs(2).key(), "c");
  EXPECT_EQ(range.kvs(2).create_revision(), 2);
  EXPECT_EQ(range.kvs(2).mod_revision(), 5);
  EXPECT_EQ(range.kvs(2).version(), 3);
  EXPECT_EQ(range.kvs(2).value(), "");
  EXPECT_TRUE(range.more());
  EXPECT_EQ(range.count(), 77);
}

TEST(KvEncodeTest, AChunkHasNoHeaderAndKeepsItsLastKey) {
  RangeEncoder encoder;
  encoder.KeepLastKey();
  const std::string kv = EncodedKv("a");
  encoder.Add(RowOf("a", kv));
  EXPECT_EQ(encoder.last_key(), "a");
  const std::size_t size_bytes = encoder.size_bytes();
  const ByteChain chunk = WrapStreamChunk(encoder.Finish(/*more=*/false, 0));
  EXPECT_LE(size_bytes, SizeBytes(chunk));
  const std::string joined = Join(chunk);
  const auto response = ParsedExactly<etcdserverpb::RangeStreamResponse>(joined);
  EXPECT_FALSE(response.range_response().has_header());
  ASSERT_EQ(response.range_response().kvs_size(), 1);
  ExpectKv(response.range_response().kvs(0), "a");
}

TEST(KvEncodeTest, APutHasThePreviousPairIfThereIsOne) {
  const auto bare = ParsedExactly<etcdserverpb::PutResponse>(
      EncodePutResponse(kHeader, {.revision = 300, .prev_kv = {}}).view());
  ExpectHeader(bare);
  EXPECT_FALSE(bare.has_prev_kv());
  const SharedBytes bytes =
      EncodePutResponse(kHeader, {.revision = 300, .prev_kv = SharedBytes::Own(EncodedKv("a"))});
  ExpectKv(ParsedExactly<etcdserverpb::PutResponse>(bytes.view()).prev_kv(), "a");
}

TEST(KvEncodeTest, ADeleteHasItsCountAndThePreviousPairs) {
  const SharedBytes bytes = EncodeDeleteRangeResponse(
      kHeader, {.revision = 300, .deleted = 2, .prev_kvs = Rows({"a", "b"})});
  const auto deleted = ParsedExactly<etcdserverpb::DeleteRangeResponse>(bytes.view());
  ExpectHeader(deleted);
  EXPECT_EQ(deleted.deleted(), 2);
  ASSERT_EQ(deleted.prev_kvs_size(), 2);
  ExpectKv(deleted.prev_kvs(1), "b");
}

TEST(KvEncodeTest, ATxnsAnswersCarryOnlyTheirRevision) {
  mvcc::TxnResult result{.succeeded = true, .revision = 300, .responses = {}};
  mvcc::RangeResult range;
  range.rows = Rows({"a"});
  range.count = 9;
  range.more = true;
  range.revision = 301;
  result.responses.emplace_back(std::move(range));
  result.responses.emplace_back(
      mvcc::PutResult{.revision = 301, .prev_kv = SharedBytes::Own(EncodedKv("b"))});
  result.responses.emplace_back(
      mvcc::DeleteRangeResult{.revision = 301, .deleted = 1, .prev_kvs = Rows({"c"})});
  result.responses.emplace_back();
  auto nested = std::make_unique<mvcc::TxnResult>();
  nested->responses.emplace_back(mvcc::PutResult{.revision = 301, .prev_kv = {}});
  result.responses.emplace_back(std::move(nested));

  const SharedBytes bytes = EncodeTxnResponse(kHeader, result);
  const auto txn = ParsedExactly<etcdserverpb::TxnResponse>(bytes.view());
  ExpectHeader(txn);
  EXPECT_TRUE(txn.succeeded());
  ASSERT_EQ(txn.responses_size(), 5);
  const auto& range_response = txn.responses(0).response_range();
  EXPECT_EQ(range_response.header().revision(), 301);
  EXPECT_EQ(range_response.header().cluster_id(), 0);
  ExpectKv(range_response.kvs(0), "a");
  EXPECT_TRUE(range_response.more());
  EXPECT_EQ(range_response.count(), 9);
  EXPECT_EQ(txn.responses(1).response_put().header().revision(), 301);
  ExpectKv(txn.responses(1).response_put().prev_kv(), "b");
  EXPECT_EQ(txn.responses(2).response_delete_range().deleted(), 1);
  ExpectKv(txn.responses(2).response_delete_range().prev_kvs(0), "c");
  EXPECT_EQ(txn.responses(3).response_case(), etcdserverpb::ResponseOp::RESPONSE_NOT_SET);
  const auto& inner = txn.responses(4).response_txn();
  EXPECT_TRUE(inner.has_header());
  EXPECT_EQ(inner.header().ByteSizeLong(), 0);
  EXPECT_FALSE(inner.succeeded());
  EXPECT_EQ(inner.responses(0).response_put().header().revision(), 301);
}

// --- Maintenance and Cluster -------------------------------------------------------------------

TEST(MaintenanceEncodeTest, AStatusHasAllItsFields) {
  const Status status{.version = "3.7.1",
                      .storage_version = "3.7.0",
                      .db_size_bytes = 1,
                      .db_size_in_use_bytes = 2,
                      .db_size_quota_bytes = -1,
                      .leader = raft::MemberId{UINT64_MAX},
                      .commit_index = 3,
                      .applied_index = 4,
                      .term = 5,
                      .is_learner = true,
                      .errors = {"etcdserver: no leader", ""}};
  const SharedBytes bytes = EncodeStatusResponse(kHeader, status);
  const auto parsed = ParsedExactly<etcdserverpb::StatusResponse>(bytes.view());
  ExpectHeader(parsed);
  EXPECT_EQ(parsed.version(), "3.7.1");
  EXPECT_EQ(parsed.storageversion(), "3.7.0");
  EXPECT_EQ(parsed.dbsize(), 1);
  EXPECT_EQ(parsed.dbsizeinuse(), 2);
  EXPECT_EQ(parsed.dbsizequota(), -1);
  EXPECT_EQ(parsed.leader(), UINT64_MAX);
  EXPECT_EQ(parsed.raftindex(), 3);
  EXPECT_EQ(parsed.raftappliedindex(), 4);
  EXPECT_EQ(parsed.raftterm(), 5);
  EXPECT_TRUE(parsed.islearner());
  ASSERT_EQ(parsed.errors_size(), 2);
  EXPECT_EQ(parsed.errors(0), "etcdserver: no leader");
  EXPECT_TRUE(parsed.has_downgradeinfo());
  EXPECT_FALSE(parsed.downgradeinfo().enabled());
}

TEST(MaintenanceEncodeTest, HashesAlarmsAndMembers) {
  const auto hash =
      ParsedExactly<etcdserverpb::HashResponse>(EncodeHashResponse(kHeader, 0xffffffff).view());
  ExpectHeader(hash);
  EXPECT_EQ(hash.hash(), 0xffffffff);
  const auto hash_kv = ParsedExactly<etcdserverpb::HashKVResponse>(
      EncodeHashKvResponse(kHeader, 1, -1, kLargest).view());
  ExpectHeader(hash_kv);
  EXPECT_EQ(hash_kv.hash(), 1);
  EXPECT_EQ(hash_kv.compact_revision(), -1);
  EXPECT_EQ(hash_kv.hash_revision(), kLargest);

  const SharedBytes alarm_bytes = EncodeAlarmResponse(
      kHeader,
      {{.member = 1, .type = AlarmType::kNoSpace}, {.member = 2, .type = AlarmType::kCorrupt}});
  const auto alarms = ParsedExactly<etcdserverpb::AlarmResponse>(alarm_bytes.view());
  ExpectHeader(alarms);
  ASSERT_EQ(alarms.alarms_size(), 2);
  EXPECT_EQ(alarms.alarms(0).memberid(), 1);
  EXPECT_EQ(alarms.alarms(1).alarm(), etcdserverpb::CORRUPT);

  MembershipView view;
  view.members[7] = {.id = 7,
                     .peer_urls = {"http://a:1", "http://b:2"},
                     .is_learner = true,
                     .name = "n",
                     .client_urls = {"http://c:3"}};
  view.members[8] = {.id = 8, .peer_urls = {}, .is_learner = false, .name = {}, .client_urls = {}};
  const auto list =
      ParsedExactly<etcdserverpb::MemberListResponse>(EncodeMembersResponse(kHeader, view).view());
  ASSERT_EQ(list.members_size(), 2);
  EXPECT_EQ(list.members(0).id(), 7);
  EXPECT_EQ(list.members(0).name(), "n");
  EXPECT_EQ(list.members(0).peerurls(1), "http://b:2");
  EXPECT_EQ(list.members(0).clienturls(0), "http://c:3");
  EXPECT_TRUE(list.members(0).islearner());
  EXPECT_EQ(list.members(1).id(), 8);
  EXPECT_FALSE(list.members(1).islearner());
}

TEST(MaintenanceEncodeTest, RequestsAreRead) {
  etcdserverpb::HashKVRequest hash;
  hash.set_revision(-5);
  EXPECT_EQ(DecodeHashKvRequest(hash.SerializeAsString()), -5);
  EXPECT_EQ(DecodeHashKvRequest(""), 0);
  EXPECT_EQ(DecodeHashKvRequest("\x08").error().code, Code::kInternal);
  etcdserverpb::MemberListRequest list;
  list.set_linearizable(true);
  EXPECT_EQ(DecodeMemberListRequest(list.SerializeAsString()), true);
  EXPECT_EQ(DecodeMemberListRequest(""), false);
  EXPECT_EQ(DecodeMemberListRequest("\x08").error().code, Code::kInternal);
}

}  // namespace
}  // namespace kvorum::server
