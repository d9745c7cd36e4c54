#include "rpc/http/http1_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace kvorum::rpc {
namespace {

constexpr std::size_t kMaxHeadBytes = 4096;

// Feeds the parser until it needs more, as its owners do; `input` keeps the rest.
void PutAll(Http1Parser& parser, std::string& input, std::string& body) {
  while (!input.empty() && !parser.done()) {
    const auto used = parser.Put(input, body);
    ASSERT_TRUE(used.has_value());
    if (*used == 0) return;
    input.erase(0, *used);
  }
}

TEST(Http1ParserTest, AConnectionThatEndsBeforeItsFirstByteIsAnError) {
  for (const auto kind : {Http1Parser::Kind::kRequest, Http1Parser::Kind::kResponse}) {
    Http1Parser parser(kind, kMaxHeadBytes);
    const auto ended = parser.PutEnd();
    ASSERT_FALSE(ended.has_value());
    EXPECT_EQ(ended.error().code, Code::kInvalidArgument);
    EXPECT_FALSE(parser.done());
  }
}

TEST(Http1ParserTest, AConnectionThatEndsWithinTheHeadIsAnError) {
  Http1Parser parser(Http1Parser::Kind::kResponse, kMaxHeadBytes);
  std::string body;
  ASSERT_TRUE(parser.Put("HTTP/1.1 200 OK\r\nContent-", body).has_value());
  EXPECT_FALSE(parser.PutEnd().has_value());
}

TEST(Http1ParserTest, ABodyShorterThanItsLengthIsAnError) {
  Http1Parser parser(Http1Parser::Kind::kResponse, kMaxHeadBytes);
  std::string input = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab";
  std::string body;
  PutAll(parser, input, body);
  EXPECT_EQ(body, "ab");
  EXPECT_FALSE(parser.PutEnd().has_value());
}

TEST(Http1ParserTest, ABodyWithoutLengthEndsWithTheConnection) {
  Http1Parser parser(Http1Parser::Kind::kResponse, kMaxHeadBytes);
  std::string input = "HTTP/1.1 200 OK\r\n\r\nall of it";
  std::string body;
  PutAll(parser, input, body);
  EXPECT_FALSE(parser.done());
  EXPECT_TRUE(parser.PutEnd().has_value());
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(body, "all of it");
}

// The last chunk's header byte by byte, as in the pieces that a socket may give out.
TEST(Http1ParserTest, AChunkedBodyMayComeByteByByte) {
  Http1Parser parser(Http1Parser::Kind::kRequest, kMaxHeadBytes);
  std::string input;
  std::string body;
  for (const char byte :
       std::string("POST /raft HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "3\r\nabc\r\n1\r\nd\r\n0\r\na: b\r\n\r\n")) {
    EXPECT_FALSE(parser.done());
    input += byte;
    PutAll(parser, input, body);
  }
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(body, "abcd");
}

TEST(Http1ParserTest, ABodyOfOnlyTheLastChunkMayComeInPieces) {
  Http1Parser parser(Http1Parser::Kind::kRequest, kMaxHeadBytes);
  std::string input;
  std::string body;
  for (const std::string_view piece :
       {"POST /raft HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\n", "a",
        ": b\r\n\r\n"}) {
    input += piece;
    PutAll(parser, input, body);
  }
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(body, "");
}

// rpc/http/http1_rules.h has the rules, and tests/rpc/http1/http1_test.cc tests them.
TEST(Http1ParserTest, AHeadThatCanBeReadInTwoWaysIsRefused) {
  const auto code = [](std::string_view head) {
    Http1Parser parser(Http1Parser::Kind::kRequest, kMaxHeadBytes);
    std::string body;
    const auto used = parser.Put(head, body);
    return used.has_value() ? Code::kOk : used.error().code;
  };
  EXPECT_EQ(code("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), Code::kOk);
  EXPECT_EQ(code("GET / HTTP/1.0\r\n\r\n"), Code::kOk);
  EXPECT_EQ(code("GET / HTTP/1.1\r\n\r\n"), Code::kInvalidArgument);
  EXPECT_EQ(code("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), Code::kInvalidArgument);
  EXPECT_EQ(code("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), Code::kInvalidArgument);
  EXPECT_EQ(code("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"),
            Code::kUnimplemented);
  EXPECT_EQ(code("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n"),
            Code::kInvalidArgument);
}

// "TARGET of HOST", or the refusal's text.
std::string OriginFormOf(const std::string& target, const std::string& rest = "Host: h\r\n") {
  Http1Parser parser(Http1Parser::Kind::kRequest, std::size_t{64} << 10);
  std::string body;
  const auto used = parser.Put("GET " + target + " HTTP/1.1\r\n" + rest + "\r\n", body);
  if (parser.refusal()) return std::string(parser.refusal()->text);
  if (!used.has_value()) return used.error().message;
  EXPECT_EQ(std::ranges::count(parser.head().headers, "host", &HttpHeader::name), 1);
  return parser.head().target + " of " + std::string(parser.head().Header("host"));
}

// RFC 9112, section 3.2.2: the target's host counts, not the field's.
TEST(Http1ParserTest, ATargetInAbsoluteFormIsReadAsInOriginForm) {
  EXPECT_EQ(OriginFormOf("/a?b"), "/a?b of h");
  EXPECT_EQ(OriginFormOf("http://x/health?y"), "/health?y of x");
  EXPECT_EQ(OriginFormOf("https://x:1//health"), "//health of x:1");
  EXPECT_EQ(OriginFormOf("HTTP://x/a"), "/a of x");
  EXPECT_EQ(OriginFormOf("http://[::1]:8500/a"), "/a of [::1]:8500");
  EXPECT_EQ(OriginFormOf("http://x"), "/ of x");
  EXPECT_EQ(OriginFormOf("http://x?y=/z"), "/?y=/z of x");
  EXPECT_EQ(OriginFormOf("http://x/a?http://b/c"), "/a?http://b/c of x");
  EXPECT_EQ(OriginFormOf("/http://x/a"), "/http://x/a of h");
}

TEST(Http1ParserTest, AUserOfATargetsHostIsDropped) {
  EXPECT_EQ(OriginFormOf("http://root:secret@x:1/a@b"), "/a@b of x:1");
  EXPECT_EQ(OriginFormOf("http://a@b@x/"), "/ of x");
  EXPECT_EQ(OriginFormOf("http://user@/a"), "400 Bad Request: malformed host of the target");
}

TEST(Http1ParserTest, ATargetWhoseHostIsNoneIsRefused) {
  for (const char* target : {"http://", "http:///a", "https://?a", "http://:80/a", "http://a\\b/",
                             "http://x#y/a", "http://<x>/", "http://\xc3\xa4/"})
    EXPECT_EQ(OriginFormOf(target), "400 Bad Request: malformed host of the target") << target;
  // The field is judged all the same.
  EXPECT_EQ(OriginFormOf("http://x/a", "Host: a b\r\n"), "400 Bad Request: malformed Host header");
  EXPECT_EQ(OriginFormOf("http://x/a", ""), "400 Bad Request: missing required Host header");
  EXPECT_EQ(OriginFormOf("http://x/a", "Host: x\r\nHost: x\r\n"),
            "400 Bad Request: too many Host headers");
}

// Their handlers refuse them: none is a path.
TEST(Http1ParserTest, TargetsOfOtherFormsStayAsTheyAre) {
  for (const char* target :
       {"ftp://x/a", "http:/a", "http:a", "httpx://a/", "x:1", "*", "a", "://x"})
    EXPECT_EQ(OriginFormOf(target), std::string(target) + " of h");
}

TEST(Http1ParserTest, ALargeHostOfATargetIsBoundedByTheHead) {
  const std::string host(8192, 'x');
  EXPECT_EQ(OriginFormOf("http://" + host + "/a"), "/a of " + host);
  EXPECT_EQ(OriginFormOf("http://" + std::string(70'000, 'x') + "/a"),
            "HTTP: header limit exceeded");
}

TEST(Http1ParserTest, AnOldRequestHasItsTargetsHost) {
  Http1Parser parser(Http1Parser::Kind::kRequest, kMaxHeadBytes);
  std::string body;
  ASSERT_TRUE(parser.Put("GET http://x/a HTTP/1.0\r\n\r\n", body).has_value());
  EXPECT_EQ(parser.head().target, "/a");
  EXPECT_EQ(parser.head().Header("host"), "x");
}

TEST(Http1ParserTest, AnAnswerNeedsNoHost) {
  Http1Parser parser(Http1Parser::Kind::kResponse, kMaxHeadBytes);
  std::string body;
  EXPECT_TRUE(parser.Put("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", body).has_value());
  EXPECT_TRUE(parser.done());
}

TEST(Http1ParserTest, InterimAnswersAreNotTheAnswer) {
  const std::string input =
      "HTTP/1.1 100 Continue\r\nX-A: 1\r\nContent-Length: 5\r\n\r\n"
      "HTTP/1.1 103 Early Hints\r\nLink: b\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody";
  for (const std::size_t step : {input.size(), std::size_t{1}}) {
    Http1Parser parser(Http1Parser::Kind::kResponse, kMaxHeadBytes);
    std::string arrived;
    std::string body;
    for (std::size_t at = 0; at < input.size(); at += step) {
      arrived += input.substr(at, step);
      PutAll(parser, arrived, body);
    }
    ASSERT_TRUE(parser.done()) << step;
    EXPECT_EQ(parser.head().status, 200);
    EXPECT_EQ(parser.head().headers.size(), 1);
    EXPECT_EQ(body, "body");
  }
}

TEST(Http1ParserTest, AnInterimAnswerAloneIsCutOff) {
  Http1Parser parser(Http1Parser::Kind::kResponse, kMaxHeadBytes);
  std::string body;
  ASSERT_TRUE(parser.Put("HTTP/1.1 100 Continue\r\n\r\n", body).has_value());
  EXPECT_FALSE(parser.head_done());
  EXPECT_FALSE(parser.PutEnd().has_value());
}

TEST(Http1ParserTest, InterimAnswersHaveABoundAndCountInTheHeads) {
  const auto error_of = [](const std::string& interim, int times) {
    Http1Parser parser(Http1Parser::Kind::kResponse, kMaxHeadBytes);
    std::string input;
    for (int i = 0; i < times; ++i) input += interim;
    std::string body;
    const auto used = parser.Put(input + "HTTP/1.1 204 No Content\r\n\r\n", body);
    return used.has_value() ? Code::kOk : used.error().code;
  };
  const std::string small = "HTTP/1.1 102 Processing\r\n\r\n";
  EXPECT_EQ(error_of(small, 5), Code::kOk);
  EXPECT_EQ(error_of(small, 6), Code::kResourceExhausted);
  const std::string large = "HTTP/1.1 100 x\r\na: " + std::string(1500, 'a') + "\r\n\r\n";
  EXPECT_EQ(error_of(large, 2), Code::kOk);
  EXPECT_EQ(error_of(large, 3), Code::kResourceExhausted);
  // The request did not ask for another protocol.
  EXPECT_EQ(error_of("HTTP/1.1 101 Switching Protocols\r\n\r\n", 1), Code::kUnimplemented);
}

// Such a field after the body does not affect the framing, and says nothing about the request: who
// looks at its headers would take it for something that came, and was judged, before the body.
TEST(Http1ParserTest, TrailersNeverBecomeHeaders) {
  Http1Parser parser(Http1Parser::Kind::kRequest, kMaxHeadBytes);
  std::string input =
      "POST /raft HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "1\r\na\r\n0\r\nHost: b\r\nAuthorization: root\r\nX-Server-From: 7\r\n\r\n";
  std::string body;
  PutAll(parser, input, body);
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.head().headers.size(), 2);
  EXPECT_EQ(parser.head().Header("authorization"), "");
  EXPECT_EQ(parser.head().Header("x-server-from"), "");
}

// Feeds the start, then the piece over and over, up to 1 MiB; the error that ends it. `most` is the
// most that was left unconsumed.
Error EndOfEndless(std::string_view start, std::string_view piece, std::size_t& most) {
  Http1Parser parser(Http1Parser::Kind::kRequest, kMaxHeadBytes);
  std::string input(start);
  std::string body;
  most = 0;
  for (std::size_t fed = 0; fed < (std::size_t{1} << 20); fed += piece.size()) {
    while (!input.empty()) {
      const auto used = parser.Put(input, body);
      if (!used.has_value()) return used.error();
      if (*used == 0) break;
      input.erase(0, *used);
    }
    most = std::max(most, input.size());
    input.append(piece);
  }
  return {Code::kOk, "it takes it for ever"};
}

TEST(Http1ParserTest, AHeadWithoutAnEndIsRefusedHoweverItIsCut) {
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\n";
  std::size_t most = 0;
  for (const std::string_view piece : {"a: b\r\n", "a:\r\nb", "aaaaaaaaaaaaaaaa"}) {
    EXPECT_EQ(EndOfEndless(start, piece, most).code, Code::kResourceExhausted) << piece;
    EXPECT_LE(most, kMaxHeadBytes + piece.size()) << piece;
  }
}

// Each costs more memory than it has bytes.
TEST(Http1ParserTest, FieldsAreCounted) {
  Http1Parser parser(Http1Parser::Kind::kRequest, std::size_t{64} << 10);
  std::string input = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 10'000; ++i) input += "a:\r\n";
  std::string body;
  const auto used = parser.Put(input + "\r\n", body);
  ASSERT_FALSE(used.has_value());
  EXPECT_EQ(used.error().code, Code::kResourceExhausted);
}

TEST(Http1ParserTest, WhatStandsAroundChunksWithoutAnEndIsRefusedAndNotKept) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::size_t most = 0;
  for (const std::string_view start : {"1", "1;", "0", "0;", "1;x=\"", "000", "1\r\na\r\n2;"}) {
    const std::string_view piece = start.ends_with('0') ? "0" : "x";
    EXPECT_EQ(EndOfEndless(head + std::string(start), piece, most).code, Code::kInvalidArgument)
        << start;
    EXPECT_EQ(most, 0) << start;
  }
  for (const std::string_view piece : {"a: b\r\n", "a: b", "aaaa"}) {
    EXPECT_EQ(EndOfEndless(head + "0\r\n", piece, most).code, Code::kResourceExhausted) << piece;
    EXPECT_EQ(most, 0) << piece;
  }
}

}  // namespace
}  // namespace kvorum::rpc
