// The bytes of an export, compared with those of OpenTelemetry's own messages in Python.
#include "server/tracing/otlp_encode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::server::tracing {
namespace {

// Made by opentelemetry-proto 1.45 of the two spans below.
constexpr std::string_view kGolden =
    "0a94040a350a1b0a13736572766963652e696e7374616e63652e696412040a026d310a160a0c736572766963"
    "652e6e616d6512060a046574636412f9010a550a4b676f2e6f70656e74656c656d657472792e696f2f636f6e"
    "747269622f696e737472756d656e746174696f6e2f676f6f676c652e676f6c616e672e6f72672f677270632f"
    "6f74656c677270631206302e36382e30129f010a100102030405060708090a0b0c0d0e0f1012081112131415"
    "1617181a07613d312c623d322208191a1b1c1d1e1f202a136574636473657276657270622e4b562f50757430"
    "0239010064a7b3b6e00d412c0164a7b3b6e00d4a230a0a7270632e6d6574686f6412150a1365746364736572"
    "76657270622e4b562f5075744a120a0b7365727665722e706f7274120318cb127a0612026e6f180285010103"
    "000012de010a110a0f676f2e657463642e696f2f6574636412c8010a100102030405060708090a0b0c0d0e0f"
    "10120821222324252627281a07613d312c623d32220811121314151617182a03707574300139020064a7b3b6"
    "e00d412b0164a7b3b6e00d4a090a036b657912020a004a140a056c65617365120b18ffffffffffffffffff01"
    "4a090a03796573120210005a1d09030064a7b3b6e00d121253656e6420726166742070726f706f73616c5a2b"
    "09040064a7b3b6e00d1209657863657074696f6e1a150a0e657863657074696f6e2e7479706512030a01787a"
    "00850101010000";

std::string HexOf(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex += kDigits[static_cast<std::uint8_t>(c) >> 4];
    hex += kDigits[static_cast<std::uint8_t>(c) & 15];
  }
  return hex;
}

template <class Id>
Id IdFrom(std::uint8_t first) {
  Id id{};
  std::iota(id.begin(), id.end(), first);
  return id;
}

std::unique_ptr<Span> ServerSpan() {
  auto span = std::make_unique<Span>();
  span->context = {IdFrom<TraceId>(1), IdFrom<SpanId>(17), kSampledFlag, "a=1,b=2"};
  span->parent_id = IdFrom<SpanId>(25);
  span->parent_is_remote = true;
  span->name = "etcdserverpb.KV/Put";
  span->kind = Span::Kind::kServer;
  span->start_ns = 1'000'000'000'000'000'001;
  span->end_ns = 1'000'000'000'000'000'300;
  span->attributes = {{"rpc.method", std::string("etcdserverpb.KV/Put")},
                      {"server.port", std::int64_t{2379}}};
  span->is_error = true;
  span->status_message = "no";
  return span;
}

std::unique_ptr<Span> InnerSpan() {
  auto span = std::make_unique<Span>();
  span->context = {IdFrom<TraceId>(1), IdFrom<SpanId>(33), kSampledFlag, "a=1,b=2"};
  span->parent_id = IdFrom<SpanId>(17);
  span->name = "put";
  span->start_ns = 1'000'000'000'000'000'002;
  span->end_ns = 1'000'000'000'000'000'299;
  span->attributes = {{"key", std::string()}, {"lease", std::int64_t{-1}}, {"yes", false}};
  span->events = {{"Send raft proposal", 1'000'000'000'000'000'003, {}},
                  {"exception", 1'000'000'000'000'000'004, {{"exception.type", std::string("x")}}}};
  return span;
}

TEST(OtlpEncodeTest, BytesAreThoseOfOpenTelemetry) {
  std::vector<std::unique_ptr<Span>> spans;
  spans.push_back(InnerSpan());
  spans.push_back(ServerSpan());
  EXPECT_EQ(HexOf(EncodeExport({"etcd", "m1"}, spans)), kGolden);
}

TEST(OtlpEncodeTest, AScopeWithoutSpansAndAnEmptyInstanceAreLeftOut) {
  std::vector<std::unique_ptr<Span>> spans;
  spans.push_back(InnerSpan());
  const std::string bytes = EncodeExport({"etcd", ""}, spans);
  EXPECT_EQ(bytes.find("otelgrpc"), std::string::npos);
  EXPECT_EQ(bytes.find("service.instance.id"), std::string::npos);
  EXPECT_NE(bytes.find("service.name"), std::string::npos);
}

TEST(OtlpEncodeTest, ReadsWhatTheCollectorRejected) {
  const Rejection rejection = DecodeExportAnswer(
      "\x0a\x08\x08\x03\x12\x04"
      "full");
  EXPECT_EQ(rejection.spans, 3);
  EXPECT_EQ(rejection.reason, "full");
  EXPECT_EQ(DecodeExportAnswer("").spans, 0);
  EXPECT_EQ(DecodeExportAnswer("\x0a\xff").spans, 0);
}

TEST(OtlpEncodeTest, TextsAreUtf8AndBounded) {
  EXPECT_EQ(TextOf("key"), "key");
  EXPECT_EQ(TextOf("\xff"
                   "a"),
            "\xef\xbf\xbd"
            "a");
  EXPECT_EQ(TextOf(std::string(10'000, 'x')).size(), kMaxTextBytes);
}

}  // namespace
}  // namespace kvorum::server::tracing
