// gRPC over HTTP/2, frame by frame: the server's answer to each shape of a call, flow control and
// the order of shutdown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <map>
#include <string>
#include <thread>

#include "tests/rpc/http2_client.h"
#include "tests/rpc/test_server.h"

namespace kvorum::rpc {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kUnary = "/test.Echo/Unary";

class Http2Test : public testing::Test {
 protected:
  // The outcome of a call with these headers; the connection must survive it.
  Http2Client::Outcome Call(const Headers& headers, const std::string& messages = Message("m")) {
    const auto outcome = client_.Call(next_stream_, headers, messages);
    EXPECT_TRUE(client_.Works(next_stream_ + 2)) << "the connection did not survive";
    next_stream_ += 4;
    return outcome;
  }
  Http2Client::Outcome CallWith(const std::string& name, const std::string& value) {
    return Call(RequestHeaders(kUnary, {{name, value}}));
  }

  TestServer server_;
  Http2Client client_{server_.port()};
  std::uint32_t next_stream_ = 1;
};

void ExpectError(const Http2Client::Outcome& outcome, const std::string& http_status,
                 const std::string& code, const std::string& text) {
  EXPECT_EQ(outcome.http_status, http_status);
  EXPECT_EQ(outcome.grpc_status, code);
  EXPECT_EQ(outcome.grpc_message, text);
  EXPECT_TRUE(outcome.trailers_only);
  EXPECT_EQ(outcome.message, "");
}

TEST_F(Http2Test, AnswerIsHeadersDataTrailers) {
  const auto outcome = Call(RequestHeaders(kUnary), Message("hi"));
  EXPECT_EQ(outcome.http_status, "200");
  EXPECT_EQ(outcome.message, Message("hi"));
  EXPECT_EQ(outcome.grpc_status, "0");
  EXPECT_EQ(outcome.grpc_message, "");
  EXPECT_FALSE(outcome.trailers_only);
}

TEST_F(Http2Test, BytesMayComeOneByOne) {
  const std::string bytes = Handshake() + UnaryCall(1, kUnary, "slow");
  Http2Client slow(server_.port(), bytes.substr(0, 1));
  for (std::size_t i = 1; i < bytes.size(); ++i) ASSERT_TRUE(slow.Send(bytes.substr(i, 1)));
  EXPECT_EQ(slow.Await(1).message, Message("slow"));
}

TEST_F(Http2Test, MessageMayBeSplitOverManyFrames) {
  const std::string message = Message(std::string(1000, 'f'));
  client_.Send(Frame(FrameType::kHeaders, kEndHeaders, 1, HeaderBlock(RequestHeaders(kUnary))));
  for (const char c : message) client_.Send(Frame(FrameType::kData, 0, 1, std::string(1, c)));
  client_.Send(Frame(FrameType::kData, kEndStream, 1, ""));
  EXPECT_EQ(client_.Await(1).message, message);
}

TEST_F(Http2Test, HeaderBlockMayBeContinued) {
  const std::string block = HeaderBlock(RequestHeaders(kUnary));
  client_.Send(Frame(FrameType::kHeaders, 0, 1, block.substr(0, 10)) +
               Frame(FrameType::kContinuation, 0, 1, block.substr(10, 20)) +
               Frame(FrameType::kContinuation, kEndHeaders, 1, block.substr(30)) +
               Frame(FrameType::kData, kEndStream, 1, Message("c")));
  EXPECT_EQ(client_.Await(1).message, Message("c"));
}

TEST_F(Http2Test, PaddedFramesAreUnderstood) {
  constexpr std::uint8_t kPadded = 8;
  client_.Send(Frame(FrameType::kHeaders, kEndHeaders, 1, HeaderBlock(RequestHeaders(kUnary))) +
               Frame(FrameType::kData, kEndStream | kPadded, 1,
                     std::string(1, 7) + Message("p") + std::string(7, '\0')));
  EXPECT_EQ(client_.Await(1).message, Message("p"));
}

TEST_F(Http2Test, ManyMessagesInOneFrameAreManyMessages) {
  std::string messages;
  for (int i = 0; i < 50; ++i) messages += Message(std::string(static_cast<std::size_t>(i), 'x'));
  const auto outcome = Call(RequestHeaders("/test.Echo/Collect"), messages);
  EXPECT_EQ(outcome.message, Message("1225"));
  EXPECT_EQ(outcome.grpc_status, "0");
  EXPECT_EQ(Call(RequestHeaders("/test.Echo/Chat"), messages).message, messages);
}

TEST_F(Http2Test, TrailersOfARequestEndIt) {
  client_.Send(Frame(FrameType::kHeaders, kEndHeaders, 1, HeaderBlock(RequestHeaders(kUnary))) +
               Frame(FrameType::kData, 0, 1, Message("t")) +
               Frame(FrameType::kHeaders, kEndHeaders | kEndStream, 1, HeaderBlock({{"a", "b"}})));
  EXPECT_EQ(client_.Await(1).message, Message("t"));
  client_.Send(Frame(FrameType::kHeaders, kEndHeaders, 3, HeaderBlock(RequestHeaders(kUnary))) +
               Frame(FrameType::kHeaders, kEndHeaders, 3, HeaderBlock({{"a", "b"}})));
  EXPECT_EQ(client_.Await(3).reset, kProtocolError);
  EXPECT_TRUE(client_.Works(5));
}

TEST_F(Http2Test, ContentTypeMustBeGrpc) {
  ExpectError(CallWith("content-type", "application/json"), "415", "3",
              "invalid gRPC request content-type \"application/json\"");
  ExpectError(CallWith("content-type", "application/grpc-web"), "415", "3",
              "invalid gRPC request content-type \"application/grpc-web\"");
  ExpectError(Call(RequestHeaders(kUnary, {{"content-type", std::nullopt}})), "415", "3",
              "invalid gRPC request content-type \"\"");
  for (const char* good : {"application/grpc+proto", "application/grpc;x=y", "application/grpc+"})
    EXPECT_EQ(CallWith("content-type", good).grpc_status, "0") << good;
}

TEST_F(Http2Test, HttpMethodMustBePost) {
  ExpectError(CallWith(":method", "GET"), "405", "13",
              "Received a HEADERS frame with :method \"GET\" which should be POST");
}

// CVE-2026-33186: a path that is not exactly a registered one reaches no handler.
TEST_F(Http2Test, PathsAreExact) {
  const auto call = [&](const std::string& path) { return CallWith(":path", path); };
  ExpectError(call("test.Echo/Unary"), "200", "12", "malformed method name: \"test.Echo/Unary\"");
  ExpectError(call("/"), "200", "12", "malformed method name: \"/\"");
  ExpectError(call("/Unary"), "200", "12", "malformed method name: \"/Unary\"");
  ExpectError(call("//test.Echo/Unary"), "200", "12", "unknown service /test.Echo");
  ExpectError(call("/test.Echo//Unary"), "200", "12", "unknown service test.Echo/");
  ExpectError(call("/test.Echo/Unary/"), "200", "12", "unknown service test.Echo/Unary");
  ExpectError(call("/test.Echo/unary"), "200", "12", "unknown method unary for service test.Echo");
  ExpectError(call("/test.Echo/Unary?a"), "200", "12",
              "unknown method Unary?a for service test.Echo");
  ExpectError(call("/test.Other/Unary"), "200", "12", "unknown service test.Other");
  EXPECT_EQ(call("/test.Echo/Unary").grpc_status, "0");
}

TEST_F(Http2Test, TimeoutsAreParsed) {
  ExpectError(CallWith("grpc-timeout", "S"), "400", "13",
              "malformed grpc-timeout: transport: timeout string is too short: \"S\"");
  ExpectError(CallWith("grpc-timeout", "123456789S"), "400", "13",
              "malformed grpc-timeout: transport: timeout string is too long: \"123456789S\"");
  ExpectError(CallWith("grpc-timeout", "5x"), "400", "13",
              "malformed grpc-timeout: transport: timeout unit is not recognized: \"5x\"");
  ExpectError(CallWith("grpc-timeout", "-5S"), "400", "13",
              "malformed grpc-timeout: strconv.ParseUint: parsing \"-5\": invalid syntax");
  ExpectError(CallWith("grpc-timeout", "0S"), "200", "4", "context deadline exceeded");
  for (const char* good : {"99999999H", "1M", "5S", "5000m", "5000000u", "99999999n"})
    EXPECT_EQ(CallWith("grpc-timeout", good).grpc_status, "0") << good;
}

TEST_F(Http2Test, DeadlineAnswersByItself) {
  const auto outcome =
      client_.Call(1, RequestHeaders("/test.Echo/Hold", {{"grpc-timeout", "30m"}}), Message("h"));
  ExpectError(outcome, "200", "4", "context deadline exceeded");
  EXPECT_TRUE(Eventually([&] { return server_.cancelled == 1; }));
  EXPECT_EQ(server_.last_end().code, Code::kDeadlineExceeded);
  // Also while the request is not complete.
  client_.Send(Frame(FrameType::kHeaders, kEndHeaders, 3,
                     HeaderBlock(RequestHeaders(kUnary, {{"grpc-timeout", "30m"}}))));
  EXPECT_EQ(client_.Await(3).grpc_status, "4");
}

// CVE-2023-32732: bad base64 is one call's error.
TEST_F(Http2Test, BadBinaryMetadataIsTheCallsError) {
  ExpectError(CallWith("x-bin", "a?b="), "400", "13",
              "malformed binary metadata \"a?b=\" in header \"x-bin\": illegal base64 data at "
              "input byte 1");
  EXPECT_EQ(CallWith("x-bin", "AAE").grpc_status, "0");
  EXPECT_EQ(CallWith("x-bin", "AAE=").grpc_status, "0");
  EXPECT_EQ(CallWith("x-bin", "").grpc_status, "0");
}

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

// --- RFC 9113, section 5: streams that are over
// ---------------------------------------------------

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

// etcd's own clients of 3.5 send an authority that RFC 3986 does not allow.
TEST_F(Http2Test, AuthorityIsNotJudged) {
  EXPECT_EQ(CallWith(":authority", "#initially=[127.0.0.1:2379;unix://a]").grpc_status, "0");
  EXPECT_EQ(Call(RequestHeaders(kUnary, {{":authority", std::nullopt}})).grpc_status, "0");
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

TEST_F(Http2Test, CompressionMustBeAnnounced) {
  ExpectError(Call(RequestHeaders(kUnary), Message("x", 1)), "200", "13",
              "grpc: compressed flag set with identity or empty encoding");
  ExpectError(Call(RequestHeaders(kUnary), Message("x", 2)), "200", "13",
              "grpc: received unexpected payload format 2");
  ExpectError(CallWith("grpc-encoding", "snappy"), "200", "12",
              "grpc: Decompressor is not installed for grpc-encoding \"snappy\"");
  EXPECT_EQ(CallWith("grpc-encoding", "identity").grpc_status, "0");
  // Announced, but not used by this message.
  EXPECT_EQ(CallWith("grpc-encoding", "gzip").grpc_status, "0");
  const auto broken =
      Call(RequestHeaders(kUnary, {{"grpc-encoding", "gzip"}}), Message("not gzip", 1));
  EXPECT_EQ(broken.grpc_status, "13");
  EXPECT_THAT(broken.grpc_message, HasSubstr("grpc: failed to decompress"));
}

TEST_F(Http2Test, UnaryTakesExactlyOneMessage) {
  ExpectError(Call(RequestHeaders(kUnary), ""), "200", "13",
              "cardinality violation: received no request message from non-client-streaming RPC");
  ExpectError(
      Call(RequestHeaders(kUnary), Message("a") + Message("b")), "200", "13",
      "cardinality violation: received multiple request messages for non-client-streaming RPC");
  ExpectError(Call(RequestHeaders(kUnary), Message("abc").substr(0, 6)), "200", "13",
              "unexpected EOF");
  ExpectError(Call(RequestHeaders(kUnary), Message("abc").substr(0, 3)), "200", "13",
              "unexpected EOF");
}

TEST_F(Http2Test, ServerStreamTakesExactlyOneMessage) {
  const Headers headers = RequestHeaders("/test.Echo/Expand");
  EXPECT_EQ(Call(headers, Message("0")).grpc_status, "0");
  ExpectError(Call(headers, ""), "200", "13",
              "cardinality violation: received no request message from non-client-streaming RPC");
  ExpectError(
      Call(headers, Message("1") + Message("1")), "200", "13",
      "cardinality violation: received multiple request messages for non-client-streaming RPC");
}

TEST_F(Http2Test, StreamThatEndsInsideAMessageIsBroken) {
  const auto outcome =
      Call(RequestHeaders("/test.Echo/Chat"), Message("whole") + Message("cut").substr(0, 7));
  EXPECT_EQ(outcome.message, Message("whole"));
  EXPECT_EQ(outcome.grpc_status, "13");
  EXPECT_EQ(outcome.grpc_message, "unexpected EOF");
}

TEST_F(Http2Test, WhatAHandlerDoesAfterTheEndIsRefusedToIt) {
  const auto outcome = Call(RequestHeaders("/test.Echo/Late"), Message("go") + Message("more"));
  EXPECT_EQ(outcome.grpc_status, "10");
  EXPECT_EQ(outcome.grpc_message, "first");
  EXPECT_EQ(outcome.message, "");
  EXPECT_TRUE(Eventually([&] { return server_.late == 4; }));
}

// Whichever comes first: the handler's thread and the one that finishes the stream do not know of
// each other.
TEST_F(Http2Test, AStreamMayBeFinishedWhileItIsReadAndWritten) {
  const std::string messages = Message("go") + Message("a") + Message("b");
  for (std::uint32_t i = 0; i < 100; ++i) {
    const auto outcome = client_.Call(2 * i + 1, RequestHeaders("/test.Echo/Race"), messages);
    ASSERT_EQ(outcome.grpc_status, "0") << i;
  }
  EXPECT_TRUE(Eventually([&] { return server_.late == 200; }));
}

TEST_F(Http2Test, AMessageThatCannotBeReadHasItsOwnWordsOnAStream) {
  EXPECT_EQ(Call(RequestHeaders("/grpc.health.v1.Health/Watch"), Message("\xff")).grpc_message,
            "grpc: failed to unmarshal the received message: proto: cannot parse invalid "
            "wire-format data");
}

TEST_F(Http2Test, TooLargeMessageIsRefusedByItsPrefix) {
  // The length alone is enough; the bytes never come.
  client_.Send(Frame(FrameType::kHeaders, kEndHeaders, 1, HeaderBlock(RequestHeaders(kUnary))) +
               Frame(FrameType::kData, 0, 1, std::string("\0\xff\xff\xff\xff", 5)));
  ExpectError(client_.Await(1), "200", "8",
              "grpc: received message larger than max (4294967295 vs. 2097152)");
  // The client had not ended its stream: it is told to stop.
  const auto reset = client_.NextOf(FrameType::kRstStream);
  ASSERT_TRUE(reset);
  EXPECT_EQ(reset->error_code(), kNoError);
  EXPECT_TRUE(client_.Works(3));
}

TEST_F(Http2Test, ErrorTextsAreEncoded) {
  EXPECT_EQ(Call(RequestHeaders("/test.Echo/Fail"), Message("5:50% \xc3\xa4\xff\n")).grpc_message,
            "50%25 %C3%A4%EF%BF%BD%0A");
  // A text that no client would accept is cut.
  const auto outcome =
      Call(RequestHeaders("/test.Echo/Fail"), Message("5:" + std::string(15'000, 'e')));
  EXPECT_EQ(outcome.grpc_status, "5");
  EXPECT_EQ(outcome.grpc_message.size(), 4096);
}

TEST_F(Http2Test, MetadataKeepsOrderAndLeavesOutTheProtocol) {
  Headers headers = RequestHeaders("/test.Echo/Metadata", {{"a", "1"},
                                                           {"grpc-timeout", "5S"},
                                                           {"grpc-accept-encoding", "gzip"},
                                                           {"grpc-encoding", "identity"},
                                                           {"user-agent", "raw"}});
  headers.emplace_back("a", "2");
  EXPECT_EQ(Call(headers).message, Message(":authority=localhost\na=1\nuser-agent=raw\na=2\n"));
}

TEST_F(Http2Test, AnswersWaitForTheClientsWindow) {
  // An initial window of 10 bytes.
  Http2Client client(server_.port(),
                     std::string(kPreface) + Frame(FrameType::kSettings, 0, 0,
                                                   std::string("\0\4", 2) + BigEndian32(10)));
  client.Send(UnaryCall(1, "/test.Echo/Size", "25"));
  const auto headers = client.NextOf(FrameType::kHeaders);
  ASSERT_TRUE(headers);
  auto data = client.Next();
  ASSERT_TRUE(data);
  EXPECT_EQ(data->payload.size(), 10);
  EXPECT_TRUE(client.Works(3));  // others are not held up (its answer is 10 bytes too)
  client.Send(Frame(FrameType::kWindowUpdate, 0, 1, BigEndian32(1)));
  data = client.NextOf(FrameType::kData);
  EXPECT_EQ(data->payload.size(), 1);
  client.Send(Frame(FrameType::kWindowUpdate, 0, 1, BigEndian32(100)));
  data = client.NextOf(FrameType::kData);
  EXPECT_EQ(data->payload.size(), 19);
  EXPECT_EQ(client.NextOf(FrameType::kHeaders)->headers.at(0).second, "0");
}

TEST_F(Http2Test, LargeAnswersShareTheConnectionFairly) {
  const std::string large_window =
      std::string(kPreface) +
      Frame(FrameType::kSettings, 0, 0, std::string("\0\4", 2) + BigEndian32(0x7fffffff)) +
      Frame(FrameType::kWindowUpdate, 0, 0, BigEndian32(0x40000000));
  Http2Client client(server_.port(), large_window);
  constexpr std::size_t kBytes = 2'000'000;
  std::string calls;  // in one write: the first answer must not be out before the others are asked
  for (const std::uint32_t stream : {1U, 3U, 5U})
    calls += UnaryCall(stream, "/test.Echo/Size", std::to_string(kBytes));
  client.Send(calls);
  std::map<std::uint32_t, std::size_t> received;
  // When the first has come in full, the others are not far behind.
  while (received[1] < kBytes && received[3] < kBytes && received[5] < kBytes) {
    const auto frame = client.NextOf(FrameType::kData);
    ASSERT_TRUE(frame);
    received[frame->stream_id] += frame->payload.size();
  }
  for (const auto& [stream, bytes] : received) EXPECT_GT(bytes, kBytes / 2) << stream;
}

TEST_F(Http2Test, WindowOfAnUnreadStreamStaysShut) {
  Options options;
  options.stream_window_bytes = 65'535;
  TestServer server(options);
  Http2Client client(server.port());
  client.Send(
      Frame(FrameType::kHeaders, kEndHeaders, 1, HeaderBlock(RequestHeaders("/test.Echo/Stall"))));
  for (int i = 0; i < 4; ++i)
    client.Send(Frame(FrameType::kData, 0, 1, Message(std::string(16'000, 'w'))));
  EXPECT_TRUE(client.Works(3));  // reads on and sees no window for stream 1
  // More than the window is a violation.
  client.Send(Frame(FrameType::kData, 0, 1, std::string(16'000, 'w')));
  const auto outcome = client.Await(1);
  EXPECT_TRUE(outcome.reset.has_value());
  EXPECT_TRUE(Eventually([&] { return server.cancelled == 1; }));
}

TEST_F(Http2Test, ClientsResetIsAQuietCancel) {
  client_.Send(UnaryCall(1, "/test.Echo/Hold", "h"));
  ASSERT_TRUE(Eventually([&] { return server_.held == 1; }));
  client_.Send(Frame(FrameType::kRstStream, 0, 1, BigEndian32(kCancel)));
  EXPECT_TRUE(Eventually([&] { return server_.cancelled == 1; }));
  server_.Release();
  EXPECT_TRUE(client_.Works(3));
}

TEST_F(Http2Test, LostConnectionCancelsItsCalls) {
  {
    Http2Client other(server_.port());
    other.Send(
        UnaryCall(1, "/test.Echo/Hold", "h") + UnaryCall(3, "/test.Echo/Hold", "h") +
        Frame(FrameType::kHeaders, kEndHeaders, 5, HeaderBlock(RequestHeaders("/test.Echo/Chat"))));
    ASSERT_TRUE(Eventually([&] { return server_.held == 2 && server_.started == 3; }));
  }
  EXPECT_TRUE(Eventually([&] { return server_.cancelled == 3 && server_.ended == 3; }));
}

TEST_F(Http2Test, PingIsAnswered) {
  client_.Send(Frame(FrameType::kPing, 0, 0, "12345678"));
  const auto pong = client_.NextOf(FrameType::kPing);
  ASSERT_TRUE(pong);
  EXPECT_EQ(pong->flags, kAck);
  EXPECT_EQ(pong->payload, "12345678");
}

TEST_F(Http2Test, ShutdownSaysGoodbyeTwice) {
  client_.Send(UnaryCall(1, "/test.Echo/Hold", "h"));
  ASSERT_TRUE(Eventually([&] { return server_.held == 1; }));
  auto shutdown =
      std::async(std::launch::async, [&] { server_.Shutdown(std::chrono::seconds(10)); });
  const auto notice = client_.NextOf(FrameType::kGoAway);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->last_stream_id(), 0x7fffffffU);
  EXPECT_EQ(notice->error_code(), kNoError);
  const auto ping = client_.NextOf(FrameType::kPing);
  ASSERT_TRUE(ping);
  // A call that was in flight is still served.
  EXPECT_TRUE(client_.Works(3));
  client_.Send(Frame(FrameType::kPing, kAck, 0, ping->payload));
  const auto last = client_.NextOf(FrameType::kGoAway);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->last_stream_id(), 3U);
  server_.Release();
  EXPECT_EQ(client_.Await(1).message, Message("h"));
  EXPECT_EQ(client_.Next(), std::nullopt);  // and the connection is closed
  client_.socket().CloseWriting();
  shutdown.get();
}

// A client that is told so makes the call elsewhere: a write would be done twice.
TEST_F(Http2Test, ACallBehindTheLastOneThatIsNamedInTheGoodbyeIsNotBegun) {
  client_.Send(UnaryCall(1, "/test.Echo/Hold", "h"));
  ASSERT_TRUE(Eventually([&] { return server_.held == 1; }));
  auto shutdown =
      std::async(std::launch::async, [&] { server_.Shutdown(std::chrono::seconds(10)); });
  ASSERT_TRUE(client_.NextOf(FrameType::kGoAway));
  const auto ping = client_.NextOf(FrameType::kPing);
  ASSERT_TRUE(ping);
  // gRPC's clients put the ping's answer in front of calls that wait to be sent.
  client_.Send(Frame(FrameType::kPing, kAck, 0, ping->payload) +
               UnaryCall(3, "/test.Echo/Unary", "x"));
  const auto last = client_.NextOf(FrameType::kGoAway);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->last_stream_id(), 1U);
  server_.Release();
  EXPECT_EQ(client_.Await(1).message, Message("h"));
  client_.socket().CloseWriting();
  shutdown.get();
  EXPECT_EQ(server_.started, 1);
}

TEST_F(Http2Test, ServerPingsASilentClientAndHangsUp) {
  Options options;
  options.ping_interval = std::chrono::milliseconds(50);
  options.ping_timeout = std::chrono::milliseconds(50);
  TestServer server(options);
  Http2Client client(server.port());
  auto ping = client.NextOf(FrameType::kPing);
  ASSERT_TRUE(ping);
  EXPECT_EQ(ping->flags, 0);
  client.Send(Frame(FrameType::kPing, kAck, 0, ping->payload));
  ping = client.NextOf(FrameType::kPing);  // the next round
  ASSERT_TRUE(ping);
  EXPECT_EQ(client.Next(), std::nullopt);  // not answered
}

}  // namespace
}  // namespace kvorum::rpc
