// The content of a log entry, compared with the protobuf library's reading of
// etcdserverpb.InternalRaftRequest.
#include "api/entries/internal_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "api/downgrade.h"
#include "api/maintenance_encode.h"
#include "proto/raft_internal.pb.h"
#include "proto/wire.h"
#include "tests/damage.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

constexpr std::pair<RequestKind, bool (etcdserverpb::InternalRaftRequest::*)() const> kFields[] = {
    {RequestKind::kPut, &etcdserverpb::InternalRaftRequest::has_put},
    {RequestKind::kDeleteRange, &etcdserverpb::InternalRaftRequest::has_delete_range},
    {RequestKind::kTxn, &etcdserverpb::InternalRaftRequest::has_txn},
    {RequestKind::kCompaction, &etcdserverpb::InternalRaftRequest::has_compaction},
    {RequestKind::kAlarm, &etcdserverpb::InternalRaftRequest::has_alarm},
    {RequestKind::kClusterVersionSet, &etcdserverpb::InternalRaftRequest::has_cluster_version_set},
    {RequestKind::kMemberAttributesSet,
     &etcdserverpb::InternalRaftRequest::has_cluster_member_attr_set},
    {RequestKind::kDowngradeInfoSet, &etcdserverpb::InternalRaftRequest::has_downgrade_info_set},
};

TEST(InternalRequestTest, EveryKindIsAFieldOfTheMessage) {
  for (const auto& [kind, has] : kFields) {
    for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      const SharedBytes bytes = EncodeInternalRequest(id, kind, "");
      etcdserverpb::InternalRaftRequest parsed;
      ASSERT_TRUE(parsed.ParseFromString(std::string(bytes.view())));
      EXPECT_TRUE((parsed.*has)()) << static_cast<int>(kind);
      EXPECT_EQ(parsed.header().id(), id);
      const auto decoded = DecodeInternalRequest(bytes.view());
      ASSERT_TRUE(decoded.has_value());
      EXPECT_EQ(decoded->kind, kind);
      EXPECT_EQ(decoded->id, id);
      EXPECT_EQ(decoded->body, "");
    }
  }
}

TEST(InternalRequestTest, TheBodyIsTheRequestsOwnBytesWithoutACopy) {
  const std::string body = PutBody("k", std::string(70'000, 'v'));
  const SharedBytes bytes = EncodeInternalRequest(7, RequestKind::kPut, body);
  const auto decoded = DecodeInternalRequest(bytes.view());
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->body, body);
  EXPECT_GE(decoded->body.data(), bytes.data());
  EXPECT_LE(decoded->body.data() + decoded->body.size(), bytes.data() + bytes.size());
}

TEST(InternalRequestTest, ReadsWhatTheLibraryWrites) {
  etcdserverpb::InternalRaftRequest request;
  request.mutable_header()->set_id(9);
  request.mutable_header()->set_username("root");
  request.mutable_header()->set_auth_revision(3);
  request.mutable_compaction()->set_revision(5);
  const std::string bytes = request.SerializeAsString();
  auto decoded = DecodeInternalRequest(bytes);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->id, 9);
  EXPECT_EQ(decoded->kind, RequestKind::kCompaction);
  EXPECT_EQ(decoded->body, CompactBody(5));

  request.clear_header();
  request.set_id(8);  // where old members have it
  const std::string old = request.SerializeAsString();
  decoded = DecodeInternalRequest(old);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->id, 8);
}

TEST(InternalRequestTest, WithoutARequestItIsOfNoKind) {
  const auto decoded = DecodeInternalRequest("");
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->kind, RequestKind::kNone);
}

TEST(InternalRequestTest, AKindThatIsNotKnownIsRefusedByName) {
  for (const std::uint32_t field : {2U, 3U, 99U, 999U, 1010U, 1303U, 9900U, 99999U}) {
    std::string bytes;
    wire::AppendBytesAlways(bytes, field, "");
    const auto decoded = DecodeInternalRequest(bytes);
    ASSERT_FALSE(decoded.has_value()) << field;
    EXPECT_EQ(decoded.error(),
              (Error{Code::kUnimplemented, "the log holds a request of a newer version (field " +
                                               std::to_string(field) + ")"}));
  }
}

TEST(InternalRequestTest, TheVersionTestsOfEtcdAreFoundAsFarAsTheyAreWhole) {
  const std::string test = std::string("\xe2\xea\x04\x05\x0a\x03") + "3.7";
  EXPECT_THAT(VersionTestsIn(test + test), testing::ElementsAre("3.7", "3.7"));
  EXPECT_THAT(VersionTestsIn(std::string("\xe2\xea\x04\0", 4)), testing::ElementsAre(""));
  EXPECT_THAT(VersionTestsIn(EncodeInternalRequest(1, RequestKind::kPut, "").view()),
              testing::IsEmpty());
  ForEachCut(test, [](std::string_view cut) {
    for (const std::string_view version : VersionTestsIn(cut)) EXPECT_EQ(version, "");
  });
}

TEST(InternalRequestTest, EachLengthCutIsRefusedOrEmpty) {
  const SharedBytes bytes = EncodeInternalRequest(300, RequestKind::kPut, PutBody("key", "value"));
  ForEachCut(bytes.view(), [](std::string_view cut) {
    const auto decoded = DecodeInternalRequest(cut);
    if (!decoded.has_value()) {
      EXPECT_EQ(decoded.error(), (Error{Code::kDataLoss, "a log entry's request is malformed"}));
      return;
    }
    EXPECT_EQ(decoded->id, 0) << "only the header may be missing whole";
  });
}

TEST(InternalRequestTest, ADamagedHeaderIsRefused) {
  std::string bytes;
  wire::AppendBytesAlways(bytes, 100, "\x08");  // an id without its value
  EXPECT_EQ(DecodeInternalRequest(bytes).error().code, Code::kDataLoss);
}

// --- the two attribute entries -----------------------------------------------------------------

TEST(AttributeEntriesTest, AreWhatTheLibraryReads) {
  const MemberAttributes attributes{
      .member = 7, .name = "n", .client_urls = {"http://a:1", "http://b:2"}};
  const std::string bytes = EncodeMemberAttributes(attributes);
  membershippb::ClusterMemberAttrSetRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_EQ(parsed.member_id(), 7);
  EXPECT_EQ(parsed.member_attributes().name(), "n");
  ASSERT_EQ(parsed.member_attributes().client_urls_size(), 2);
  EXPECT_EQ(parsed.member_attributes().client_urls(1), "http://b:2");
  const auto decoded = DecodeMemberAttributes(bytes);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->member, 7);
  EXPECT_EQ(decoded->name, "n");
  EXPECT_EQ(decoded->client_urls, attributes.client_urls);
  EXPECT_EQ(DecodeMemberAttributes(bytes.substr(0, bytes.size() - 1)).error().code,
            Code::kDataLoss);

  membershippb::ClusterVersionSetRequest version;
  ASSERT_TRUE(version.ParseFromString(EncodeClusterVersion("3.7.0")));
  EXPECT_EQ(version.ver(), "3.7.0");
  EXPECT_EQ(DecodeClusterVersion(EncodeClusterVersion("3.7.0")), "3.7.0");
  EXPECT_EQ(DecodeClusterVersion("\x0a\x05x").error().code, Code::kDataLoss);

  membershippb::DowngradeInfoSetRequest downgrade;
  ASSERT_TRUE(downgrade.ParseFromString(
      EncodeDowngradeEntry({.enabled = true, .target_version = "3.6.0"})));
  EXPECT_TRUE(downgrade.enabled());
  EXPECT_EQ(downgrade.ver(), "3.6.0");
  EXPECT_EQ(DecodeDowngradeEntry("\x12\x05x").error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace kvorum::server
