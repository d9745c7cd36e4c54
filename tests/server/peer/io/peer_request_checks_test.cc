// The refusals of requests between members, their order and their texts.
#include <gtest/gtest.h>

#include <string>

#include "server/peer/io/request_checks.h"
#include "server/peer/transport/probe.h"

namespace kvorum::server {
namespace {

constexpr std::uint64_t kClusterId = 0xabc;
constexpr raft::MemberId kLocal = 0x1f;

rpc::HttpHead Head(std::string method, std::string target) {
  rpc::HttpHead head;
  head.method = std::move(method);
  head.target = std::move(target);
  head.headers = {{"x-server-from", "2"},
                  {"x-server-version", "3.7.1"},
                  {"x-min-cluster-version", "3.0.0"},
                  {"x-etcd-cluster-id", "abc"},
                  {"x-raft-to", "1f"}};
  return head;
}

void Set(rpc::HttpHead& head, std::string_view name, std::string_view value) {
  for (rpc::HttpHeader& header : head.headers) {
    if (header.name == name) header.value = value;
  }
}

// "412 incompatible version", or "" if it passes.
std::string StatusLine(const rpc::HttpResponse& response) {
  std::string body = Join(response.body);
  EXPECT_TRUE(body.ends_with('\n'));
  body.pop_back();
  return std::to_string(response.status) + " " + body;
}
std::string Refused(const rpc::HttpHead& head, std::string_view method = "GET") {
  const auto refusal = RefuseRequest(head, method, kClusterId);
  return refusal.has_value() ? StatusLine(*refusal) : "";
}

TEST(PeerRequestChecksTest, TheMethodComesFirst) {
  rpc::HttpHead head = Head("POST", "/raft/stream/message/2");
  Set(head, "x-server-version", "1.0.0");
  const auto refusal = RefuseRequest(head, "GET", kClusterId);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(StatusLine(*refusal), "405 Method Not Allowed");
  EXPECT_EQ(refusal->headers.back().name + ": " + refusal->headers.back().value, "Allow: GET");
}

TEST(PeerRequestChecksTest, ThenTheVersions) {
  rpc::HttpHead head = Head("GET", "/raft");
  Set(head, "x-etcd-cluster-id", "other");
  const std::string incompatible = "412 incompatible version";
  for (const char* version : {"2.3.8", "2.0.0", "", "3", "3.x.1", "nonsense", "3.7.1x"}) {
    Set(head, "x-server-version", version);
    EXPECT_EQ(Refused(head), incompatible) << version;
  }
  Set(head, "x-server-version", "3.7.1");
  for (const char* version : {"3.8.0", "4.0.0", "nonsense"}) {
    Set(head, "x-min-cluster-version", version);
    EXPECT_EQ(Refused(head), incompatible) << version;
  }
}

TEST(PeerRequestChecksTest, OtherVersionsOfThreeAreSpokenWith) {
  rpc::HttpHead head = Head("GET", "/raft");
  for (const char* version : {"3.0.0", "3.4.23", "3.6.0-alpha.0", "3.9.0+git", "4.0.0"}) {
    Set(head, "x-server-version", version);
    EXPECT_EQ(Refused(head), "") << version;
  }
  Set(head, "x-min-cluster-version", "");  // one of 2.0 did not say it
  EXPECT_EQ(Refused(head), "");
}

TEST(PeerRequestChecksTest, ThenTheCluster) {
  rpc::HttpHead head = Head("GET", "/raft");
  EXPECT_EQ(Refused(head), "");
  for (const char* cluster : {"abd", "", "0abc", "ABC"}) {
    Set(head, "x-etcd-cluster-id", cluster);
    EXPECT_EQ(Refused(head), "412 cluster ID mismatch") << cluster;
  }
}

class StreamChecksTest : public testing::Test {
 protected:
  StreamChecksTest() {
    view_.members[kLocal] = {};
    view_.members[2] = {};
    view_.removed.insert(3);
  }
  std::string Check(const std::string& target) {
    rpc::HttpHead head = Head("GET", target);
    Set(head, "x-raft-to", to_);
    const auto request = CheckStreamRequest(head, kLocal, view_);
    if (!request.has_value()) {
      unknown_ = request.error().unknown_sender;
      return StatusLine(request.error().response);
    }
    return std::string(PathName(request->kind)) + " from " + std::to_string(request->from.value());
  }

  MembershipView view_;
  std::string to_ = "1f";
  raft::MemberId unknown_ = raft::kNone;
};

TEST_F(StreamChecksTest, TheStreamsOfAMemberPass) {
  EXPECT_EQ(Check("/raft/stream/message/2"), "message from 2");
  EXPECT_EQ(Check("/raft/stream/msgapp/2?x=y"), "msgapp from 2");
}

TEST_F(StreamChecksTest, PathThenSenderThenReceiver) {
  to_ = "20";
  EXPECT_EQ(Check("/raft/stream/other/zz"), "404 invalid path");
  EXPECT_EQ(Check("/raft/stream/message"), "404 invalid path");
  EXPECT_EQ(Check("/raft/stream/message/2/3"), "404 invalid path");
  EXPECT_EQ(Check("/raft/stream/"), "404 invalid path");
  EXPECT_EQ(Check("/raft/stream/message/zz"), "404 invalid from");
  EXPECT_EQ(Check("/raft/stream/message/"), "404 invalid from");
  EXPECT_EQ(Check("/raft/stream/message/11112222333344445"), "404 invalid from");
  EXPECT_EQ(Check("/raft/stream/message/3"), "410 removed member");
  EXPECT_EQ(unknown_, raft::kNone);
  EXPECT_EQ(Check("/raft/stream/message/4"), "404 error sender not found");
  EXPECT_EQ(unknown_, 4);
  EXPECT_EQ(Check("/raft/stream/message/1f"), "404 error sender not found");
  EXPECT_EQ(Check("/raft/stream/message/2"), "412 to field mismatch");
}

TEST(ProbeTest, AnAnswerTellsTheTime) {
  const std::int64_t noon = 1'785'585'600'000'000'000;  // 2026-08-01T12:00:00Z
  EXPECT_EQ(EncodeProbeAnswer(noon + 5),
            "{\"OK\":true,\"Now\":\"2026-08-01T12:00:00.000000005Z\"}\n");
  EXPECT_EQ(DecodeProbeAnswer(EncodeProbeAnswer(noon + 5)), noon + 5);
  EXPECT_EQ(DecodeProbeAnswer(R"({"OK":true,"Now":"2026-08-01T14:00:00.5+02:00"})"),
            noon + 500'000'000);
  EXPECT_EQ(DecodeProbeAnswer(R"({"OK":true,"Now":"2026-08-01T12:00:00Z"})"), noon);
  for (const char* nonsense :
       {"", "{}", "[]", R"({"OK":false,"Now":"2026-08-01T12:00:00Z"})", R"({"OK":true,"Now":1})",
        R"({"OK":true,"Now":"yesterday"})", R"({"OK":true,"Now":"2026-08-01T12:00:00"})",
        R"({"OK":true,"Now":"2026-08-01T12:00:00+2"})",
        R"({"OK":true,"Now":"7366-08-01T12:00:00Z"})",
        R"({"OK":true,"Now":"0001-01-01T00:00:00Z"})"}) {
    EXPECT_EQ(DecodeProbeAnswer(nonsense), std::nullopt) << nonsense;
  }
}

}  // namespace
}  // namespace kvorum::server
