// gRPC over HTTP/2, frame by frame: the server's answer to each shape of a call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/rpc/http2_fixture.h"

namespace kvorum::rpc {
namespace {

using ::testing::HasSubstr;

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

// etcd's own clients of 3.5 send an authority that RFC 3986 does not allow.
TEST_F(Http2Test, AuthorityIsNotJudged) {
  EXPECT_EQ(CallWith(":authority", "#initially=[127.0.0.1:2379;unix://a]").grpc_status, "0");
  EXPECT_EQ(Call(RequestHeaders(kUnary, {{":authority", std::nullopt}})).grpc_status, "0");
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
  // The client had not ended its stream: it is asked to stop.
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

// The calls of a connection share the memory of equal metadata.
TEST_F(Http2Test, EachCallHasItsOwnMetadata) {
  std::uint32_t stream_id = 1;
  const auto told = [&](const Headers& headers) {
    const std::string text = client_.Call(stream_id, headers, Message("")).message;
    stream_id += 2;
    return text;
  };
  const auto with = [](const std::string& token) {
    return RequestHeaders("/test.Echo/Metadata", {{"token", token}});
  };
  const auto expected = [](const std::string& token) {
    return Message(":authority=localhost\ntoken=" + token + "\n");
  };
  const Headers without = RequestHeaders("/test.Echo/Metadata");
  EXPECT_EQ(told(with("a")), expected("a"));
  EXPECT_EQ(told(with("b")), expected("b"));
  EXPECT_EQ(told(without), Message(":authority=localhost\n"));
  EXPECT_EQ(told(with("a")), expected("a"));
  EXPECT_EQ(told(with("a")), expected("a"));
  const std::string path = "/test.Echo/Metadata";
  EXPECT_EQ(told(RequestHeaders(path, {{"token", "c"}, {"content-type", "text/plain"}})), "");
  EXPECT_EQ(told(with("a")), expected("a"));
  EXPECT_EQ(told(with(std::string(5'000, 'l'))), expected(std::string(5'000, 'l')));
  EXPECT_EQ(told(with("a")), expected("a"));
}

}  // namespace
}  // namespace kvorum::rpc
