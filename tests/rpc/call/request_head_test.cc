#include "rpc/call/request_head.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tests/rpc/http2_client.h"

namespace kvorum::rpc {
namespace {

constexpr std::string_view kPath = "/t.T/U";

class RequestHeadTest : public testing::Test {
 protected:
  RequestHeadTest() {
    router_.AddUnary("t.T", "U",
                     [](const auto&, SharedBytes, UnaryReply reply) { reply.Send(SharedBytes()); });
  }

  struct Seen {
    RequestHead head;
    std::unique_ptr<CallContext> call = std::make_unique<CallContext>();
    bool malformed() const { return head.IsMalformed(*call); }
  };
  Seen Take(const Headers& fields, std::size_t max_list_bytes = 100'000) {
    Seen seen;
    MetadataPacker metadata;
    for (const auto& [name, value] : fields)
      seen.head.OnField(name, value, router_, metadata, max_list_bytes);
    seen.call->set_metadata(metadata.Pack());
    return seen;
  }
  Seen With(std::string name, std::optional<std::string> value) {
    return Take(RequestHeaders(kPath, {{std::move(name), std::move(value)}}));
  }

  Router router_;
};

TEST_F(RequestHeadTest, AnOrdinaryCall) {
  const Seen seen = With("x-mine", "value");
  EXPECT_FALSE(seen.malformed());
  EXPECT_FALSE(seen.head.too_large);
  ASSERT_NE(seen.head.entry, nullptr);
  EXPECT_EQ(seen.head.entry->info.path, kPath);
  EXPECT_EQ(seen.head.method, RequestHead::HttpMethod::kPost);
  EXPECT_TRUE(seen.head.is_grpc);
  EXPECT_FALSE(seen.head.plus_proto);
  EXPECT_FALSE(seen.head.is_gzip);
  EXPECT_EQ(seen.head.UnusualBytes(), 0);
  EXPECT_EQ(seen.call->Metadata("x-mine"), "value");
  EXPECT_EQ(seen.call->Metadata("content-type"), std::nullopt);
  EXPECT_EQ(seen.call->Metadata("te"), std::nullopt);
}

TEST_F(RequestHeadTest, FieldsWithAMeaning) {
  EXPECT_TRUE(With("content-type", "application/grpc+proto").head.plus_proto);
  EXPECT_EQ(With("content-type", "text/plain").head.wrong_content_type, "text/plain");
  EXPECT_TRUE(With("grpc-encoding", "gzip").head.is_gzip);
  EXPECT_EQ(With("grpc-encoding", "zstd").head.unknown_encoding, "zstd");
  EXPECT_EQ(With("grpc-timeout", "3S").head.timeout, std::chrono::seconds(3));
  EXPECT_TRUE(With("grpc-timeout", "soon").head.error.has_value());
  EXPECT_EQ(With("content-length", "17").head.content_length, 17);
  EXPECT_EQ(With(":path", "/t.T/None").head.unknown_path, "/t.T/None");
  EXPECT_EQ(With(":method", "GET").head.wrong_http_method, "GET");
  EXPECT_EQ(With("a-bin", "aGk").call->Metadata("a-bin"), "hi");
  EXPECT_TRUE(With("a-bin", "!").head.error.has_value());
}

TEST_F(RequestHeadTest, EachRuleOfHttp2) {
  EXPECT_FALSE(With("te", "trailers").malformed());
  for (const auto& [name, value] : Headers{{"te", "gzip"},
                                           {"connection", "close"},
                                           {"Upper", "case"},
                                           {"x", "a\nb"},
                                           {":unknown", "x"},
                                           {":scheme", "1"},
                                           {":path", ""},
                                           {"content-length", "x"}})
    EXPECT_TRUE(With(name, value).malformed()) << name;
  for (const std::string name : {":path", ":method", ":scheme"}) {
    EXPECT_TRUE(With(name, std::nullopt).malformed()) << name;
    const Headers fields = RequestHeaders(kPath);
    Headers twice;
    for (const auto& field : fields)
      for (int i = 0; i < (field.first == name ? 2 : 1); ++i) twice.push_back(field);
    EXPECT_TRUE(Take(twice).malformed()) << name;
  }
  Headers late = RequestHeaders(kPath, {{":authority", std::nullopt}});
  late.emplace_back(":authority", "localhost");
  EXPECT_TRUE(Take(late).malformed());
}

TEST_F(RequestHeadTest, ConnectHasNoPath) {
  EXPECT_FALSE(Take({{":method", "CONNECT"}, {":authority", "a"}}).malformed());
}

TEST_F(RequestHeadTest, AHostNamesTheAuthority) {
  const auto with = [this](std::string authority, std::string host) {
    return Take(RequestHeaders(kPath, {{":authority", authority}, {"host", host}}));
  };
  EXPECT_FALSE(with("localhost:1", "localhost:1").malformed());
  EXPECT_TRUE(with("localhost:1", "localhost:2").malformed());
  EXPECT_EQ(with("a", "a").head.hosts, 1);
  EXPECT_EQ(with("a", "a").head.authorities, 1);
}

TEST_F(RequestHeadTest, TheWholeBlockHasABound) {
  const Headers fields = RequestHeaders(kPath, {{"x-large", std::string(3000, 'x')}});
  std::size_t size_bytes = 0;
  for (const auto& [name, value] : fields) size_bytes += name.size() + value.size() + 32;
  EXPECT_EQ(Take(fields, size_bytes).head.UnusualBytes(), size_bytes);
  EXPECT_FALSE(Take(fields, size_bytes).head.too_large);
  EXPECT_TRUE(Take(fields, size_bytes - 1).head.too_large);
}

TEST_F(RequestHeadTest, TrailersMeanNothingButFollowTheRules) {
  RequestHead head;
  head.OnTrailer("grpc-timeout", "soon", 100);
  EXPECT_FALSE(head.malformed || head.error.has_value());
  head.OnTrailer(":path", "/", 1000);
  EXPECT_TRUE(head.malformed);
  head.Clear();
  head.OnTrailer("connection", "close", 1000);
  EXPECT_TRUE(head.malformed);
  head.Clear();
  head.OnTrailer("x", std::string(68, 'y'), 100);
  EXPECT_TRUE(head.too_large);
}

}  // namespace
}  // namespace kvorum::rpc
