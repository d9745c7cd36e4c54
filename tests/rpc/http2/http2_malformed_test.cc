// Requests that HTTP/2 does not allow, frame by frame: which of them end their stream, and which
// the connection.
#include <gtest/gtest.h>

#include <string>

#include "tests/rpc/http2_fixture.h"

namespace kvorum::rpc {
namespace {

// --- RFC 9113, section 8: malformed requests are reset, and their connection goes on -------------

TEST_F(Http2Test, MethodSchemeAndPathAreMandatory) {
  for (const char* name : {":method", ":scheme", ":path"})
    EXPECT_EQ(Call(RequestHeaders(kUnary, {{name, std::nullopt}})).reset, kProtocolError) << name;
}

TEST_F(Http2Test, AnEmptyPathIsMalformed) {
  EXPECT_EQ(CallWith(":path", "").reset, kProtocolError);
}

TEST_F(Http2Test, ConnectGoesWithoutSchemeAndPathAndIsRefused) {
  ExpectError(
      Call(RequestHeaders(
          kUnary, {{":method", "CONNECT"}, {":scheme", std::nullopt}, {":path", std::nullopt}})),
      "405", "13", "Received a HEADERS frame with :method \"CONNECT\" which should be POST");
}

// CVE-2023-1428: an odd scheme or te ends nothing but its own stream.
TEST_F(Http2Test, ASchemeMustHaveItsForm) {
  for (const char* good : {"http", "https", "ftp", "a+b-c.1", "HTTP"})
    EXPECT_EQ(CallWith(":scheme", good).grpc_status, "0") << good;
  for (const char* bad : {"", "ht tp", "1http", "http:", "h\xc3\xa4", "-"})
    EXPECT_EQ(CallWith(":scheme", bad).reset, kProtocolError) << bad;
}

TEST_F(Http2Test, TeMaySayTrailersOnly) {
  EXPECT_EQ(Call(RequestHeaders(kUnary, {{"te", std::nullopt}})).grpc_status, "0");
  EXPECT_EQ(CallWith("te", "Trailers").grpc_status, "0");
  for (const char* bad : {"gzip", "trailers, gzip", "", "nonsense"})
    EXPECT_EQ(CallWith("te", bad).reset, kProtocolError) << bad;
}

TEST_F(Http2Test, FieldsOfHttp1ConnectionsAreMalformed) {
  for (const char* name :
       {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"})
    EXPECT_EQ(CallWith(name, "chunked").reset, kProtocolError) << name;
}

TEST_F(Http2Test, AContentLengthMustBeThatOfTheBody) {
  const std::string right = std::to_string(Message("m").size());
  EXPECT_EQ(CallWith("content-length", right).message, Message("m"));
  for (const char* wrong : {"5", "7", "0", "-6", "+6", "6 ", "", "six", "6, 6", "0x6",
                            "18446744073709551616", "99999999999999999999999"})
    EXPECT_EQ(CallWith("content-length", wrong).reset, kProtocolError) << wrong;
  Headers twice = RequestHeaders(kUnary, {{"content-length", right}});
  twice.emplace_back("content-length", right);
  EXPECT_EQ(Call(twice).reset, kProtocolError);
  EXPECT_EQ(Call(RequestHeaders(kUnary, {{"content-length", "1"}}), "").reset, kProtocolError);
  EXPECT_EQ(server_.started, server_.ended);
}

// A stream's handler is already running when more comes than was announced.
TEST_F(Http2Test, AStreamThatIsLongerThanToldIsCutOff) {
  client_.Send(Frame(FrameType::kHeaders, kEndHeaders, 1,
                     HeaderBlock(RequestHeaders("/test.Echo/Chat", {{"content-length", "10"}}))) +
               Frame(FrameType::kData, 0, 1, Message("told")));
  EXPECT_EQ(client_.NextOf(FrameType::kData)->payload, Message("told"));
  client_.Send(Frame(FrameType::kData, 0, 1, Message("more")));
  EXPECT_EQ(client_.Await(1).reset, kProtocolError);
  EXPECT_TRUE(Eventually([&] { return server_.cancelled == 1 && server_.ended == 1; }));
  EXPECT_TRUE(client_.Works(3));
}

TEST_F(Http2Test, AHostMustBeTheAuthority) {
  const auto call = [&](const char* authority, const char* host, const char* scheme = "http") {
    return Call(
        RequestHeaders(kUnary, {{":authority", authority}, {":scheme", scheme}, {"host", host}}));
  };
  EXPECT_EQ(call("a.b:2379", "a.b:2379").grpc_status, "0");
  EXPECT_EQ(call("A.b", "a.B:80").grpc_status, "0");
  EXPECT_EQ(call("a.b:443", "a.b", "https").grpc_status, "0");
  EXPECT_EQ(Call(RequestHeaders(kUnary, {{":authority", std::nullopt}, {"host", "a"}})).grpc_status,
            "0");
  EXPECT_EQ(call("a.b", "b.a").reset, kProtocolError);
  EXPECT_EQ(call("a.b", "").reset, kProtocolError);
  EXPECT_EQ(call("a.b", "a.b:443").reset, kProtocolError);
}

TEST_F(Http2Test, TrailersHaveNoPseudoHeaders) {
  const auto trailers = [&](const Headers& headers) {
    const std::uint32_t stream = next_stream_;
    next_stream_ += 2;
    client_.Send(
        Frame(FrameType::kHeaders, kEndHeaders, stream, HeaderBlock(RequestHeaders(kUnary))) +
        Frame(FrameType::kData, 0, stream, Message("t")) +
        Frame(FrameType::kHeaders, kEndHeaders | kEndStream, stream, HeaderBlock(headers)));
    return client_.Await(stream);
  };
  EXPECT_EQ(trailers({{"a", "b"}}).grpc_status, "0");
  for (const Headers& bad :
       {Headers{{":path", kUnary.data()}}, Headers{{":status", "200"}}, Headers{{"Upper", "case"}},
        Headers{{"a", "b\r\n"}}, Headers{{"transfer-encoding", "chunked"}}})
    EXPECT_EQ(trailers(bad).reset, kProtocolError) << bad.front().first;
  EXPECT_TRUE(client_.Works(next_stream_));
  EXPECT_EQ(server_.started, 2);
}

TEST_F(Http2Test, MalformedHeaderBlocksResetTheirStreamOnly) {
  const auto reset = [&](Headers headers) { return Call(headers).reset; };
  Headers headers = RequestHeaders(kUnary);
  headers.emplace_back("connection", "close");
  EXPECT_EQ(reset(headers), kProtocolError);
  headers = RequestHeaders(kUnary);
  headers.emplace_back("Upper", "case");
  EXPECT_EQ(reset(headers), kProtocolError);
  headers.back() = {"bad name", "x"};
  EXPECT_EQ(reset(headers), kProtocolError);
  headers.back() = {"", "x"};
  EXPECT_EQ(reset(headers), kProtocolError);
  headers.back() = {"bad-value", std::string("a\0b", 3)};
  EXPECT_EQ(reset(headers), kProtocolError);
  headers.back() = {"bad-value", "a\r\nb: c"};
  EXPECT_EQ(reset(headers), kProtocolError);
  headers.back() = {":path", "/late"};
  EXPECT_EQ(reset(headers), kProtocolError);
  headers.back() = {":unknown", "x"};
  EXPECT_EQ(reset(headers), kProtocolError);
  headers = RequestHeaders(kUnary);
  headers.insert(headers.begin(), {":path", "/twice"});
  EXPECT_EQ(reset(headers), kProtocolError);
}

TEST_F(Http2Test, TwoHostsAreRefused) {
  Headers headers = RequestHeaders(kUnary);
  headers.insert(headers.begin(), {":authority", "second"});
  ExpectError(Call(headers), "400", "13",
              "num values of :authority: 2, num values of host: 0, both must only have 1 value as "
              "per HTTP/2 spec");
}

// --- RFC 9113, section 5: streams that are over --------------------------------------------------

TEST_F(Http2Test, DataOnAClosedStreamIsTold) {
  ASSERT_TRUE(client_.Works(1));
  client_.Send(Frame(FrameType::kData, 0, 1, "late"));
  EXPECT_EQ(client_.Await(1).reset, kStreamClosed);
  EXPECT_TRUE(client_.Works(3));
  // Once for each stream, however it comes.
  for (const char byte : Frame(FrameType::kData, 0, 3, "late")) client_.Send(std::string(1, byte));
  EXPECT_EQ(client_.Await(3).reset, kStreamClosed);
  client_.Send(Frame(FrameType::kData, 0, 3, "later") + Frame(FrameType::kPing, 0, 0, "12345678"));
  EXPECT_EQ(client_.Next()->type, FrameType::kPing);
  EXPECT_TRUE(client_.Works(5));
}

TEST_F(Http2Test, DataAfterTheClientsOwnResetIsTold) {
  client_.Send(UnaryCall(1, "/test.Echo/Hold", "h") +
               Frame(FrameType::kRstStream, 0, 1, BigEndian32(kCancel)) +
               Frame(FrameType::kData, 0, 1, "late"));
  EXPECT_EQ(client_.Await(1).reset, kStreamClosed);
  EXPECT_TRUE(client_.Works(3));
}

// The client cannot know yet that its stream was answered and closed.
TEST_F(Http2Test, WhatIsOnItsWayToAStreamThatWeResetIsPassedOver) {
  client_.Send(Frame(FrameType::kHeaders, kEndHeaders, 1, HeaderBlock(RequestHeaders(kUnary))) +
               Frame(FrameType::kData, 0, 1, std::string("\0\xff\xff\xff\xff", 5)));
  EXPECT_EQ(client_.Await(1).grpc_status, "8");
  EXPECT_EQ(client_.NextOf(FrameType::kRstStream)->error_code(), kNoError);
  client_.Send(Frame(FrameType::kData, 0, 1, "on its way") +
               Frame(FrameType::kHeaders, kEndHeaders | kEndStream, 1, HeaderBlock({{"a", "b"}})) +
               Frame(FrameType::kPing, 0, 0, "12345678"));
  EXPECT_EQ(client_.Next()->type, FrameType::kPing);  // and nothing before it
  EXPECT_TRUE(client_.Works(3));
}

TEST_F(Http2Test, AStreamIdThatIsNotNewEndsTheConnection) {
  for (const std::uint32_t again : {5U, 3U, 1U}) {
    Http2Client client(server_.port());
    ASSERT_TRUE(client.Works(1));
    ASSERT_TRUE(client.Works(5));
    client.Send(UnaryCall(again, kUnary, "again"));
    const auto goaway = client.NextOf(FrameType::kGoAway);
    ASSERT_TRUE(goaway) << again;
    EXPECT_EQ(goaway->error_code(), kProtocolError);
    EXPECT_EQ(goaway->last_stream_id(), 5U);
    EXPECT_EQ(client.Next(), std::nullopt);
  }
}

TEST_F(Http2Test, AWindowThatSettingsMakeTooLargeEndsTheConnection) {
  const auto initial_window = [](std::uint32_t bytes) {
    return Frame(FrameType::kSettings, 0, 0, std::string("\0\4", 2) + BigEndian32(bytes));
  };
  constexpr std::uint32_t kLargest = 0x7fffffff;
  client_.Send(UnaryCall(1, "/test.Echo/Hold", "h") +
               Frame(FrameType::kWindowUpdate, 0, 1, BigEndian32(1000)) +
               initial_window(kLargest - 1000));
  EXPECT_TRUE(client_.Works(3));  // it just fits
  client_.Send(initial_window(kLargest - 999));
  const auto goaway = client_.NextOf(FrameType::kGoAway);
  ASSERT_TRUE(goaway);
  EXPECT_EQ(goaway->error_code(), kFlowControlError);
  EXPECT_EQ(client_.Next(), std::nullopt);
  EXPECT_TRUE(Eventually([&] { return server_.cancelled == 1; }));
}

}  // namespace
}  // namespace kvorum::rpc
